// The kernel check catches every single change of a right kernel that matters.
#include <gtest/gtest.h>

#include "plugins/targets/gemmini/conv/check.h"
#include "plugins/targets/gemmini/conv/tests/conv_run.h"

namespace zomboss::gemmini::conv {
namespace {

struct Kernel {
  std::string name;
  ConvCase layer;
  Mapping mapping;
};

// Small layers in which every loaded row is needed.
std::vector<Kernel> kernels() {
  ConvCase plain;
  plain.rows = 5;
  plain.cols = 6;
  plain.in_channels = 20;
  plain.out_channels = 33;
  Mapping im2col;
  im2col.tile_rows = 2;
  im2col.tile_cols = 6;
  im2col.tile_k = 16;
  im2col.tile_n = 32;
  im2col.tile_kernel_rows = im2col.tile_kernel_cols = 3;
  Mapping direct = im2col;
  direct.interface = Interface::kDirect;
  direct.tile_k = 32;
  direct.load_width_a = 2;
  direct.store_width = 2;
  direct.acc_buffers = 2;
  direct.buffering_a = direct.buffering_b = Buffering::kDouble;
  direct.store_schedule = StoreSchedule::kDeferred;
  ConvCase first = plain;
  first.in_channels = 3;
  first.bias = "";
  Mapping taps = direct;
  taps.tile_k = 16;
  taps.load_width_a = 1;
  taps.taps_per_step = 3;
  Mapping mixed = taps;  // 16 channels tap by tap, then 4 of them with three taps a step
  ConvCase depthwise = plain;
  depthwise.groups = 20;
  depthwise.in_channels = depthwise.out_channels = 1;
  Mapping diagonal = direct;
  diagonal.tile_k = diagonal.tile_n = 16;
  diagonal.load_width_a = diagonal.store_width = 1;
  ConvCase turned = plain;
  turned.in_channels = turned.out_channels = 3;
  turned.rows = turned.cols = 4;
  turned.input_order = turned.output_order = "bfyx";
  Mapping small = im2col;
  small.tile_cols = 4;
  small.tile_n = 16;
  ConvCase wide = plain;
  wide.quantizes = false;
  Mapping full = direct;
  full.store_width = 1;
  return {{"im2col", plain, im2col}, {"direct", plain, direct},          {"taps", first, taps},
          {"mixed", plain, mixed},   {"depthwise", depthwise, diagonal}, {"turned", turned, small},
          {"full width", wide, full}};
}

bool accepts(const Problem& problem, const Kernel& kernel, const Machine& machine,
             const std::vector<Command>& commands) {
  const Status status = check_kernel(problem, problem.forms[kernel.mapping.form], machine, commands);
  if (!status.ok()) {
    EXPECT_NE(status.message().find("kernel check failed"), std::string::npos) << status.message();
  }
  return status.ok();
}

// A change that the check does not mind is right all the same: zeros that another tile left there, say.
// Returns whether the check accepts it.
bool refused_or_right(const Problem& problem, const Kernel& kernel, const Machine& machine,
                      const std::vector<Command>& commands) {
  if (!accepts(problem, kernel, machine, commands)) return false;
  expect_output(kernel.layer, problem, kernel.mapping, machine, commands);
  return true;
}

TEST(ConvCheck, EveryCommandIsNeeded) {
  const Machine machine = default_machine();
  for (const Kernel& kernel : kernels()) {
    SCOPED_TRACE(kernel.name);
    const Problem problem = problem_of(kernel.layer, machine);
    const auto commands = lower_mapping(problem, kernel.mapping, machine);
    ASSERT_TRUE(commands.ok()) << commands.status().message();
    ASSERT_TRUE(accepts(problem, kernel, machine, *commands));
    size_t needless = 0;
    for (size_t i = 0; i < commands->size(); ++i) {
      SCOPED_TRACE(disassemble((*commands)[i]));
      std::vector<Command> without = *commands;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
      needless += refused_or_right(problem, kernel, machine, without) ? 1 : 0;
    }
    EXPECT_LT(needless, commands->size() / 5);
  }
}

TEST(ConvCheck, EveryMoveGoesWhereItMust) {
  const Machine machine = default_machine();
  for (const Kernel& kernel : kernels()) {
    SCOPED_TRACE(kernel.name);
    const Problem problem = problem_of(kernel.layer, machine);
    const auto commands = lower_mapping(problem, kernel.mapping, machine);
    ASSERT_TRUE(commands.ok());
    size_t accepted = 0, tried = 0;
    for (size_t i = 0; i < commands->size(); ++i) {
      const Command original = (*commands)[i];
      const bool moves =
          load_state_of(original.funct) >= 0 || original.funct == static_cast<uint32_t>(Funct::kMvout);
      if (!moves) continue;
      std::vector<Command> changed = *commands;
      const auto try_change = [&](const char* what, Command command) {
        changed[i] = command;
        SCOPED_TRACE(testing::Message() << i << " " << what << ": " << disassemble(original));
        accepted += refused_or_right(problem, kernel, machine, changed) ? 1 : 0;
        ++tried;
      };
      Command other = original;
      other.rs1 = original.rs1 == 0 ? 0x100000 : original.rs1 + 1;  // zeros become pixels
      try_change("elsewhere in DRAM", other);
      if (original.rs1 != 0) {
        other.rs1 = 0;
        try_change("zeros", other);
      }
      Operand local = decode_operand(original.rs2);
      if (local.rows > 1) {
        --local.rows;
        try_change("a row less", {original.funct, original.rs1, encode_operand(local)});
        ++local.rows;
      }
      if (local.cols > 1) {
        --local.cols;
        try_change("a column less", {original.funct, original.rs1, encode_operand(local)});
      }
    }
    EXPECT_LT(accepted, tried / 5);
  }
}

TEST(ConvCheck, EveryStepTakesItsOperands) {
  const Machine machine = default_machine();
  for (const Kernel& kernel : kernels()) {
    SCOPED_TRACE(kernel.name);
    const Problem problem = problem_of(kernel.layer, machine);
    const auto commands = lower_mapping(problem, kernel.mapping, machine);
    ASSERT_TRUE(commands.ok());
    for (size_t i = 0; i + 1 < commands->size(); ++i) {
      if ((*commands)[i].funct != static_cast<uint32_t>(Funct::kPreload)) continue;
      std::vector<Command> changed = *commands;
      changed[i].rs2 ^= kAccumulateBit;  // of the result's address
      EXPECT_FALSE(accepts(problem, kernel, machine, changed)) << i;
      changed = *commands;
      ++changed[i].rs2;  // the next accumulator row
      EXPECT_FALSE(accepts(problem, kernel, machine, changed)) << i;
      changed = *commands;
      changed[i + 1].rs1 += 1;  // the next row of pixels; of zeros, the same
      refused_or_right(problem, kernel, machine, changed);
      changed = *commands;
      changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i) + 2, {changed[i], changed[i + 1]});
      EXPECT_FALSE(accepts(problem, kernel, machine, changed)) << i;
    }
  }
}

