#include "plugins/targets/gemmini/sim/timing_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace zomboss::gemmini::timing {
namespace {

bool is_fence(const Command& command) {
  return command.funct == static_cast<uint32_t>(Funct::kFence);
}

Context context_of(const Machine& machine, const TimingParameters& parameters, Clock& clock, MemoryPort& port,
                   Banks& banks, Station& station, TimingCounters& counters, Recorder& recorder) {
  return {machine, parameters, clock, port, banks, station, counters, recorder};
}

// Spans come by their ends, so few of them have far to go. Stable.
void sort_by_start(std::vector<Span>& spans) {
  size_t moves = 0;
  for (size_t n = 1; n < spans.size(); ++n) {
    const Span span = spans[n];
    size_t at = n;
    for (; at > 0 && spans[at - 1].start > span.start; --at) spans[at] = spans[at - 1];
    spans[at] = span;
    moves += n - at;
    if (moves <= 32 * spans.size()) continue;
    std::stable_sort(spans.begin(), spans.end(),
                     [](const Span& a, const Span& b) { return a.start < b.start; });
    return;
  }
}

}  // namespace

Unit::Unit(std::span<const Command> commands, const Machine& machine, const TimingParameters& parameters,
           bool record)
    : commands_(commands),
      machine_(machine),
      parameters_(parameters),
      port_(parameters_, clock_),
      banks_(machine_, clock_),
      station_(machine_, clock_),
      throttle_(machine_, station_),
      loops_(machine_, clock_, throttle_),
      convs_(machine_, clock_, throttle_),
      decoder_(machine_),
      load_(context_of(machine_, parameters_, clock_, port_, banks_, station_, counters_, recorder_)),
      execute_(context_of(machine_, parameters_, clock_, port_, banks_, station_, counters_, recorder_)),
      store_(context_of(machine_, parameters_, clock_, port_, banks_, station_, counters_, recorder_),
             execute_),
      memo_(parameters.skip_repetitions ? commands : std::span<const Command>(),
            parameters.max_request_bytes) {
  recorder_.on = record;
}

Result<TimingResult> Unit::run() {
  for (;;) {
    if (at_boundary_) checkpoint();
    if (idle()) {
      while (next_is_fence()) ++next_command;
      front_due = clock_.now;
      if (position() == commands_.size()) break;
    }
    clock_.next = kNever;
    ZB_TRY(cycle());
    ++counters_.steps;
    if (idle()) clock_.wake(clock_.now + 1);
    if (clock_.next == kNever) return stalled();
    if (clock_.next + recorder_.cycle_offset > parameters_.max_cycles) {
      return resource_exhausted(fmt::format("more than {} cycles", parameters_.max_cycles));
    }
    count(clock_.next - clock_.now);
    clock_.now = clock_.next;
  }
  note_events(0, clock_.now);
  TimingResult result;
  result.cycles = cycles();
  result.counters = counters_;
  result.timeline = std::move(recorder_.spans);
  sort_by_start(result.timeline);
  return result;
}

bool Unit::idle() const {
  return offered.empty() && unrolled.empty() && !waiting && loops_.idle() && convs_.idle() &&
         station_.idle() && store_.drained();
}

bool Unit::next_is_fence() const {
  return position() < commands_.size() && is_fence(commands_[position()]);
}

Status Unit::stalled() const {
  if (execute_.waits_for_compute()) {
    return failed_precondition(
        fmt::format("the unit never becomes idle: after {} of {} commands, work waits for a "
                    "preload whose computation does not come",
                    position(), commands_.size()));
  }
  return internal_error(
      fmt::format("the cycle model stalls at cycle {} with {} of {} commands taken; please report "
                  "this with the command stream",
                  cycles(), position(), commands_.size()));
}

Status Unit::cycle() {
  tick_engines();
  issue();
  if (waiting || !unrolled.empty()) ZB_TRY(allocate());
  station_.retire();
  return tick_front();
}

