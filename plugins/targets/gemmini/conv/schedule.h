// The schedule of a convolution in primitive commands: moves and array steps with their places, sorted into
// one stream at the end. Built directly as the mapping says; check.h verifies the result. Plain values; any
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini::conv {

// Where an operation stands: macro tile, array step inside it, and before or after that step. Sorting by it
// keeps the order of equals.
struct Place {
  uint32_t tile = 0;
  uint32_t step = 0;
  uint8_t phase = 0;  // 0 before the step, 1 the step, 2 after it
  auto operator<=>(const Place&) const = default;
};

struct Operation {
  enum class Kind : uint8_t { kLoad, kStore, kStep, kFence };
  Kind kind = Kind::kFence;
  uint16_t stream = 0;  // of moves
  Place place;
  Command first, second;  // a move; preload and computation of a step
};

// Moves that share one configuration.
struct Stream {
  uint8_t state = 0;  // of loads; kStoreState otherwise
  Command config;
};
inline constexpr uint8_t kStoreState = 3;

struct Schedule {
  uint16_t a_stride = 1;  // local rows from one pixel to the next
  std::vector<Stream> streams;
  std::vector<uint32_t> steps;  // by tile; copies have tiles of their own without steps
  std::vector<Operation> operations;
};

// `mapping` is no loop and has passed check_capacity. With `most_steps`, stops after the macro tile that
// reaches so many array steps, without copies: for estimates.
Schedule build_schedule(const Problem& problem, const Mapping& mapping, const Machine& machine,
                        int64_t most_steps = 0, size_t least_tiles = 0);

// `begins`, if there, gets for each macro tile the number of its first command.
std::vector<Command> generate_code(const Schedule& schedule, std::vector<size_t>* begins = nullptr);

}  // namespace zomboss::gemmini::conv
