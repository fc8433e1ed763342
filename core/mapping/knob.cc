#include "core/mapping/knob.h"

#include <fmt/format.h>

#include <algorithm>

namespace zomboss::mapping {

std::string_view category_name(Category category) {
  constexpr std::array<std::string_view, kCategoryCount> kNames = {
      "algorithm", "matrix decomposition", "vector decomposition",
      "placement", "memory pipeline",      "execution pipeline",
      "precision", "loop structure"};
  const auto index = static_cast<size_t>(category);
  return index < kNames.size() ? kNames[index] : "unknown category";
}

std::optional<size_t> Knob::index_of(int64_t value) const {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) return std::nullopt;
  return static_cast<size_t>(found - values.begin());
}

std::string value_text(const Knob& knob, int64_t value) {
  if (knob.type == KnobType::Boolean && (value == 0 || value == 1)) return value == 1 ? "true" : "false";
  if (knob.type == KnobType::Choice) {
    const auto index = knob.index_of(value);
    if (index) return knob.labels[*index];
  }
  return std::to_string(value);
}

std::string domain_text(const Knob& knob) {
  constexpr size_t kShownWhole = 12, kHead = 6, kTail = 2;
  std::string text;
  const auto append = [&](size_t index) {
    if (!text.empty()) text += ", ";
    text += value_text(knob, knob.values[index]);
  };
  if (knob.values.size() <= kShownWhole) {
    for (size_t i = 0; i < knob.values.size(); ++i) append(i);
    return text;
  }
  for (size_t i = 0; i < kHead; ++i) append(i);
  text += ", ...";
  for (size_t i = knob.values.size() - kTail; i < knob.values.size(); ++i) append(i);
  return text + fmt::format(" ({} values)", knob.values.size());
}

}  // namespace zomboss::mapping
