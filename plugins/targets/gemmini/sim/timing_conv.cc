#include "plugins/targets/gemmini/sim/timing_conv.h"

#include <algorithm>

namespace zomboss::gemmini::timing {
namespace {

Engine engine_of(const Command& command) {
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kMvout:
      return Engine::kStore;
    case Funct::kPreload:
    case Funct::kComputeFlip:
    case Funct::kComputeStay:
      return Engine::kExecute;
    case Funct::kConfig:
      return config_kind(command) == ConfigKind::kExecute ? Engine::kExecute
             : config_kind(command) == ConfigKind::kLoad  ? Engine::kLoad
                                                          : Engine::kStore;
    default:
      return Engine::kLoad;
  }
}

}  // namespace

Status ConvUnroller::accept(const Command& command, uint32_t index) {
  // The configuration words go to a free loop; the run command starts it.
  const size_t target = slots[head].running ? 1 - head : head;
  Slot& slot = slots[target];
  latch(latched, command);
  clock_.wake(clock_.now + 1);
  if (command.funct != static_cast<uint32_t>(Funct::kLoopConv)) return {};
  const uint32_t row = upper_results ? machine_.loop_accumulator_rows() : 0;
  ZB_ASSIGN(ConvParts parts,
            split_loop_conv(latched, machine_, {.d_row = row, .c_row = row, .upper_half = target == 1}));
  slot = {};
  slot.running = true;
  slot.loop = latched;
  slot.index = index;
  slot.upper_results = upper_results;
  slot.parts = std::make_shared<const ConvParts>(std::move(parts));
  upper_results ^= latched.output != 0;
  return {};
}

const std::vector<Command>& ConvUnroller::commands_of(Generator generator, const Slot& slot) const {
  switch (generator) {
    case kStore:
      return slot.parts->store;
    case kExecute:
      return slot.parts->execute;
    case kLoadBias:
      return slot.parts->bias;
    case kLoadWeights:
      return slot.parts->weights;
    default:
      return slot.parts->input;
  }
}

bool ConvUnroller::may_start(Generator generator, const Slot& slot) const {
  if (!slot.running || slot.started[generator]) return false;
  if (generator == kExecute)
    return slot.started[kLoadBias] && slot.started[kLoadWeights] && slot.started[kLoadInput];
  if (generator == kStore) return slot.started[kExecute];
  return true;
}

void ConvUnroller::start_generators() {
  // Decided on the state at the start of the cycle, so a chain of starts takes a cycle each.
  std::array<int, kGenerators> starts;
  for (size_t g = 0; g < kGenerators; ++g) {
    starts[g] = -1;
    if (positions[g].slot >= 0) continue;
    for (const size_t candidate : {head, 1 - head}) {
      if (starts[g] < 0 && may_start(static_cast<Generator>(g), slots[candidate]))
        starts[g] = static_cast<int>(candidate);
    }
  }
  for (size_t g = 0; g < kGenerators; ++g) {
    if (starts[g] < 0) continue;
    Slot& slot = slots[static_cast<size_t>(starts[g])];
    slot.started[g] = true;
    clock_.wake(clock_.now + 1);
    if (commands_of(static_cast<Generator>(g), slot).empty()) {
      slot.done[g] = true;
    } else {
      positions[g] = {starts[g], 0};
    }
  }
}

// A loop that waits to compute has the way to memory for itself.
bool ConvUnroller::waits_for_previous(size_t slot) const {
  const int computing = positions[kExecute].slot;
  return computing >= 0 && static_cast<size_t>(computing) != slot &&
         !loads_done(slots[static_cast<size_t>(computing)]);
}

bool ConvUnroller::ready(Generator generator) const {
  const Position& at = positions[generator];
  if (at.slot < 0) return false;
  const auto index = static_cast<size_t>(at.slot);
  const Slot& slot = slots[index];
  if (generator == kExecute && !loads_done(slot)) return false;
  if (generator == kStore && !slot.done[kExecute]) return false;
  if (generator != kExecute && generator != kStore && waits_for_previous(index)) return false;
  return !throttle_.full(engine_of(commands_of(generator, slot)[at.next]));
}

bool ConvUnroller::tick(LoopOutput& output) {
  if (idle()) return false;
  retire_slots();
  bool emitted = false;
  for (size_t g = 0; g < kGenerators && !emitted; ++g) {
    const auto generator = static_cast<Generator>(g);
    if (!ready(generator)) continue;
    Position& at = positions[g];
    const Slot& slot = slots[static_cast<size_t>(at.slot)];
    const auto& commands = commands_of(generator, slot);
    output = {commands[at.next], slot.index};
    throttle_.emit(engine_of(output.command));
    if (++at.next == commands.size()) finish(generator);
    clock_.wake(clock_.now + 1);
    emitted = true;
  }
  start_generators();
  return emitted;
}

void ConvUnroller::finish(Generator generator) {
  slots[static_cast<size_t>(positions[generator].slot)].done[generator] = true;
  positions[generator] = {};
}

void ConvUnroller::retire_slots() {
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

void ConvUnroller::describe(Words& words) const {
  // The words of a loop are its commands as encoded.
  const auto loop_words = [&words](const LoopConv& loop) {
    for (const Command& command : loop_conv(loop)) {
      const bool addresses = command.funct == static_cast<uint32_t>(Funct::kLoopConvAddressWO) ||
                             command.funct == static_cast<uint32_t>(Funct::kLoopConvAddressBI);
      if (addresses) {
        words.dram(command.rs1);
        words.dram(command.rs2);
      } else {
        words.add(command.rs1);
        words.add(command.rs2);
      }
    }
  };
  loop_words(latched);
  words.add(uint64_t{head} << 1 | uint64_t{upper_results});
  for (const Slot& slot : slots) {
    words.add(slot.running);
    if (!slot.running) continue;
    loop_words(slot.loop);
    words.origin(slot.index);
    uint64_t flags = slot.upper_results ? 1 : 0;
    for (size_t g = 0; g < kGenerators; ++g)
      flags = flags << 2 | (slot.started[g] ? 2 : 0) | (slot.done[g] ? 1 : 0);
    words.add(flags);
    words.time(slot.free_at);
  }
  for (const Position& position : positions) {
    words.add(static_cast<uint64_t>(position.slot));
    if (position.slot >= 0) words.add(position.next);
  }
}

}  // namespace zomboss::gemmini::timing
