// The toy machine's decisions and its latency in closed form, so that tests know the optimum. Pure functions.
#pragma once

#include <cstdint>

namespace zomboss::toy {

struct Problem {
  int64_t m = 1, n = 1, k = 1;
};

struct Decisions {
  int64_t tile_m = 8;  // multiples of DIM: 1, 2, 4, 8 of them
  int64_t tile_n = 8;
  int64_t buffering = 1;   // 1 single, 2 double
  int64_t loop_order = 0;  // 0 mn, 1 nm
  int64_t unroll_k = 1;    // 1..4
  bool operator==(const Decisions&) const = default;
};

// Bytes of scratchpad that the operand tiles take; at most the scratchpad's own in a legal mapping.
constexpr int64_t needed_bytes(const Decisions& d) {
  return d.tile_m * d.tile_n * d.buffering;
}

// `delay`: of the memory, for each of its accesses; 1 is the machine as it is.
constexpr uint64_t latency_cycles(const Problem& p, const Decisions& d, int64_t delay = 1) {
  const auto ceil_div = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const auto distance = [](int64_t a, int64_t b) { return a > b ? a - b : b - a; };
  const int64_t tiles = ceil_div(p.m, d.tile_m) * ceil_div(p.n, d.tile_n);
  const int64_t compute = ceil_div(p.m * p.n * p.k, 64) + 20 * tiles;
  const int64_t load = tiles * (d.tile_m + d.tile_n) * ceil_div(p.k, 8) * delay;
  const int64_t fill = ceil_div(load, tiles);
  const int64_t both = d.buffering == 2 ? (compute > load ? compute : load) + fill : compute + load;
  // The order that keeps the operand with the longer tile is the better one; unrolling by three fits the
  // pipeline.
  const int64_t order = ((d.loop_order == 1) == (d.tile_n > d.tile_m) ? 0 : 24) + 4 * d.loop_order;
  return static_cast<uint64_t>(200 + both + order + 12 * distance(d.unroll_k, 3));
}

}  // namespace zomboss::toy
