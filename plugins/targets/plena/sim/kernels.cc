#include "plugins/targets/plena/sim/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "zomboss/kit/bf16.h"

namespace zomboss::plena {
namespace {

// kRows x kWidth dot products at once: one register tile that the compiler vectorises along the columns.
template <size_t kRows, size_t kWidth>
void dot_tile(const DotArguments& a, size_t first_row, size_t first_column) {
  float sums[kRows][kWidth] = {};
  const float* rows[kRows];
  for (size_t i = 0; i < kRows; ++i) rows[i] = a.rows[first_row + i];
  const float* matrix = a.matrix + first_column;
  for (size_t k = 0; k < a.depth; ++k) {
    const float* line = matrix + k * a.pitch;
    for (size_t i = 0; i < kRows; ++i) {
      const float factor = rows[i][k * a.step];
      for (size_t j = 0; j < kWidth; ++j) sums[i][j] += factor * line[j];
    }
  }
  for (size_t i = 0; i < kRows; ++i) {
    float* out = a.accumulator + (first_row + i) * a.width + first_column;
    for (size_t j = 0; j < kWidth; ++j) out[j] += a.scale * sums[i][j];
  }
}

template <size_t kRows>
void dot_rows(const DotArguments& a, size_t first_row) {
  size_t column = 0;
  for (; column + 8 <= a.width; column += 8) dot_tile<kRows, 8>(a, first_row, column);
  for (; column + 4 <= a.width; column += 4) dot_tile<kRows, 4>(a, first_row, column);
  for (; column < a.width; ++column) dot_tile<kRows, 1>(a, first_row, column);
}

}  // namespace

void add_rows(const float* a, const float* b, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = a[n] + b[n];
}
void subtract_rows(const float* a, const float* b, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = a[n] - b[n];
}
void multiply_rows(const float* a, const float* b, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = a[n] * b[n];
}
void add_scalar(const float* a, float scalar, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = a[n] + scalar;
}
void subtract_scalar(const float* a, float scalar, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = a[n] - scalar;
}
void subtract_scalar_reversed(const float* a, float scalar, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = -(a[n] - scalar);
}
void multiply_scalar(const float* a, float scalar, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = a[n] * scalar;
}

// A NaN in a[n] fails the comparison and stays.
void max_scalar(const float* a, float scalar, float* out, size_t count) {
  if (std::isnan(scalar)) {
    std::fill_n(out, count, scalar);
    return;
  }
  for (size_t n = 0; n < count; ++n) out[n] = a[n] < scalar ? scalar : a[n];
}
void min_scalar(const float* a, float scalar, float* out, size_t count) {
  if (std::isnan(scalar)) {
    std::fill_n(out, count, scalar);
    return;
  }
  for (size_t n = 0; n < count; ++n) out[n] = a[n] > scalar ? scalar : a[n];
}

void reciprocal_row(const float* a, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = 1.0f / a[n];
}
void clamp_row(const float* a, float low, float high, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    const float raised = a[n] < low ? low : a[n];
    out[n] = raised > high ? high : raised;
  }
}
void round_to_bf16(const float* a, float* out, size_t count) {
  for (size_t n = 0; n < count; ++n) out[n] = kit::bf16_cast(a[n]);
}

// Vectors of eight lanes go round robin to four accumulators, left-over vectors to the first; the
// accumulators are added lane by lane; then the tail from 0, then the lanes in order. From 512 elements on,
// every 16 rounds of the four accumulators move one level up a cascade of partial sums.
float sum_row(const float* a, size_t count) {
  constexpr size_t kLanes = 8;
  constexpr size_t kWays = 4;
  constexpr size_t kLevels = 4;
  constexpr size_t kRoundsPerLevel = 16;
  using Block = std::array<float, kLanes * kWays>;
  std::array<Block, kLevels> levels{};
  const size_t vectors = count / kLanes;
  const size_t rounds = vectors / kWays;
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t n = 0; n < kLanes * kWays; ++n) levels[0][n] += a[round * kLanes * kWays + n];
    size_t done = round + 1;
    for (size_t level = 1; level < kLevels && done % kRoundsPerLevel == 0; ++level, done /= kRoundsPerLevel) {
      for (size_t n = 0; n < kLanes * kWays; ++n) levels[level][n] += levels[level - 1][n];
      levels[level - 1] = {};
    }
  }
  Block& sums = levels[0];
  if (rounds >= kRoundsPerLevel) {
    for (size_t level = 1; level < kLevels; ++level) {
      for (size_t n = 0; n < kLanes * kWays; ++n) sums[n] += levels[level][n];
    }
  }
  for (size_t vector = rounds * kWays; vector < vectors; ++vector) {
    for (size_t n = 0; n < kLanes; ++n) sums[n] += a[vector * kLanes + n];
  }
  for (size_t way = 1; way < kWays; ++way) {
    for (size_t n = 0; n < kLanes; ++n) sums[n] += sums[way * kLanes + n];
  }
  float total = 0.0f;
  for (size_t n = vectors * kLanes; n < count; ++n) total += a[n];
  for (size_t n = 0; n < kLanes; ++n) total += sums[n];
  return total;
}

float max_row(const float* a, size_t count) {
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> lanes;
  lanes.fill(-std::numeric_limits<float>::infinity());
  float nan_probe = 0.0f;
  std::array<float, kLanes> probes{};
  size_t n = 0;
  for (; n + kLanes <= count; n += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = a[n + lane] > lanes[lane] ? a[n + lane] : lanes[lane];
      probes[lane] = a[n + lane] == a[n + lane] ? probes[lane] : a[n + lane];
    }
  }
  float best = -std::numeric_limits<float>::infinity();
  for (; n < count; ++n) {
    best = a[n] > best ? a[n] : best;
    if (std::isnan(a[n])) nan_probe = a[n];
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    best = lanes[lane] > best ? lanes[lane] : best;
    if (std::isnan(probes[lane])) nan_probe = probes[lane];
  }
  return std::isnan(nan_probe) ? nan_probe : best;
}

void accumulate_dots(const DotArguments& arguments) {
  size_t row = 0;
  for (; row + 4 <= arguments.row_count; row += 4) dot_rows<4>(arguments, row);
  for (; row < arguments.row_count; ++row) dot_rows<1>(arguments, row);
}

void transpose(const float* matrix, size_t pitch, size_t rows, size_t columns, float* out) {
  for (size_t j = 0; j < rows; ++j) {
    for (size_t k = 0; k < columns; ++k) out[k * rows + j] = matrix[j * pitch + k];
  }
}

}  // namespace zomboss::plena
