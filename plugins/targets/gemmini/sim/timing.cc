#include "plugins/targets/gemmini/sim/timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "plugins/targets/gemmini/sim/timing_execute.h"
#include "plugins/targets/gemmini/sim/timing_load.h"
#include "plugins/targets/gemmini/sim/timing_loop.h"
#include "plugins/targets/gemmini/sim/timing_store.h"
#include "plugins/targets/gemmini/sim/unroll.h"

namespace zomboss::gemmini {
namespace timing {
namespace {

// The whole unit. One cycle: engines, then the station (issue, allocate, retire), then the front end, so that
// what one part hands on is seen by the next in the following cycle.
class Unit {
 public:
  Unit(std::span<const Command> commands, const Machine& machine, const TimingParameters& parameters,
       bool record)
      : commands_(commands),
        machine_(machine),
        parameters_(parameters),
        port_(parameters_, clock_),
        banks_(machine_, clock_),
        station_(machine_, clock_),
        loops_(machine_, clock_, station_),
        decoder_(machine_),
        load_(machine_, parameters_, clock_, port_, banks_, station_, result_, record),
        execute_(machine_, parameters_, clock_, banks_, station_, result_, record),
        store_(machine_, parameters_, clock_, port_, banks_, station_, result_, record) {}

  Result<TimingResult> run() {
    for (;;) {
      if (idle()) {
        while (next_ < commands_.size() && is_fence(commands_[next_])) ++next_;
        if (next_ == commands_.size()) break;
      }
      clock_.next = kNever;
      ZB_TRY(cycle());
      ++result_.counters.steps;
      if (idle()) clock_.wake(clock_.now + 1);
      if (clock_.next == kNever) {
        return stalled();
      }
      if (clock_.next > parameters_.max_cycles) {
        return resource_exhausted(fmt::format("more than {} cycles", parameters_.max_cycles));
      }
      count_busy(clock_.next - clock_.now);
      clock_.now = clock_.next;
    }
    result_.cycles = clock_.now;
    std::stable_sort(result_.timeline.begin(), result_.timeline.end(),
                     [](const Span& a, const Span& b) { return a.start < b.start; });
    return std::move(result_);
  }

 private:
  struct Item {
    Command command;
    uint32_t index = 0;
    bool from_loop = false;
    uint64_t ready = 0;
  };
  static constexpr size_t kOutputs = 3;  // between the unroller and the station

  static bool is_fence(const Command& command) {
    return command.funct == static_cast<uint32_t>(Funct::kFence);
  }

  bool idle() const {
    return front_.empty() && outputs_.empty() && !pending_ && conv_next_ == conv_.size() && loops_.idle() &&
           station_.idle() && store_.drained();
  }

  Status stalled() const {
    if (execute_.waits_for_compute()) {
      return failed_precondition(
          fmt::format("the unit never becomes idle: after {} of {} commands, work waits for a "
                      "preload whose computation does not come",
                      next_, commands_.size()));
    }
    return internal_error(
        fmt::format("the cycle model stalls at cycle {} with {} of {} commands taken; please report "
                    "this with the command stream",
                    clock_.now, next_, commands_.size()));
  }

  Status cycle() {
    banks_.begin_cycle();
    load_.tick();
    execute_.tick();
    store_.tick();
    issue();
    ZB_TRY(allocate());
    station_.retire();
    ZB_TRY(unroll());
    offer();
    return {};
  }

  void issue() {
    if (load_.can_accept()) issue_to(Engine::kLoad, load_);
    if (execute_.can_accept()) issue_to(Engine::kExecute, execute_);
    if (store_.can_accept()) issue_to(Engine::kStore, store_);
  }
  template <typename Controller>
  void issue_to(Engine engine, Controller& controller) {
    const int slot = station_.issue(engine);
    if (slot < 0) return;
    const Op& op = station_.op(engine, slot);
    controller.accept(op, slot);
    ++result_.counters.commands[static_cast<size_t>(engine)];
  }

  Status allocate() {
    if (!pending_) {
      if (outputs_.empty()) return {};
      const Item& item = outputs_.front();
      if (item.ready > clock_.now) {
        clock_.wake(item.ready);
        return {};
      }
      Op op;
      auto decoded = decoder_.decode(item.command, item.index, item.from_loop, op);
      if (!decoded.ok()) {
        return std::move(decoded).status().with_prefix(
            fmt::format("command {} ({})", item.index, disassemble(item.command)));
      }
      outputs_.pop_front();
      clock_.wake(clock_.now + 1);
      if (!*decoded) return {};
      pending_ = op;
    }
    if (station_.allocate(*pending_)) {
      pending_.reset();
    } else {
      ++result_.counters.station_full;
    }
    return {};
  }

