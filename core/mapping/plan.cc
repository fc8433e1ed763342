#include "core/mapping/plan.h"

#include <fmt/format.h>

#include "core/base/check.h"

namespace zomboss::mapping {
namespace {

struct Difference {
  size_t differing = 0;
  size_t decisions = 0;
};

// Merges the sorted decision lists of each section.
Difference compare(const Plan& a, const Plan& b) {
  Difference result;
  for (size_t s = 0; s < kCategoryCount; ++s) {
    auto left = a.sections[s].begin();
    auto right = b.sections[s].begin();
    while (left != a.sections[s].end() || right != b.sections[s].end()) {
      ++result.decisions;
      const bool only_left =
          right == b.sections[s].end() || (left != a.sections[s].end() && left->knob < right->knob);
      const bool only_right = !only_left && (left == a.sections[s].end() || right->knob < left->knob);
      if (only_left || only_right || left->value != right->value) ++result.differing;
      if (!only_right) ++left;
      if (!only_left) ++right;
    }
  }
  return result;
}

}  // namespace

const Decision* Plan::find(std::string_view knob) const {
  for (const auto& section : sections) {
    for (const Decision& decision : section) {
      if (decision.knob == knob) return &decision;
    }
  }
  return nullptr;
}

Plan make_plan(const Surface& surface, std::span<const int64_t> values, std::span<const Origin> origins,
               std::vector<Relaxation> relaxations) {
  ZB_CHECK(values.size() == surface.knobs().size() && origins.size() == values.size(),
           "one value for each knob");
  Plan plan;
  for (size_t i = 0; i < values.size(); ++i) {
    const Knob& knob = surface.knob(i);
    plan.sections[static_cast<size_t>(knob.category)].push_back(
        {knob.name, values[i], value_text(knob, values[i]), origins[i]});
  }
  plan.relaxations = std::move(relaxations);
  plan.hash = plan_hash(plan);
  return plan;
}

Result<std::vector<int64_t>> plan_values(const Surface& surface, const Plan& plan) {
  std::vector<int64_t> values;
  values.reserve(surface.knobs().size());
  for (size_t s = 0; s < kCategoryCount; ++s) {
    for (const Decision& decision : plan.sections[s]) {
      const size_t number = values.size();
      if (number >= surface.knobs().size() || surface.knob(number).name != decision.knob ||
          static_cast<size_t>(surface.knob(number).category) != s) {
        const auto found = surface.find_knob(decision.knob);
        if (found && number < surface.knobs().size()) {
          return invalid_argument(fmt::format("the plan does not decide knob '{}' in its section '{}'",
                                              surface.knob(number).name,
                                              category_name(surface.knob(number).category)));
        }
        return invalid_argument(
            fmt::format("the plan decides '{}' in section '{}', which the surface does not", decision.knob,
                        category_name(static_cast<Category>(s))));
      }
      const Knob& knob = surface.knob(number);
      if (!knob.index_of(decision.value)) {
        return invalid_argument(fmt::format("the plan has {}={}, which is not one of {}", knob.name,
                                            decision.value, domain_text(knob)));
      }
      values.push_back(decision.value);
    }
  }
  if (values.size() != surface.knobs().size()) {
    return invalid_argument(
        fmt::format("the plan does not decide knob '{}'", surface.knob(values.size()).name));
  }
  return values;
}

Hash plan_hash(const Plan& plan) {
  std::string text;
  for (size_t s = 0; s < kCategoryCount; ++s) {
    text += static_cast<char>('0' + s);
    text += '\n';
    for (const Decision& decision : plan.sections[s]) {
      text += decision.knob;
      text += '=';
      text += std::to_string(decision.value);
      text += '\n';
    }
  }
  return hash_bytes(text);
}

double distance(const Plan& a, const Plan& b) {
  const Difference difference = compare(a, b);
  if (difference.decisions == 0) return 0;
  return static_cast<double>(difference.differing) / static_cast<double>(difference.decisions);
}

size_t changed_decisions(const Plan& a, const Plan& b) {
  return compare(a, b).differing;
}

}  // namespace zomboss::mapping
