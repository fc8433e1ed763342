// Row statistics and activations of builds with normalisations (layernorm, softmax, igelu).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini {

// Plain value; one per functional simulator.
class Normaliser {
 public:
  static constexpr uint32_t kStatistics = 4;

  void configure(const ConfigNorm& config);
  uint32_t statistic() const { return statistic_; }

  // Folds a part of a row into the current statistic.
  void fold(std::span<const int32_t> values, NormCommand norm);
  // What the write path makes of one accumulator value before the store scale, by the current statistic.
  int32_t igelu(int32_t value) const;
  int32_t layernorm(int32_t value) const;
  int8_t softmax(int32_t value) const;

 private:
  struct Statistic {
    int32_t sum = 0;
    int32_t count = 0;
    int32_t running_max = INT32_MIN;
    int32_t max = 0;
    int32_t mean = 0;
    float inv_stddev = 0.0f;
    float inv_sum_exp = 0.0f;
    bool reset = false;  // sums restart at the next fold
  };
  int32_t iexp(int32_t q) const;

  std::array<Statistic, kStatistics> statistics_{};
  uint32_t statistic_ = 0;
  int32_t ln2_ = 0;
  int32_t inverse_ln2_ = 0;
  int32_t qb_ = 0;
  int32_t qc_ = 0;
};

}  // namespace zomboss::gemmini
