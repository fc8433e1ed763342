// An intent: what somebody wants of some knobs of a surface. A plain value; knobs are named by their number
// in the surface, so a knob cannot be set twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"
#include "core/mapping/surface.h"
#include "zomboss/schema/proposal_generated.h"

namespace zomboss::mapping {

using wire::Strength;  // Hard: must hold; Preferred: may be relaxed; Auto: the resolver's

struct Assignment {
  size_t knob = 0;
  int64_t value = 0;  // inside the knob's domain; 0 when Auto
  Strength strength = Strength::Hard;
  bool operator==(const Assignment&) const = default;
};

class Intent {
 public:
  void set(const Assignment& assignment);  // replaces an earlier one of the same knob
  void erase(size_t knob);
  const Assignment* find(size_t knob) const;
  // By knob number, which is resolution order. Explicit autos are listed; knobs left out are not.
  const std::vector<Assignment>& assignments() const { return assignments_; }
  bool empty() const { return assignments_.empty(); }
  bool operator==(const Intent&) const = default;

 private:
  std::vector<Assignment> assignments_;
};

// One assignment from texts, e.g. of TOML or JSON: value is a number, a label, true or false, or "auto". The
// error names the nearest knob, the domain, or why the value was dropped.
Result<Assignment> parse_assignment(const Surface& surface, std::string_view knob, std::string_view value,
                                    Strength strength);
// The same with a number for the value.
Result<Assignment> make_assignment(const Surface& surface, std::string_view knob, int64_t value,
                                   Strength strength);

// "tile_m=64 buffering~double store=auto": = hard, ~ preferred; separated by blanks, commas or semicolons; #
// starts a comment. All problems, with line and column, are in the Status.
Result<Intent> parse_intent(const Surface& surface, const Source& source);
std::string intent_text(const Surface& surface, const Intent& intent);  // parse_intent reads it back

}  // namespace zomboss::mapping
