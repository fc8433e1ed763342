#include "core/evaluate/pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace zomboss::evaluate {

void EvaluatorPool::run(size_t count, const std::function<void(Evaluator&, size_t)>& job,
                        const std::function<bool(size_t)>& finished) {
  const size_t threads = std::min(count, evaluators_.size());
  if (threads <= 1) {  // a thread would cost more than it gives
    for (size_t i = 0; i < count; ++i) {
      job(*evaluators_.front(), i);
      if (!finished(i)) return;
    }
    return;
  }
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<size_t> done;
  size_t working = threads;
  const auto work = [&](Evaluator& evaluator) {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      job(evaluator, i);
      const std::lock_guard lock(mutex);
      done.push_back(i);
      changed.notify_one();
    }
    const std::lock_guard lock(mutex);
    --working;
    changed.notify_one();
  };
  std::vector<std::jthread> workers;
  for (size_t t = 0; t < threads; ++t) workers.emplace_back(work, std::ref(*evaluators_[t]));
  std::unique_lock lock(mutex);
  while (working != 0 || !done.empty()) {
    changed.wait(lock, [&] { return working == 0 || !done.empty(); });
    while (!done.empty()) {
      const size_t i = done.front();
      done.pop_front();
      lock.unlock();
      if (!finished(i)) next = count;
      lock.lock();
    }
  }
}

}  // namespace zomboss::evaluate
