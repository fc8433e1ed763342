#include "core/resolver/witness.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace zomboss::resolver {
namespace {

using mapping::Bounds;
using mapping::Constraint;
using mapping::MessagePiece;
using mapping::Surface;
using mapping::Term;

constexpr uint64_t kMostSteps = 2'000'000;  // term nodes to evaluate

// The knobs that the message and its numbers mention.
std::vector<size_t> mentioned(const Constraint& constraint) {
  std::set<size_t> knobs;
  const auto add = [&](const Term& term) { knobs.insert(term.knobs.begin(), term.knobs.end()); };
  if (constraint.needs) add(*constraint.needs);
  if (constraint.available) add(*constraint.available);
  for (const MessagePiece& piece : constraint.message) {
    if (piece.kind == MessagePiece::Kind::kKnob) knobs.insert(piece.knob);
    if (piece.kind == MessagePiece::Kind::kTerm) add(piece.term);
  }
  return {knobs.begin(), knobs.end()};
}

// Looks for the values of the free knobs that leave the smallest shortage, needs - available; earlier values
// in default order win ties.
class Search {
 public:
  Search(const Surface& surface, const Constraint& constraint, const std::vector<mapping::Assignment>& fixed,
         Effort& effort)
      : surface_(surface), constraint_(constraint) {
    for (const mapping::Knob& knob : surface.knobs()) {
      const auto [low, high] = std::minmax_element(knob.values.begin(), knob.values.end());
      values.push_back(knob.values[0]);
      ranges_.push_back({*low, *high, false});
    }
    std::vector<uint8_t> is_fixed(values.size(), 0);
    for (const mapping::Assignment& assignment : fixed) {
      set(assignment.knob, assignment.value);
      is_fixed[assignment.knob] = 1;
    }
    for (size_t knob : mentioned(constraint)) {
      if (is_fixed[knob] == 0 && !surface.knob(knob).fixed()) free.push_back(knob);
    }
    find_variation();
    if (!has_numbers()) return;
    const uint64_t steps = enumeration_steps();
    if (steps <= kMostSteps && effort.spend(steps)) {
      enumerate();
    } else {
      descend();
    }
  }

  bool has_numbers() const { return constraint_.needs || constraint_.available; }

  std::vector<int64_t> values;  // one per knob, the free ones at their most favourable
  std::vector<size_t> free;
  bool needs_vary = false;
  bool available_vary = false;

 private:
  void set(size_t knob, int64_t value) {
    values[knob] = value;
    ranges_[knob] = {value, value, false};
  }

  void find_variation() {
    const auto varies = [&](const Term& term) {
      return std::any_of(free.begin(), free.end(),
                         [&](size_t knob) {
                           return std::binary_search(term.knobs.begin(), term.knobs.end(),
                                                     static_cast<uint32_t>(knob));
                         }) &&
             !mapping::bounds(term, ranges_, scratch_).exact();
    };
    needs_vary = constraint_.needs && varies(*constraint_.needs);
    available_vary = constraint_.available && varies(*constraint_.available);
  }

  // Of all combinations of free values; kMostSteps + 1 when it is more than that.
  uint64_t enumeration_steps() const {
    uint64_t product = (constraint_.needs ? constraint_.needs->nodes.size() : 0) +
                       (constraint_.available ? constraint_.available->nodes.size() : 0);
    for (size_t knob : free) {
      product *= surface_.knob(knob).values.size();
      if (product > kMostSteps) return kMostSteps + 1;
    }
    return product;
  }

  // In double: close enough to choose, and cannot overflow. Undefined numbers are the worst.
  double shortage() {
    const auto side = [&](const std::optional<Term>& term) -> std::optional<double> {
      if (!term) return 0.0;
      const auto value = mapping::evaluate(*term, values, scratch_);
      return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
    };
    const auto needs = side(constraint_.needs), available = side(constraint_.available);
    return needs && available ? *needs - *available : std::numeric_limits<double>::infinity();
  }

  void enumerate() {
    std::vector<size_t> at(free.size(), 0);
    std::vector<int64_t> best = values;
    double least = shortage();
    for (;;) {
      size_t i = free.size();
      while (i > 0 && ++at[i - 1] == surface_.knob(free[i - 1]).values.size()) {
        at[--i] = 0;
        values[free[i]] = surface_.knob(free[i]).values[0];
      }
      if (i == 0) break;
      values[free[i - 1]] = surface_.knob(free[i - 1]).values[at[i - 1]];
      const double candidate = shortage();
      if (candidate >= least) continue;
      least = candidate;
      best = values;
    }
    values = std::move(best);
  }

  // Too many combinations: knob by knob, the value with the lowest bound on the shortage.
  void descend() {
    const auto lowest = [&] {
      const Bounds needs =
          constraint_.needs ? mapping::bounds(*constraint_.needs, ranges_, scratch_) : Bounds{};
      const Bounds available =
          constraint_.available ? mapping::bounds(*constraint_.available, ranges_, scratch_) : Bounds{};
      return static_cast<double>(needs.low) - static_cast<double>(available.high);
    };
    for (size_t knob : free) {
      int64_t best = surface_.knob(knob).values[0];
      double least = std::numeric_limits<double>::infinity();
      for (int64_t value : surface_.knob(knob).values) {
        set(knob, value);
        const double candidate = lowest();
        if (candidate >= least) continue;
        least = candidate;
        best = value;
      }
      set(knob, best);
    }
  }

  const Surface& surface_;
  const Constraint& constraint_;
  std::vector<Bounds> ranges_;
  mapping::TermScratch scratch_;
};

}  // namespace

std::string most_favourable_message(const Surface& surface, const Constraint& constraint,
                                    const std::vector<mapping::Assignment>& fixed, Effort& effort) {
  const Search search(surface, constraint, fixed, effort);
  std::string text = mapping::render_message(constraint.message, surface.knobs(), search.values,
                                             search.needs_vary, search.available_vary);
  if (search.free.empty()) return text;
  std::string counted;
  for (size_t knob : search.free) {
    if (!counted.empty()) counted += ", ";
    counted += surface.knob(knob).name + "=" + value_text(surface.knob(knob), search.values[knob]);
  }
  return text + (search.has_numbers() ? fmt::format(" (counting the most favourable {})", counted)
                                      : fmt::format(" (for example with {})", counted));
}

}  // namespace zomboss::resolver
