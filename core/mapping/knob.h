// A knob: one decision that a search may change, with its finite domain. Plain values, immutable once they
// are part of a Surface; any thread may read them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "zomboss/schema/surface_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::mapping {

using wire::Category;
using wire::DefaultPolicy;
using wire::KnobType;

inline constexpr size_t kCategoryCount = 8;

// "algorithm", "matrix decomposition", ... as people read it; its number is its place in resolution order.
std::string_view category_name(Category category);

struct Knob {
  std::string name;  // [A-Za-z_][A-Za-z0-9_.]*, at most 64 characters
  Category category = Category::Algorithm;
  KnobType type = KnobType::Integer;
  // Without duplicates, in default order: completion tries values[0] first. Boolean: 0 and 1.
  std::vector<int64_t> values;
  std::vector<std::string> labels;                       // of a Choice: one per value, same order
  DefaultPolicy default_policy = DefaultPolicy::Listed;  // how the default order came about
  std::string doc;

  // Position in `values`; nothing when it is outside the domain.
  std::optional<size_t> index_of(int64_t value) const;
  // One value is left: part of plans, but nothing to search.
  bool fixed() const { return values.size() == 1; }
  bool operator==(const Knob&) const = default;
};

// A value as people write it: the label of a choice, true or false, or the number.
std::string value_text(const Knob& knob, int64_t value);
// "16, 32, 64", or with the middle elided and the count when there are many.
std::string domain_text(const Knob& knob);

}  // namespace zomboss::mapping
