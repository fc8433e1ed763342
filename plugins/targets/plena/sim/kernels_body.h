// The kernels themselves, included once per instruction set by a file that is compiled for it. Everything has
// internal linkage, and nothing from another header is left to be called: the linker must not take one file's
// copy of a shared inline function for a machine that cannot run it.
#pragma once

#include <cmath>
#include <cstring>

#include "plugins/targets/plena/sim/kernels.h"
#include "zomboss/kit/bf16.h"

namespace zomboss::plena {
namespace {

template <size_t kLanes>
struct VectorOf {
  using Type [[gnu::vector_size(kLanes * sizeof(float))]] = float;
};
template <>
struct VectorOf<1> {
  using Type = float;
};

// kRows x kLanes dot products at once, each row of sums in one vector register.
template <size_t kRows, size_t kLanes>
void dot_tile(const DotArguments& a, size_t first_row, size_t first_column) {
  using Lanes = typename VectorOf<kLanes>::Type;
  Lanes sums[kRows] = {};
  const float* rows[kRows];
  for (size_t i = 0; i < kRows; ++i) rows[i] = a.rows[first_row + i];
  const float* line = a.matrix + first_column;
  const size_t step = a.step;
  const size_t pitch = a.pitch;
  for (size_t k = 0; k < a.depth; ++k, line += pitch) {
    Lanes values;
    std::memcpy(&values, line, sizeof values);
    for (size_t i = 0; i < kRows; ++i) sums[i] += rows[i][k * step] * values;
  }
  for (size_t i = 0; i < kRows; ++i) {
    float* out = a.accumulator + (first_row + i) * a.width + first_column;
    Lanes old;
    std::memcpy(&old, out, sizeof old);
    old += a.scale * sums[i];
    std::memcpy(out, &old, sizeof old);
  }
}

template <size_t kRows>
void dot_rows(const DotArguments& a, size_t first_row) {
  size_t column = 0;
  for (; column + 16 <= a.width; column += 16) dot_tile<kRows, 16>(a, first_row, column);
  for (; column + 8 <= a.width; column += 8) dot_tile<kRows, 8>(a, first_row, column);
  for (; column + 4 <= a.width; column += 4) dot_tile<kRows, 4>(a, first_row, column);
  for (; column < a.width; ++column) dot_tile<kRows, 1>(a, first_row, column);
}

void dots(const DotArguments& arguments) {
  size_t row = 0;
  for (; row + 4 <= arguments.row_count; row += 4) dot_rows<4>(arguments, row);
  for (; row < arguments.row_count; ++row) dot_rows<1>(arguments, row);
}

template <typename Operation>
void binary(const float* __restrict a, const float* __restrict b, float* __restrict out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = Operation::apply(a[n], b[n]);
}
template <typename Operation>
void with_scalar(const float* __restrict a, float scalar, float* __restrict out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = Operation::apply(a[n], scalar);
}

struct Add {
  static float apply(float x, float y) { return x + y; }
};
struct Subtract {
  static float apply(float x, float y) { return x - y; }
};
struct SubtractReversed {
  static float apply(float x, float y) { return -(x - y); }
};
struct Multiply {
  static float apply(float x, float y) { return x * y; }
};
// A NaN in x fails the comparison and stays.
struct Maximum {
  static float apply(float x, float y) { return y != y ? y : x < y ? y : x; }
};
struct Minimum {
  static float apply(float x, float y) { return y != y ? y : x > y ? y : x; }
};

void fill(float value, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = value;
}
void reciprocals(const float* __restrict a, float* __restrict out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = 1.0f / a[n];
}
void round_row(const float* a, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = kit::bf16_cast(a[n]);
}

// Vectors of eight lanes go round robin to four accumulators, left-over vectors to the first; the
// accumulators are added lane by lane; then the tail from 0, then the lanes in order. From 512 elements on,
// every 16 rounds of the four accumulators move one level up a cascade of partial sums.
constexpr size_t kSumLanes = 8;
constexpr size_t kSumWays = 4;
constexpr size_t kSumBlock = kSumLanes * kSumWays;
constexpr size_t kSumLevels = 4;
constexpr size_t kRoundsPerLevel = 16;

void move_up(float (&levels)[kSumLevels][kSumBlock], size_t rounds_done) {
  for (size_t level = 1; level < kSumLevels && rounds_done % kRoundsPerLevel == 0; ++level) {
    for (size_t n = 0; n < kSumBlock; ++n) {
      levels[level][n] += levels[level - 1][n];
      levels[level - 1][n] = 0.0f;
    }
    rounds_done /= kRoundsPerLevel;
  }
}

float sum(const float* a, size_t count) {
  float levels[kSumLevels][kSumBlock] = {};
  float(&sums)[kSumBlock] = levels[0];
  const size_t vectors = count / kSumLanes;
  const size_t rounds = vectors / kSumWays;
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t n = 0; n < kSumBlock; ++n) sums[n] += a[round * kSumBlock + n];
    if ((round + 1) % kRoundsPerLevel == 0) move_up(levels, round + 1);
  }
  if (rounds >= kRoundsPerLevel) {
    for (size_t level = 1; level < kSumLevels; ++level) {
      for (size_t n = 0; n < kSumBlock; ++n) sums[n] += levels[level][n];
    }
  }
  for (size_t vector = rounds * kSumWays; vector < vectors; ++vector) {
    for (size_t n = 0; n < kSumLanes; ++n) sums[n] += a[vector * kSumLanes + n];
  }
  for (size_t way = 1; way < kSumWays; ++way) {
    for (size_t n = 0; n < kSumLanes; ++n) sums[n] += sums[way * kSumLanes + n];
  }
  float total = 0.0f;
  for (size_t n = vectors * kSumLanes; n < count; ++n) total += a[n];
  for (size_t n = 0; n < kSumLanes; ++n) total += sums[n];
  return total;
}

// Maximum without the NaNs, and the lane's last NaN.
float maximum(const float* a, size_t count) {
  constexpr size_t kLanes = 16;
  constexpr float kLowest = -HUGE_VALF;
  float lanes[kLanes];
  float nans[kLanes] = {};
  fill(kLowest, lanes, kLanes);
  size_t n = 0;
  for (; n + kLanes <= count; n += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float value = a[n + lane];
      lanes[lane] = value > lanes[lane] ? value : lanes[lane];
      nans[lane] = value == value ? nans[lane] : value;
    }
  }
  float best = kLowest;
  float nan = 0.0f;
  for (; n < count; ++n) {
    best = a[n] > best ? a[n] : best;
    nan = a[n] == a[n] ? nan : a[n];
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    best = lanes[lane] > best ? lanes[lane] : best;
    nan = nans[lane] == nans[lane] ? nan : nans[lane];
  }
  return nan == nan ? best : nan;
}

constexpr Kernels kKernels = {.add_rows = binary<Add>,
                              .subtract_rows = binary<Subtract>,
                              .multiply_rows = binary<Multiply>,
                              .add_scalar = with_scalar<Add>,
                              .subtract_scalar = with_scalar<Subtract>,
                              .subtract_scalar_reversed = with_scalar<SubtractReversed>,
                              .multiply_scalar = with_scalar<Multiply>,
                              .max_scalar = with_scalar<Maximum>,
                              .min_scalar = with_scalar<Minimum>,
                              .reciprocal_row = reciprocals,
                              .round_to_bf16 = round_row,
                              .sum_row = sum,
                              .max_row = maximum,
                              .accumulate_dots = dots};

}  // namespace
}  // namespace zomboss::plena
