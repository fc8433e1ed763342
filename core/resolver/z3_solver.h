// The authority: the same questions answered by Z3. The only file that includes Z3; its exceptions end here.
// Terms are translated through Z3's API, so that no text of a plugin reaches Z3's parser.
#pragma once

#include <memory>
#include <string>

#include "core/resolver/question.h"

namespace zomboss::resolver {

// One thread at a time. Borrows the surface.
class Z3Solver {
 public:
  // `resources`: Z3's rlimit per check. Deterministic. A clock (kGuardMs per check) stands behind it for what
  // Z3 does not count.
  Z3Solver(const mapping::Surface& surface, unsigned resources);
  ~Z3Solver();
  Z3Solver(const Z3Solver&) = delete;
  Z3Solver& operator=(const Z3Solver&) = delete;

  // The first assignment in default order: fixes knob after knob to the first position that Z3 finds
  // possible, so that the answer does not depend on Z3's models. kUnknown as soon as one of the checks is, or
  // when `left`, which pays for the checks, is spent.
  Verdict first(const Question& question, Positions* found, uint64_t& left);
  // What Z3 said about the last kUnknown.
  const std::string& reason() const { return reason_; }

 private:
  class Impl;
  template <typename F>
  Verdict guarded(F ask);

  const mapping::Surface& surface_;
  unsigned resources_;
  std::string reason_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace zomboss::resolver
