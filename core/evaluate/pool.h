// Several evaluators of one workload, used at once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/evaluate/evaluator.h"

namespace zomboss::evaluate {

class EvaluatorPool {
 public:
  // At least one. Borrowed; each is used by one thread at a time.
  explicit EvaluatorPool(std::vector<Evaluator*> evaluators) : evaluators_(std::move(evaluators)) {}

  size_t size() const { return evaluators_.size(); }
  Evaluator& first() { return *evaluators_.front(); }

  // Does `job` for 0..count-1, each once, on whichever evaluator is free, several at a time. `finished` is
  // called for each job that was done, on the calling thread, in the order in which they end. When it returns
  // false, jobs that have not begun are left out. Returns when all that began have finished.
  void run(size_t count, const std::function<void(Evaluator&, size_t)>& job,
           const std::function<bool(size_t)>& finished);

 private:
  std::vector<Evaluator*> evaluators_;
};

}  // namespace zomboss::evaluate