// The front end is asked like an engine. What it waits for: room behind it, and commands of loops to
// complete.
Status Unit::tick_front() {
  const uint64_t completed = throttle_.completed();
  if (front_due > clock_.now && completed == front_seen) {
    clock_.wake(front_due);
    return {};
  }
  const uint64_t before = clock_.next;
  clock_.next = kNever;
  ZB_TRY(unroll(completed != front_seen));
  offer();
  front_seen = completed;
  front_due = clock_.next;
  clock_.next = std::min(before, clock_.next);
  return {};
}

// An engine is asked when it wanted to be, or when something that it waits for came from outside.
void Unit::tick_engines() {
  const auto tick = [this](Engine engine, auto& controller) {
    const uint64_t before = clock_.next;
    clock_.next = kNever;
    controller.tick();
    due[index_of(engine)] = clock_.next;
    clock_.next = std::min(before, clock_.next);
    engine_events[index_of(engine)] = controller.events();
  };
  banks_.begin_cycle();
  if (due[0] <= clock_.now || port_.take_news(MemoryPort::kRead)) {
    tick(Engine::kLoad, load_);
  } else {
    clock_.wake(due[0]);
  }
  if (due[1] <= clock_.now || (banks_.written() & execute_.sensitive_banks()) != 0) {
    tick(Engine::kExecute, execute_);
  } else {
    clock_.wake(due[1]);
  }
  if (due[2] <= clock_.now || port_.take_news(MemoryPort::kWrite)) {
    tick(Engine::kStore, store_);
  } else {
    clock_.wake(due[2]);
  }
}

void Unit::issue() {
  if (load_.can_accept()) issue_to(Engine::kLoad, load_);
  if (execute_.can_accept()) issue_to(Engine::kExecute, execute_);
  if (store_.can_accept()) issue_to(Engine::kStore, store_);
}

template <typename Controller>
void Unit::issue_to(Engine engine, Controller& controller) {
  const int slot = station_.issue(engine);
  if (slot < 0) return;
  controller.accept(station_.op(engine, slot), slot);
  if (controller.sees_commands()) due[index_of(engine)] = std::min(due[index_of(engine)], clock_.now + 1);
  ++counters_.commands[index_of(engine)];
}

Status Unit::allocate() {
  if (!waiting) {
    if (unrolled.empty()) return {};
    const Item& item = unrolled.front();
    if (item.ready > clock_.now) {
      clock_.wake(item.ready);
      return {};
    }
    auto known = decoder_.decode(item.command, static_cast<uint32_t>(item.index), item.from_loop, decoded);
    if (!known.ok()) return with_command(item.index, std::move(known).status());
    unrolled.pop_front();
    front_due = clock_.now;
    clock_.wake(clock_.now + 1);
    if (!*known) return {};
    waiting = true;
  }
  if (station_.allocate(decoded)) waiting = false;
  return {};
}

// Moves one command from the offered ones (or from a loop) to the station's input.
Status Unit::unroll(bool loops_news) {
  if (unrolled.size() >= kOutputs) return {};
  const uint64_t ready = clock_.now + parameters_.front_latency - front_delay();
  if (!loops_.idle() || !convs_.idle()) tick_loops(ready, loops_news);
  if (offered.empty()) return {};
  const Item& item = offered.front();
  if (item.ready > clock_.now) {
    clock_.wake(item.ready);
    return {};
  }
  bool taken = false;
  Status status = take(item, ready, taken);
  if (!status.ok()) return with_command(item.index, std::move(status));
  if (!taken) return {};
  offered.pop_front();
  clock_.wake(clock_.now + 1);
  return {};
}

// Loops of one kind overlap, everything else waits for them. Convolutions stand before products in the
// pipeline.
Status Unit::take(const Item& item, uint64_t ready, bool& taken) {
  const auto index = static_cast<uint32_t>(item.index);
  if (is_loop_conv(item.command.funct)) {
    taken = convs_.can_accept();
    if (!taken) return {};
    loops_due = clock_.now + 1;
    return convs_.accept(item.command, index);
  }
  if (!convs_.idle()) return {};
  if (is_loop_ws(item.command.funct)) {
    taken = loops_.can_accept();
    if (!taken) return {};
    loops_due = clock_.now + 1;
    return loops_.accept(item.command, index);
  }
  taken = loops_.idle();
  if (taken) unrolled.push_back({item.command, item.index, false, ready});
  return {};
}

