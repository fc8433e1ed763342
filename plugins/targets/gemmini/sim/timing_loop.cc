#include "plugins/targets/gemmini/sim/timing_loop.h"

#include <fmt/format.h>

#include <algorithm>

namespace zomboss::gemmini::timing {

Status LoopUnroller::check(const LoopWs& loop) const {
  const uint64_t i = loop.i, j = loop.j, k = loop.residual_add ? 1 : loop.k;
  const uint64_t scratchpad = loop.residual_add ? 0 : (i * k + k * j) * machine_.dim;
  const uint64_t accumulator = i * j * machine_.dim;
  if (i == 0 || j == 0 || k == 0 || scratchpad > machine_.loop_scratchpad_rows() ||
      accumulator > machine_.loop_accumulator_rows()) {
    return invalid_argument(
        fmt::format("loop_ws of {}x{}x{} tiles does not fit: {} of {} scratchpad rows, {} of {} "
                    "accumulator rows",
                    loop.i, loop.j, loop.k, scratchpad, machine_.loop_scratchpad_rows(), accumulator,
                    machine_.loop_accumulator_rows()));
  }
  return {};
}

Status LoopUnroller::accept(const Command& command, uint32_t index) {
  // The configuration words go to a free loop; the run command starts it.
  const size_t target = slots[head].running ? 1 - head : head;
  Slot& slot = slots[target];
  latch(latched, command);
  clock_.wake(clock_.now + 1);
  if (command.funct != static_cast<uint32_t>(Funct::kLoopWs)) return {};
  ZB_TRY(check(latched));
  const uint32_t half = machine_.loop_scratchpad_rows(), acc_half = machine_.loop_accumulator_rows();
  slot.loop = latched;
  slot.index = index;
  slot.running = true;
  slot.started = slot.done = {};
  const bool a_upper = latched.a_scratchpad_id == 0 ? target == 1 : latched.a_scratchpad_id == 2;
  const bool b_upper = latched.b_scratchpad_id == 0 ? target == 1 : latched.b_scratchpad_id == 2;
  slot.a_row = a_upper ? half : 0;
  slot.b_row = (b_upper ? 2 * half : half) -
               (latched.residual_add ? 0 : uint32_t{latched.k} * latched.j * machine_.dim);
  slot.c_row = c_upper ? acc_half : 0;
  slot.d_row = d_upper ? acc_half : 0;
  c_upper ^= latched.c != 0;
  d_upper ^= latched.d != 0;
  return {};
}

bool LoopUnroller::may_start(Generator generator, const Slot& slot) const {
  if (!slot.running || slot.started[generator]) return false;
  if (generator == kExecute) return slot.started[kLoadA] && slot.started[kLoadB] && slot.started[kLoadD];
  if (generator == kStoreC) return slot.started[kExecute];
  return true;
}

bool LoopUnroller::skipped(Generator generator, const LoopWs& loop) const {
  switch (generator) {
    case kLoadA:
      return loop.a == 0;
    case kLoadB:
      return loop.b == 0;
    case kLoadD:
      return loop.d == 0 || loop.residual_add;
    case kExecute:
      return loop.residual_add;
    default:
      return loop.c == 0;
  }
}

void LoopUnroller::start_generators() {
  // Decided on the state at the start of the cycle, so a chain of starts takes a cycle each.
  std::array<int, kGenerators> starts;
  for (size_t g = 0; g < kGenerators; ++g) {
    starts[g] = -1;
    if (positions[g].slot >= 0) continue;
    const auto generator = static_cast<Generator>(g);
    for (const size_t candidate : {head, 1 - head}) {
      if (may_start(generator, slots[candidate])) {
        starts[g] = static_cast<int>(candidate);
        break;
      }
    }
  }
  for (size_t g = 0; g < kGenerators; ++g) {
    if (starts[g] < 0) continue;
    Slot& slot = slots[static_cast<size_t>(starts[g])];
    slot.started[g] = true;
    clock_.wake(clock_.now + 1);
    if (skipped(static_cast<Generator>(g), slot.loop)) {
      slot.done[g] = true;
    } else {
      positions[g] = {starts[g], 0, 0, 0, false};
    }
  }
}

// Both loads must be past the tile, and the bias complete.
bool LoopUnroller::execute_ready(const Position& ex) const {
  const auto ahead = [&](Generator load, bool rows) {
    const Position& ld = positions[load];
    if (ld.slot != ex.slot) return slots[static_cast<size_t>(ex.slot)].done[load];
    const uint32_t at = rows ? ld.i : ld.j, here = rows ? ex.i : ex.j;
    return ld.k > ex.k || (ld.k == ex.k && at > here);
  };
  return ahead(kLoadA, true) && ahead(kLoadB, false) && slots[static_cast<size_t>(ex.slot)].done[kLoadD];
}

bool LoopUnroller::store_ready(const Position& st) const {
  const Slot& slot = slots[static_cast<size_t>(st.slot)];
  if (slot.loop.residual_add) return slot.done[kLoadA] && slot.done[kLoadB];
  if (slot.done[kExecute]) return true;
  const Position& ex = positions[kExecute];
  if (ex.slot != st.slot || ex.k + 1 != slot.loop.k) return false;
  const uint32_t blocks = std::min(wide_blocks(!slot.loop.full_c), slot.loop.j - st.j);
  return ex.j >= st.j + blocks || (ex.j + 1 == st.j + blocks && ex.i > st.i);
}

bool LoopUnroller::ready(Generator generator) const {
  const Position& position = positions[generator];
  if (position.slot < 0) return false;
  switch (generator) {
    case kExecute:
      return !throttle_.full(Engine::kExecute) && (position.second || execute_ready(position));
    case kStoreC:
      return !throttle_.full(Engine::kStore) && store_ready(position);
    default:
      return !throttle_.full(Engine::kLoad);
  }
}

// Which of the two operand loads goes first when both could.
bool LoopUnroller::prefer_b() const {
  const Position& a = positions[kLoadA];
  const Position& b = positions[kLoadB];
  if (a.slot < 0) return true;
  if (b.slot < 0) return false;
  if (a.slot != b.slot) return static_cast<size_t>(b.slot) == head;
  return a.k > b.k || (b.k == 0 && b.j == 0);
}

bool LoopUnroller::tick(LoopOutput& output) {
  if (idle()) return false;
  retire_slots();
  const Generator operand = prefer_b() ? kLoadB : kLoadA;
  bool emitted = false;
  for (const Generator generator : {kStoreC, kExecute, kLoadD, operand}) {
    if (!ready(generator)) continue;
    emit(generator, output);
    clock_.wake(clock_.now + 1);
    emitted = true;
    break;
  }
  start_generators();
  return emitted;
}

void LoopUnroller::emit(Generator generator, LoopOutput& output) {
  Position& position = positions[generator];
  const Slot& slot = slots[static_cast<size_t>(position.slot)];
  output.index = slot.index;
  throttle_.emit(generator == kExecute  ? Engine::kExecute
                 : generator == kStoreC ? Engine::kStore
                                        : Engine::kLoad);
  switch (generator) {
    case kLoadA:
      output.command = load_a(slot, position);
      break;
    case kLoadB:
      output.command = load_b(slot, position);
      break;
    case kLoadD:
      output.command = load_d(slot, position);
      break;
    case kExecute:
      output.command = execute(slot, position);
      break;
    default:
      output.command = store_c(slot, position);
      break;
  }
}

void LoopUnroller::finish(Generator generator) {
  Position& position = positions[generator];
  slots[static_cast<size_t>(position.slot)].done[generator] = true;
  position.slot = -1;
}

void LoopUnroller::retire_slots() {
  Slot& slot = slots[head];
  if (!slot.running || !std::all_of(slot.done.begin(), slot.done.end(), [](bool done) { return done; }))
    return;
  if (slot.free_at == kNever) slot.free_at = clock_.now + kRetireDelay;
  clock_.wake(slot.free_at);
  if (slot.free_at > clock_.now) return;
  slot = {};
  head = 1 - head;
  clock_.wake(clock_.now + 1);
}

// Blocks of A (or its transpose) side by side in a DRAM row move together; rows of blocks go first.
Command LoopUnroller::load_a(const Slot& slot, Position& s) {
  const LoopWs& l = slot.loop;
  const uint32_t depth = l.residual_add ? l.j : l.k, pad = l.residual_add ? l.pad_j : l.pad_k;
  const uint32_t i_blocks = l.transpose_a ? std::min(max_blocks(), l.i - s.i) : 1;
  const uint32_t k_blocks = l.transpose_a ? 1 : std::min(max_blocks(), depth - s.k);
  const uint16_t rows_i = extent(s.i, i_blocks, l.i, l.pad_i), cols_k = extent(s.k, k_blocks, depth, pad);
  const uint64_t row = l.transpose_a ? s.k : s.i, col = l.transpose_a ? s.i : s.k;
  const uint32_t tile = (l.transpose_a ? s.k * l.i + s.i : s.i * depth + s.k) * machine_.dim;
  const uint32_t address = l.residual_add ? accumulator_address(slot.c_row + tile) : slot.a_row + tile;
  const Command command = mvin(l.a + (row * l.a_stride + col) * machine_.dim,
                               {address, l.transpose_a ? cols_k : rows_i, l.transpose_a ? rows_i : cols_k});
  s.i += i_blocks;
  if (s.i >= l.i) {
    s.i = 0;
    s.k += k_blocks;
    if (s.k >= depth) finish(kLoadA);
  }
  return command;
}

Command LoopUnroller::load_b(const Slot& slot, Position& s) {
  const LoopWs& l = slot.loop;
  const uint32_t depth = l.residual_add ? l.i : l.k;
  const uint32_t j_blocks = l.transpose_b ? 1 : std::min(max_blocks(), l.j - s.j);
  const uint32_t k_blocks = l.transpose_b ? std::min(max_blocks(), depth - s.k) : 1;
  // Rows in DRAM are never padded.
  const uint32_t k_pad = l.residual_add ? l.pad_i : l.pad_k;
  const uint16_t rows_k = extent(s.k, k_blocks, depth, l.transpose_b ? k_pad : 0);
  const uint16_t cols_j = extent(s.j, j_blocks, l.j, l.transpose_b ? 0 : l.pad_j);
  const uint64_t row = l.transpose_b ? s.j : s.k, col = l.transpose_b ? s.k : s.j;
  const uint32_t tile = (l.transpose_b ? s.j * depth + s.k : s.k * l.j + s.j) * machine_.dim;
  const uint32_t address = l.residual_add ? accumulator_address(slot.c_row + tile, true) : slot.b_row + tile;
  const Command command = mvin2(l.b + (row * l.b_stride + col) * machine_.dim,
                                {address, l.transpose_b ? cols_j : rows_k, l.transpose_b ? rows_k : cols_j});
  s.j += j_blocks;
  if (s.j >= l.j) {
    s.j = 0;
    s.k += k_blocks;
    if (s.k >= depth) finish(kLoadB);
  }
  return command;
}

Command LoopUnroller::load_d(const Slot& slot, Position& s) {
  const LoopWs& l = slot.loop;
  const uint32_t blocks = std::min(wide_blocks(l.low_d), l.j - s.j);
  const uint64_t element = l.low_d ? 1 : 4;
  const Command command = mvin3(l.d + (s.i * l.d_stride + s.j) * machine_.dim * element,
                                {accumulator_address(slot.d_row + (s.i * l.j + s.j) * machine_.dim),
                                 extent(s.i, 1, l.i, l.pad_i), extent(s.j, blocks, l.j, l.pad_j)});
  if (++s.i >= l.i) {
    s.i = 0;
    s.j += blocks;
    if (s.j >= l.j) finish(kLoadD);
  }
  return command;
}

Command LoopUnroller::execute(const Slot& slot, Position& s) {
  const LoopWs& l = slot.loop;
  const uint16_t rows = extent(s.i, 1, l.i, l.pad_i), cols = extent(s.j, 1, l.j, l.pad_j);
  const uint16_t depth = extent(s.k, 1, l.k, l.pad_k);
  const auto dim = static_cast<uint16_t>(machine_.dim);
  if (!s.second) {
    s.second = true;
    const uint32_t b = slot.b_row + (l.transpose_b ? s.j * l.k + s.k : s.k * l.j + s.j) * machine_.dim;
    const uint32_t c = slot.c_row + (s.i * l.j + s.j) * machine_.dim;
    return preload({s.i == 0 ? b : kGarbage, depth, cols},
                   {accumulator_address(c, s.k != 0 || l.accumulate, l.full_c), rows, cols});
  }
  s.second = false;
  const uint32_t a = slot.a_row + (l.transpose_a ? s.k * l.i + s.i : s.i * l.k + s.k) * machine_.dim;
  const Command command = compute(s.i == 0, {a, rows, depth}, {kGarbage, dim, dim});
  if (++s.i >= l.i) {
    s.i = 0;
    if (++s.j >= l.j) {
      s.j = 0;
      if (++s.k >= l.k) finish(kExecute);
    }
  }
  return command;
}

Command LoopUnroller::store_c(const Slot& slot, Position& s) {
  const LoopWs& l = slot.loop;
  const uint32_t blocks = std::min(wide_blocks(!l.full_c), l.j - s.j);
  const uint64_t element = l.full_c ? 4 : 1;
  const Command command =
      mvout(l.c + (s.i * l.c_stride + s.j) * machine_.dim * element,
            {accumulator_address(slot.c_row + (s.i * l.j + s.j) * machine_.dim, true, l.full_c),
             extent(s.i, 1, l.i, l.pad_i), extent(s.j, blocks, l.j, l.pad_j)});
  if (++s.i >= l.i) {
    s.i = 0;
    s.j += blocks;
    if (s.j >= l.j) finish(kStoreC);
  }
  return command;
}

namespace {

void describe_loop(const LoopWs& l, Words& words) {
  const auto pack16 = [](uint64_t a, uint64_t b, uint64_t c) { return a << 32 | b << 16 | c; };
  words.add(pack16(l.i, l.j, l.k));
  words.add(pack16(l.pad_i, l.pad_j, l.pad_k));
  for (const uint64_t address : {l.a, l.b, l.c, l.d}) words.dram(address);
  for (const uint64_t stride : {l.a_stride, l.b_stride, l.c_stride, l.d_stride}) words.add(stride);
  words.add(uint64_t{l.accumulate} | uint64_t{l.full_c} << 1 | uint64_t{l.low_d} << 2 |
            uint64_t{l.transpose_a} << 3 | uint64_t{l.transpose_b} << 4 | uint64_t{l.residual_add} << 5 |
            uint64_t{l.a_scratchpad_id} << 8 | uint64_t{l.b_scratchpad_id} << 16);
}

}  // namespace

void LoopUnroller::describe(Words& words) const {
  describe_loop(latched, words);
  words.add(uint64_t{head} << 2 | uint64_t{d_upper} << 1 | uint64_t{c_upper});
  for (const Slot& slot : slots) {
    words.add(slot.running);
    if (!slot.running) continue;
    describe_loop(slot.loop, words);
    words.origin(slot.index);
    words.add(uint64_t{slot.a_row} << 32 | slot.b_row);
    words.add(uint64_t{slot.c_row} << 32 | slot.d_row);
    uint64_t flags = 0;
    for (size_t g = 0; g < kGenerators; ++g)
      flags = flags << 2 | (slot.started[g] ? 2 : 0) | (slot.done[g] ? 1 : 0);
    words.add(flags);
    words.time(slot.free_at);
  }
  for (const Position& position : positions) {
    words.add(static_cast<uint64_t>(position.slot));
    if (position.slot < 0) continue;
    words.add(uint64_t{position.i} << 32 | position.j);
    words.add(uint64_t{position.k} << 1 | uint64_t{position.second});
  }
}

}  // namespace zomboss::gemmini::timing
