#include "plugins/targets/gemmini/sim/norm.h"

#include <algorithm>
#include <cmath>

#include "plugins/targets/gemmini/sim/arithmetic.h"

namespace zomboss::gemmini {
namespace {

// C division, without its undefined cases (an empty fold; INT32_MIN / -1 cannot occur, counts are positive).
int32_t divide(int32_t sum, int32_t count) {
  return count > 0 ? sum / count : 0;
}

}  // namespace

void Normaliser::configure(const ConfigNorm& config) {
  statistic_ = config.statistic % kStatistics;
  if (config.statistic_only) return;
  (config.q_is_inverse_ln2 ? inverse_ln2_ : ln2_) = config.q;
  qb_ = config.qb;
  qc_ = config.qc;
}

void Normaliser::fold(std::span<const int32_t> values, NormCommand norm) {
  Statistic& s = statistics_[statistic_];
  if (s.reset) {
    s.sum = 0;
    s.count = 0;
    s.reset = false;
  }
  const auto add = [&s](int32_t value) {
    s.sum = wrap_add(s.sum, value);
    s.count = wrap_add(s.count, 1);
  };
  switch (norm) {
    case NormCommand::kReset:
      s.reset = true;
      break;
    case NormCommand::kSum:
    case NormCommand::kMean:
      for (const int32_t value : values) add(value);
      if (norm == NormCommand::kMean) {
        s.mean = divide(s.sum, s.count);
        s.reset = true;
      }
      break;
    case NormCommand::kVariance:
    case NormCommand::kInvStddev:
      for (const int32_t value : values) {
        const int32_t difference = wrap_sub(value, s.mean);
        add(wrap_mul(difference, difference));
      }
      if (norm == NormCommand::kInvStddev) {
        const int32_t variance = divide(s.sum, s.count);
        const auto stddev = variance > 0 ? static_cast<int32_t>(std::sqrt(static_cast<double>(variance))) : 1;
        s.inv_stddev = 1.0f / static_cast<float>(stddev);
        s.reset = true;
      }
      break;
    case NormCommand::kMax:
      for (const int32_t value : values) s.running_max = std::max(s.running_max, value);
      s.max = s.running_max;
      break;
    case NormCommand::kSumExp:
    case NormCommand::kInvSumExp:
      for (const int32_t value : values) add(iexp(wrap_sub(value, s.max)));
      if (norm == NormCommand::kInvSumExp) {
        s.inv_sum_exp = 127.0f / static_cast<float>(s.sum);
        s.running_max = INT32_MIN;
      }
      break;
  }
}

int32_t Normaliser::iexp(int32_t q) const {
  const int32_t z = wrap_mul(wrap_sub(0, q), inverse_ln2_) >> 16;
  const int32_t p = wrap_add(q, wrap_mul(z, ln2_));
  const int32_t base = wrap_add(p, qb_);
  return wrap_add(wrap_mul(base, base), qc_) >> (z & 31);
}

int32_t Normaliser::igelu(int32_t value) const {
  const int32_t sign = value < 0 ? -1 : 1;
  const int32_t magnitude = wrap_mul(sign, value);
  const int32_t clipped = std::min(magnitude, wrap_sub(0, qb_));
  const int32_t base = wrap_add(clipped, qb_);
  const int32_t erf = wrap_mul(sign, wrap_add(wrap_mul(base, base), qc_));
  return wrap_mul(value, wrap_add(erf, qc_));
}

int32_t Normaliser::layernorm(int32_t value) const {
  const Statistic& s = statistics_[statistic_];
  return truncate_to_int32(static_cast<float>(wrap_sub(value, s.mean)) * s.inv_stddev);
}

int8_t Normaliser::softmax(int32_t value) const {
  const Statistic& s = statistics_[statistic_];
  return scale_to_int8(static_cast<float>(iexp(wrap_sub(value, s.max))), s.inv_sum_exp);
}

}  // namespace zomboss::gemmini
