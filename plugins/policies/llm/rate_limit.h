// A client's own limit of requests and tokens per minute: two token buckets that start full. Times are
// milliseconds of any steady clock. Used by one thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace zomboss::policies::llm {

class RateLimit {
 public:
  // 0 = no limit.
  RateLimit(int64_t requests_per_minute, int64_t tokens_per_minute)
      : requests_{static_cast<double>(requests_per_minute)},
        tokens_{static_cast<double>(tokens_per_minute)} {}

  // How long to wait before a request of so many tokens may be sent.
  int64_t wait_ms(uint64_t tokens, int64_t now) {
    const double wait = std::max(requests_.wait(1, now), tokens_.wait(static_cast<double>(tokens), now));
    return std::max(static_cast<int64_t>(std::ceil(wait)), silent_until_ - now);
  }
  void take(uint64_t tokens, int64_t now) {
    requests_.take(1, now);
    tokens_.take(static_cast<double>(tokens), now);
  }
  // The server asked for it.
  void silence(int64_t until) { silent_until_ = std::max(silent_until_, until); }

 private:
  struct Bucket {
    double per_minute = 0;
    double level = per_minute;
    int64_t since = INT64_MIN;

    void fill(int64_t now) {
      if (since != INT64_MIN)
        level = std::min(per_minute, level + per_minute * static_cast<double>(now - since) / 60'000);
      since = now;
    }
    // A request larger than the bucket goes when the bucket is full.
    double wait(double amount, int64_t now) {
      if (per_minute <= 0) return 0;
      fill(now);
      return std::max(0.0, (std::min(amount, per_minute) - level) * 60'000 / per_minute);
    }
    void take(double amount, int64_t now) {
      if (per_minute <= 0) return;
      fill(now);
      level -= amount;
    }
  };
  Bucket requests_, tokens_;
  int64_t silent_until_ = INT64_MIN / 2;
};

}  // namespace zomboss::policies::llm
