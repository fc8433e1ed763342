// Latencies of plans, measured once by the simulator and remembered in a text file.
#pragma once

#include <map>
#include <string>

#include "zomboss/sdk/status.h"

namespace zomboss::regret {

struct Cost {
  double latency = 0;   // 0 = the target could not lower or simulate the plan
  double estimate = 0;  // the target's static cost; 0 = it has none
};

// One line per plan: KEY LATENCY ESTIMATE. One thread.
class Costs {
 public:
  // What the file has; nothing when there is none. "" = remember in memory alone.
  static Result<Costs> read(const std::string& path);
  const Cost* find(const std::string& key) const;
  void add(const std::string& key, const Cost& cost) { costs_[key] = cost; }
  // Writes all of it, when something was added.
  Status write() const;

 private:
  std::string path_;
  size_t read_ = 0;
  std::map<std::string, Cost> costs_;
};

}  // namespace zomboss::regret
