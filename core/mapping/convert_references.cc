#include "core/mapping/convert_references.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/mapping/convert.h"
#include "core/mapping/wire_checks.h"

namespace zomboss::mapping {
namespace {

bool has_row(const SurfaceParts& parts, std::span<const uint16_t> wanted) {
  const size_t width = wanted.size();
  size_t low = 0, high = parts.catalog.size() / width;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const auto row = std::span(parts.catalog).subspan(middle * width, width);
    if (std::lexicographical_compare(row.begin(), row.end(), wanted.begin(), wanted.end()))
      low = middle + 1;
    else
      high = middle;
  }
  return low * width < parts.catalog.size() &&
         std::equal(wanted.begin(), wanted.end(),
                    parts.catalog.begin() + static_cast<ptrdiff_t>(low * width));
}

// Inside the domains, every constraint holds, and of a catalog it is a row.
Status check_legal(const SurfaceParts& parts, const std::vector<int64_t>& values) {
  std::vector<uint16_t> positions;
  for (size_t k = 0; k < parts.knobs.size(); ++k) {
    const Knob& knob = parts.knobs[k];
    const auto position = knob.index_of(values[k]);
    if (!position)
      return invalid_argument(
          fmt::format("has {}={}, which is outside its domain: {}", knob.name, values[k], domain_text(knob)));
    positions.push_back(static_cast<uint16_t>(*position));
  }
  TermScratch scratch;
  for (const Constraint& constraint : parts.constraints)
    if (evaluate(constraint.assertion, values, scratch).value_or(0) == 0)
      return invalid_argument("is not legal: " + render_message(constraint.message, parts.knobs, values));
  if (parts.kind == SurfaceKind::Catalog && !has_row(parts, positions))
    return invalid_argument("is no row of the catalog");
  return {};
}

}  // namespace

Result<std::vector<Reference>> read_references(const wire::SurfaceT& message, std::span<const size_t> order,
                                               const SurfaceParts& parts) {
  if (message.references.size() > kReferenceLimit)
    return invalid_argument(
        fmt::format("has {} references, the limit is {}", message.references.size(), kReferenceLimit));
  std::vector<Reference> references;
  for (size_t i = 0; i < message.references.size(); ++i) {
    const auto& each = message.references[i];
    if (each == nullptr || !is_name(each->name, ".-"))
      return invalid_argument(
          fmt::format("reference {}: its name must be a letter or _ and then letters, digits, _ . and -, at "
                      "most {} characters",
                      i, kNameLimit));
    const std::string label = fmt::format("reference '{}'", each->name);
    for (const Reference& other : references)
      if (other.name == each->name) return invalid_argument(label + " is there twice");
    ZB_TRY(check_text(label, each->doc));
    if (each->values.size() != order.size())
      return invalid_argument(
          fmt::format("{} has {} values for {} knobs", label, each->values.size(), order.size()));
    Reference reference{each->name, {}, each->doc};
    for (const size_t knob : order) reference.values.push_back(each->values[knob]);
    ZB_TRY(check_legal(parts, reference.values).with_prefix(label));
    references.push_back(std::move(reference));
  }
  return references;
}

}  // namespace zomboss::mapping
