// The unit's state as a whole: skipping of known stretches.
#include "plugins/targets/gemmini/sim/timing_unit.h"

namespace zomboss::gemmini::timing {

// Between two chunks of the program: skips what is known to follow.
void Unit::checkpoint() {
  at_boundary_ = false;
  execute_.settle();
  note_events(0, clock_.now);
  const uint64_t steps = counters_.steps;
  Memo<UnitState>::Totals totals = {cycles(), position(), counters_};
  const UnitState* after = memo_.visit(
      totals, recorder_.spans, [this] { return describe(); }, [this] { return snapshot(); });
  if (after == nullptr) return;
  restore(*after);
  recorder_.cycle_offset = totals.cycles - clock_.now;
  recorder_.command_offset = totals.commands - next_command;
  counters_ = totals.counters;
  counters_.steps = steps;
}

std::vector<uint64_t> Unit::describe() const {
  Words words(clock_.now, next_command, parameters_.max_request_bytes, recorder_.on);
  words.time(next_offer);
  for (const Ring<Item>* items : {&offered, &unrolled}) {
    words.add(items->size());
    for (size_t n = 0; n < items->size(); ++n) {
      const Item& item = (*items)[n];
      const SeenCommand seen = see(item.command, parameters_.max_request_bytes);
      for (const uint64_t word : {seen.funct, seen.rs1, seen.rs2}) words.add(word);
      words.origin(item.index);
      words.add(item.from_loop);
      words.time(item.ready);
    }
  }
  for (const uint64_t events : engine_events) words.add(events);
  words.add(waiting);
  if (waiting) timing::describe(decoded, words);
  port_.describe(words);
  banks_.describe(words);
  Station::Names names;
  station_.describe(words, names);
  loops_.describe(words);
  convs_.describe(words);
  throttle_.describe(words);
  decoder_.describe(words);
  load_.describe(words, names);
  execute_.describe(words, names);
  store_.describe(words, names);
  return words.take();
}

UnitState Unit::snapshot() const {
  return {clock_.now,       *this,          port_.state(),    banks_.state(),
          station_.state(), loops_.state(), convs_.state(),   throttle_.state(),
          decoder_.state(), load_.state(),  execute_.state(), store_.state()};
}

void Unit::restore(const UnitState& state) {
  clock_.now = state.now;
  static_cast<FrontState&>(*this) = state.front;
  port_.restore(state.port);
  banks_.restore(state.banks);
  station_.restore(state.station);
  loops_.restore(state.loops);
  convs_.restore(state.convs);
  throttle_.restore(state.throttle);
  decoder_.restore(state.configuration);
  load_.restore(state.load);
  execute_.restore(state.execute);
  store_.restore(state.store);
}

}  // namespace zomboss::gemmini::timing
