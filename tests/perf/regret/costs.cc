#include "tests/perf/regret/costs.h"

#include <fmt/format.h>

#include <fstream>

namespace zomboss::regret {

Result<Costs> Costs::read(const std::string& path) {
  Costs costs;
  costs.path_ = path;
  std::ifstream stream(path);
  std::string key;
  Cost cost;
  while (stream >> key >> cost.latency >> cost.estimate) costs.costs_[key] = cost;
  if (stream.is_open() && !stream.eof())
    return invalid_argument(path + ": line " + std::to_string(costs.costs_.size() + 1) +
                            " is not a key and two numbers");
  costs.read_ = costs.costs_.size();
  return costs;
}

const Cost* Costs::find(const std::string& key) const {
  const auto found = costs_.find(key);
  return found == costs_.end() ? nullptr : &found->second;
}

Status Costs::write() const {
  if (path_.empty() || costs_.size() == read_) return {};
  std::ofstream stream(path_);
  for (const auto& [key, cost] : costs_)
    stream << fmt::format("{} {} {}\n", key, cost.latency, cost.estimate);
  stream.close();
  return stream ? Status() : Status(Code::kUnavailable, path_ + ": could not be written");
}

}  // namespace zomboss::regret