  // Moves one command from the front queue (or from a loop) to the station's input.
  Status unroll() {
    if (outputs_.size() >= kOutputs) return {};
    const uint64_t ready = clock_.now + parameters_.front_latency - front_delay();
    if (conv_next_ != conv_.size()) {
      outputs_.push_back({conv_[conv_next_++], conv_index_, false, ready});
      clock_.wake(clock_.now + 1);
    } else if (auto output = loops_.tick()) {
      outputs_.push_back({output->command, output->index, true, ready});
      clock_.wake(clock_.now + 1);
    }
    if (front_.empty()) return {};
    const Item item = front_.front();
    if (item.ready > clock_.now) {
      clock_.wake(item.ready);
      return {};
    }
    LoopWs probe;
    if (latch(probe, item.command)) {
      if (conv_next_ != conv_.size()) return {};
      auto taken = loops_.accept(item.command, item.index);
      if (!taken.ok()) return with_command(item, std::move(taken).status());
      if (!*taken) return {};
    } else {
      if (!loops_.idle() || conv_next_ != conv_.size()) return {};
      Status status = pass(item, ready);
      if (!status.ok()) return with_command(item, std::move(status));
    }
    front_.pop_front();
    clock_.wake(clock_.now + 1);
    return {};
  }

  // A plain command, or one of a convolution loop, whose expansion follows in the functional model's order.
  Status pass(const Item& item, uint64_t ready) {
    LoopConv probe;
    if (!latch(probe, item.command)) {
      outputs_.push_back({item.command, item.index, false, ready});
      return {};
    }
    conv_.clear();
    conv_next_ = 0;
    conv_index_ = item.index;
    return conv_unroller_.feed(item.command, [this](const Command& command) {
      conv_.push_back(command);
      return Status();
    });
  }

  static Status with_command(const Item& item, Status status) {
    return std::move(status).with_prefix(
        fmt::format("command {} ({})", item.index, disassemble(item.command)));
  }

  // The host offers its next command.
  void offer() {
    if (next_ == commands_.size() || is_fence(commands_[next_])) return;
    if (next_offer_ > clock_.now) {
      clock_.wake(next_offer_);
      return;
    }
    if (front_.size() + kOutputs >= parameters_.front_capacity && !front_.empty()) return;
    front_.push_back({commands_[next_], static_cast<uint32_t>(next_), false, clock_.now + front_delay()});
    ++next_;
    next_offer_ = clock_.now + 1 + parameters_.command_gap;
    clock_.wake(front_.back().ready);
    clock_.wake(next_offer_);
  }
  uint64_t front_delay() const { return parameters_.front_latency / 2; }

  void count_busy(uint64_t cycles) {
    auto& busy = result_.counters.busy_cycles;
    busy[0] += load_.busy() ? cycles : 0;
    busy[1] += execute_.busy() ? cycles : 0;
    busy[2] += store_.busy() ? cycles : 0;
  }

  std::span<const Command> commands_;
  const Machine machine_;
  const TimingParameters parameters_;
  Clock clock_;
  TimingResult result_;
  MemoryPort port_;
  Banks banks_;
  Station station_;
  LoopUnroller loops_;
  Decoder decoder_;
  LoadEngine load_;
  ExecuteEngine execute_;
  StoreEngine store_;

  size_t next_ = 0;
  uint64_t next_offer_ = 0;
  std::deque<Item> front_, outputs_;
  std::optional<Op> pending_;  // decoded, waits for a station entry
  Unroller conv_unroller_{machine_};
  std::vector<Command> conv_;
  size_t conv_next_ = 0;
  uint32_t conv_index_ = 0;
};

Status check_parameters(const TimingParameters& p) {
  const auto power = [](uint32_t value) { return value != 0 && (value & (value - 1)) == 0; };
  if (!power(p.beat_bytes) || !power(p.max_request_bytes) || p.max_request_bytes < p.beat_bytes) {
    return invalid_argument(
        fmt::format("timing parameters: beat of {} and requests of up to {} bytes must be powers "
                    "of two, in this order",
                    p.beat_bytes, p.max_request_bytes));
  }
  if (p.requests_in_flight == 0 || p.matmuls_in_flight == 0 || p.front_capacity == 0 ||
      p.scale_entries == 0 || p.scale_units == 0 || p.memory_latency > 1000000 || p.array_latency < 2 ||
      p.array_latency > 512) {
    return invalid_argument("timing parameters: a queue without entries, or a latency out of range");
  }
  return {};
}

}  // namespace
}  // namespace timing

Result<TimingResult> simulate_timing(std::span<const Command> commands, const Machine& machine,
                                     const TimingParameters& parameters, bool record_timeline) {
  ZB_TRY(check_machine(machine));
  ZB_TRY(timing::check_parameters(parameters));
  return timing::Unit(commands, machine, parameters, record_timeline).run();
}

}  // namespace zomboss::gemmini