TEST(ConvCheck, StoresScaleAsTheLayerSays) {
  const Machine machine = default_machine();
  Kernel kernel = kernels()[0];
  const Problem problem = problem_of(kernel.layer, machine);
  const auto commands = lower_mapping(problem, kernel.mapping, machine);
  ASSERT_TRUE(commands.ok());
  kernel.layer.relu = true;
  EXPECT_FALSE(accepts(problem_of(kernel.layer, machine), kernel, machine, *commands));
  kernel.layer.relu = false;
  kernel.layer.scale = 0.02;
  EXPECT_FALSE(accepts(problem_of(kernel.layer, machine), kernel, machine, *commands));
}

TEST(ConvCheck, LoopsAreCheckedAsWhatTheyUnrollTo) {
  const Machine machine = default_machine();
  Kernel kernel = kernels()[1];
  kernel.mapping = as_loop(kernel.mapping);
  kernel.mapping.tile_k = 16;
  const Problem problem = problem_of(kernel.layer, machine);
  const auto commands = lower_mapping(problem, kernel.mapping, machine);
  ASSERT_TRUE(commands.ok()) << commands.status().message();
  // Words latch: what the run before set already may be left out.
  for (size_t i = 0; i < commands->size(); ++i) {
    std::vector<Command> changed = *commands;
    if (changed[i].funct == static_cast<uint32_t>(Funct::kLoopConvAddressWO)) {
      ++changed[i].rs1;
      EXPECT_FALSE(accepts(problem, kernel, machine, changed)) << i;
    } else if (changed[i].funct == static_cast<uint32_t>(Funct::kLoopConvAddressBI)) {
      ++changed[i].rs2;
      EXPECT_FALSE(accepts(problem, kernel, machine, changed)) << i;
    } else if (changed[i].funct == static_cast<uint32_t>(Funct::kLoopConv)) {
      changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_FALSE(accepts(problem, kernel, machine, changed)) << i;
    }
  }
}

}  // namespace
}  // namespace zomboss::gemmini::conv
