// Mutations of correct schedules: each one is caught by the schedule check. The example's tiles divide the
// axes: in ragged tiles some loads only repeat what is there already.
#include <gtest/gtest.h>

#include <functional>

#include "plugins/targets/gemmini/matmul/check.h"
#include "plugins/targets/gemmini/matmul/check_loop.h"
#include "plugins/targets/gemmini/matmul/schedule.h"
#include "plugins/targets/gemmini/matmul/tests/graph_builder.h"
#include "plugins/targets/gemmini/matmul/transform.h"

namespace zomboss::gemmini {
namespace {

using Kind = Operation::Kind;

struct Example {
  Machine machine = default_machine();
  Problem problem;
  Schedule schedule;

  Status check() const { return check_schedule(problem, problem.forms[0], machine, schedule); }
  // Mutates a copy and expects it to be refused with a message that has `words`.
  void expect_caught(const std::function<void(Schedule&)>& mutate, const std::string& words) const {
    Schedule changed = schedule;
    mutate(changed);
    const Status status = check_schedule(problem, problem.forms[0], machine, changed);
    EXPECT_FALSE(status.ok());
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  }
};

Example make_example(bool bias = true, bool scattered = false) {
  GraphBuilder graph;
  const uint32_t a = graph.parameter({64, 64}), b = graph.parameter({64, 96});
  uint32_t c = graph.matmul(a, b, {1}, {0});
  if (bias) c = graph.bias(c, graph.parameter({96}, wire::DType::S32), {1});
  c = graph.quantize(c, 0.01);
  if (scattered) graph.transpose(graph.reshape(c, {64, 8, 12}), {2, 0, 1});
  Example example;
  example.problem = *recognise(graph.finish(), example.machine);
  Mapping mapping;
  mapping.tile_m = 2;
  mapping.tile_n = 3;
  mapping.tile_k = 2;
  mapping.acc_buffers = 2;
  mapping.buffering_a = mapping.buffering_b = Buffering::kDouble;
  mapping.load_width_a = mapping.load_width_b = 2;
  mapping.store_schedule = StoreSchedule::kLate;
  mapping.store_width = 3;
  example.schedule = build_primitive(example.problem, example.problem.forms[0], mapping, example.machine);
  apply_mapping(example.schedule, mapping);
  return example;
}

size_t nth(const Schedule& schedule, Kind kind, size_t n) {
  for (size_t i = 0; i < schedule.operations.size(); ++i)
    if (schedule.operations[i].kind == kind && n-- == 0) return i;
  ADD_FAILURE() << "no such operation";
  return 0;
}

TEST(ScheduleCheck, PassesWhatTheLoweringMakes) {
  EXPECT_TRUE(make_example().check().ok()) << make_example().check().message();
  EXPECT_TRUE(make_example(false, true).check().ok()) << make_example(false, true).check().message();
}

TEST(ScheduleCheck, CatchesEveryDroppedOperation) {
  for (bool scattered : {false, true}) {
    const Example example = make_example(!scattered, scattered);
    for (size_t i = 0; i < example.schedule.operations.size(); i += scattered ? 7 : 1) {
      Schedule changed = example.schedule;
      changed.operations.erase(changed.operations.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(check_schedule(example.problem, example.problem.forms[0], example.machine, changed).ok())
          << i;
    }
  }
}

TEST(ScheduleCheck, CatchesEveryRepeatedStepAndStore) {
  const Example example = make_example();
  for (size_t i = 0; i < example.schedule.operations.size(); ++i) {
    if (example.schedule.operations[i].kind == Kind::kLoad)
      continue;  // loading again before any use is caught, too
    Schedule changed = example.schedule;
    changed.operations.insert(changed.operations.begin() + static_cast<std::ptrdiff_t>(i),
                              changed.operations[i]);
    EXPECT_FALSE(check_schedule(example.problem, example.problem.forms[0], example.machine, changed).ok())
        << i;
  }
}

TEST(ScheduleCheck, CatchesAMissingLoad) {
  make_example().expect_caught(
      [](Schedule& s) {
        const auto at = s.operations.begin() + static_cast<std::ptrdiff_t>(nth(s, Kind::kLoad, 0));
        s.operations.erase(at);
      },
      "is not what the step needs");
}

TEST(ScheduleCheck, CatchesSwappedCommands) {
  make_example().expect_caught(  // a step before its load
      [](Schedule& s) {
        std::swap(s.operations[nth(s, Kind::kLoad, 0)], s.operations[nth(s, Kind::kStep, 0)]);
      },
      "is not what the step needs");
  make_example().expect_caught(  // a store before the last step
      [](Schedule& s) {
        const size_t store = nth(s, Kind::kStore, 0);
        size_t step = store;
        while (s.operations[step].kind != Kind::kStep || s.operations[step].c_row != s.operations[store].row)
          --step;
        std::swap(s.operations[store], s.operations[step]);
      },
      "");
}

TEST(ScheduleCheck, CatchesOverlappingBuffers) {
  make_example().expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kLoad, 1)].row += 1; }, "");
  make_example().expect_caught(  // a tile of B over one of A
      [](Schedule& s) {
        uint32_t a_row = 0;
        for (Operation& operation : s.operations) {
          if (operation.kind != Kind::kLoad) continue;
          if (operation.stream == kStreamA) a_row = operation.row;
          if (operation.stream == kStreamB) operation.row = a_row;
        }
      },
      "");
}