void Unit::tick_loops(uint64_t ready, bool news) {
  loops_poked |= news;
  if (loops_due > clock_.now && !loops_poked) {
    clock_.wake(loops_due);
    return;
  }
  loops_poked = false;
  const uint64_t before = clock_.next;
  clock_.next = kNever;
  LoopOutput output;
  // What a convolution emits must pass the other unroller, which is busy with its own loops.
  const bool emitted = loops_.idle() ? convs_.tick(output) : loops_.tick(output);
  if (emitted) unrolled.push_back({output.command, output.index, true, ready});
  loops_due = clock_.next;
  clock_.next = std::min(before, clock_.next);
}

Status Unit::with_command(uint64_t index, Status status) const {
  const uint64_t real = index + recorder_.command_offset;
  return std::move(status).with_prefix(fmt::format("command {} ({})", real, disassemble(commands_[real])));
}

// The host offers its next command.
void Unit::offer() {
  const uint64_t at = position();
  if (at == commands_.size() || is_fence(commands_[at])) return;
  if (next_offer > clock_.now) {
    clock_.wake(next_offer);
    return;
  }
  if (offered.size() + kOutputs >= parameters_.front_capacity && !offered.empty()) return;
  offered.push_back({commands_[at], next_command, false, clock_.now + front_delay()});
  ++next_command;
  next_offer = clock_.now + 1 + parameters_.command_gap;
  clock_.wake(offered.back().ready);
  clock_.wake(next_offer);
  at_boundary_ = at + 1 == memo_.wanted();
}

// The next `span` cycles, in which nothing changes.
void Unit::count(uint64_t span) {
  counters_.busy_cycles[0] += load_.busy() ? span : 0;
  counters_.busy_cycles[2] += store_.busy() ? span : 0;
  // The array runs empty without an event.
  const uint64_t empty_at = execute_.mesh_empty_at();
  const uint64_t computing = execute_.running_step() ? span
                             : empty_at > clock_.now ? std::min(span, empty_at - clock_.now)
                                                     : 0;
  counters_.busy_cycles[1] += computing;
  auto& external = counters_.external;
  external[kLoadEntries] += station_.entries_used(Engine::kLoad) * span;
  external[kStoreEntries] += station_.entries_used(Engine::kStore) * span;
  external[kExecuteEntries] += station_.entries_used(Engine::kExecute) * span;
  external[kReadLatency] += port_.requests_in_flight(MemoryPort::kRead) * span;
  external[kWriteLatency] += port_.requests_in_flight(MemoryPort::kWrite) * span;

  const auto bit = [](bool holds, Event event) { return uint64_t{holds} << event; };
  const uint64_t events = engine_events[0] | engine_events[1] | engine_events[2] |
                          bit(waiting, kStationFull) | bit(!station_.idle(), kStationActive) |
                          bit(!loops_.idle(), kLoopActive);
  static constexpr Event kBusy[] = {kNoEvent,     kLoadOnly,    kStoreOnly,    kLoadStore,
                                    kExecuteOnly, kLoadExecute, kStoreExecute, kLoadStoreExecute};
  const size_t moving = (load_.has_commands() ? 1 : 0) | (store_.has_commands() ? 2 : 0);
  const bool executes = computing != 0 || execute_.has_commands();
  note_events(events | bit(true, kBusy[moving | (executes ? 4 : 0)]), clock_.now);
  if (executes && computing != span && !execute_.has_commands()) {
    note_events(events | bit(true, kBusy[moving]), clock_.now + computing);
  }
}

// Events hold from `cycle` on. A sum takes the cycle in which its event ends, less that in which it began.
void Unit::note_events(uint64_t events, uint64_t cycle) {
  for (uint64_t left = events ^ events_; left != 0; left &= left - 1) {
    const auto event = static_cast<size_t>(std::countr_zero(left));
    counters_.events[event] += (events >> event & 1) != 0 ? -cycle : cycle;
  }
  events_ = events;
}

}  // namespace zomboss::gemmini::timing
