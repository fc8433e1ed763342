// A suite file: a list of workloads for one target, e.g. workloads/gemmini.toml.
//
//   name = "gemmini"
//   target = "gemmini"
//   [[instance]]
//   name = "gemm_c1"             # optional: the file's name without ".hlo"
//   family = "gemm"
//   config = "C1"
//   hlo = "gemmini/gemm_c1.hlo"  # relative to the suite file
//   contract = "x.toml"          # optional, likewise
//   params = { M = 32, K = 32 }  # optional, for people
//   baseline = 1448              # optional: latency of what a user has today, in the simulator's unit
//   baseline_source = "..."      # optional: where that number comes from
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/source.h"

namespace zomboss::config {

struct Instance {
  std::string name, family, config;
  std::string params;    // "K=32 M=32"
  std::string hlo;       // path as the current folder sees it
  std::string contract;  // likewise; empty = defaults
  std::optional<double> baseline;
  std::string baseline_source;
};

struct Suite {
  std::string name, target;
  std::vector<Instance> instances;
};

// All errors of the file at once, with file:line:col. Does not open the HLO files.
Result<Suite> read_suite(const std::string& path);

}  // namespace zomboss::config