TEST(ScheduleCheck, CatchesWrongPlaces) {
  const Example example = make_example();
  example.expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kLoad, 0)].dram += 1; }, "");
  example.expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kStore, 0)].dram += 16; }, "");
  example.expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kStore, 0)].dram = 0x1000; },
                        "not inside a buffer");
  example.expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kStore, 0)].dram = kDramBase; },
                        "an input");
  example.expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kLoad, 0)].row = 1u << 20; }, "outside");
  example.expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kStep, 0)].c_row = 1u << 20; },
                        "outside");
  example.expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kStep, 1)].c_row += 16; }, "");
  example.expect_caught([](Schedule& s) { s.streams[kStreamA].stride_bytes += 1; }, "");
}

TEST(ScheduleCheck, CatchesWrongAccumulation) {
  make_example(false).expect_caught(
      [](Schedule& s) { s.operations[nth(s, Kind::kStep, 0)].accumulate = true; }, "holds no bias");
  make_example(true).expect_caught(
      [](Schedule& s) { s.operations[nth(s, Kind::kStep, 0)].accumulate = false; }, "");
  make_example(false).expect_caught(
      [](Schedule& s) {
        for (Operation& operation : s.operations) operation.accumulate = false;
      },
      "before they were stored");
  make_example().expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kStep, 0)].flip = false; },
                               "does not hold");
  make_example().expect_caught(  // stale weights
      [](Schedule& s) {
        size_t flips = 0;
        for (Operation& operation : s.operations)
          if (operation.kind == Kind::kStep && operation.flip && ++flips == 2) operation.flip = false;
      },
      "");
}

TEST(ScheduleCheck, CatchesReadsOfDramBeforeAFence) {
  make_example(false, true)
      .expect_caught(
          [](Schedule& s) {
            std::erase_if(s.operations, [](const Operation& each) { return each.kind == Kind::kFence; });
          },
          "without a fence");
}

TEST(ScheduleCheck, CatchesMovesThatTheHardwareCannotMake) {
  const Example example = make_example();
  example.expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kLoad, 0)].cols = 65; }, "a move of");
  example.expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kLoad, 0)].rows = 17; }, "a move of");
  example.expect_caught([](Schedule& s) { s.operations[nth(s, Kind::kStep, 0)].rows = 17; }, "a step of");
}

// Ragged in every direction, several tiles along each, a bias.
Schedule loop_example() {
  GraphBuilder graph;
  const uint32_t c = graph.matmul(graph.parameter({70, 90}), graph.parameter({90, 100}), {1}, {0});
  graph.quantize(graph.bias(c, graph.parameter({100}, wire::DType::S32), {1}), 0.01);
  const Machine machine = default_machine();
  const Problem problem = *recognise(graph.finish(), machine);
  Mapping mapping;
  mapping.tile_m = 3;
  mapping.tile_n = 4;
  mapping.tile_k = 2;
  mapping = as_loop(mapping);
  return build_primitive(problem, problem.forms[0], mapping, machine);
}

TEST(LoopCheck, PassesWhatTheHardwareUnrolls) {
  EXPECT_TRUE(check_loops(loop_example()).ok()) << check_loops(loop_example()).message();
}

TEST(LoopCheck, CatchesMovesThatTheHardwareWouldNotMake) {
  const Schedule good = loop_example();
  size_t moves = 0;
  for (size_t i = 0; i < good.operations.size(); ++i) {
    if (good.operations[i].kind == Kind::kStep) continue;
    ++moves;
    for (int change = 0; change < 4; ++change) {
      Schedule bad = good;
      Operation& move = bad.operations[i];
      if (change == 0) move.dram += 16;
      if (change == 1) --move.rows;
      if (change == 2) ++move.cols;
      if (change == 3) bad.operations.erase(bad.operations.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(check_loops(bad).ok()) << "operation " << i << " change " << change;
    }
  }
  EXPECT_GT(moves, 100u);
}

TEST(LoopCheck, CatchesWrongPads) {
  for (int change = 0; change < 3; ++change) {
    Schedule bad = loop_example();
    Tile& last = bad.tiles.back();
    ++(change == 0 ? last.pad_rows : change == 1 ? last.pad_cols : last.pad_depth);
    EXPECT_FALSE(check_loops(bad).ok()) << change;
  }
}

}  // namespace
}  // namespace zomboss::gemmini
