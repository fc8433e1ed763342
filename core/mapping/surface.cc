#include "core/mapping/surface.h"

#include "core/base/check.h"

namespace zomboss::mapping {

std::string_view constraint_kind_name(ConstraintKind kind) {
  constexpr std::string_view kNames[] = {"shape", "capacity", "reduction", "coverage", "dependency"};
  const auto index = static_cast<size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "unknown kind";
}

Surface::Surface(SurfaceParts parts) : parts_(std::move(parts)) {
  for (size_t i = 0; i < parts_.knobs.size(); ++i) {
    const Knob& knob = parts_.knobs[i];
    ZB_CHECK(!knob.values.empty(), "a knob without values");
    ZB_CHECK(i == 0 || std::pair(parts_.knobs[i - 1].category, parts_.knobs[i - 1].name) <
                           std::pair(knob.category, knob.name),
             "knobs out of resolution order");
    numbers_.emplace(knob.name, i);
  }
  ZB_CHECK(parts_.knobs.empty() || parts_.catalog.size() % parts_.knobs.size() == 0, "a ragged catalog");
}

std::vector<std::string> Surface::knob_names() const {
  std::vector<std::string> names;
  names.reserve(knobs().size());
  for (const Knob& knob : knobs()) names.push_back(knob.name);
  return names;
}

std::optional<size_t> Surface::find_knob(std::string_view name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

std::vector<size_t> Surface::free_knobs() const {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < knobs().size(); ++i) {
    if (!knobs()[i].fixed()) numbers.push_back(i);
  }
  return numbers;
}

}  // namespace zomboss::mapping
