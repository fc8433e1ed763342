// The check of stages whose results stay on chip accepts right kernels and refuses each way of being wrong.
#include "plugins/targets/gemmini/chain/check.h"

#include <gtest/gtest.h>

#include <functional>

#include "plugins/targets/gemmini/chain/tests/chain_cases.h"

namespace zomboss::gemmini::chain {
namespace {

using Kernel = std::vector<Command>;

// One stage of 20 x 24 times 24 x 18, its result in rows 4096 and after; A from row 0, or kept there.
struct OnChip {
  Machine machine = default_machine();
  Problem problem;
  Rows result, kept_rows;
  std::optional<Tensor> kept;
  Kernel kernel;

  explicit OnChip(bool keeps_a = false) {
    auto recognised = recognise_chain(
        mlp({.rows = 20, .widths = {24, 18, 40}, .scales = {0.0078125}, .relu = true}), machine);
    EXPECT_TRUE(recognised.ok()) << recognised.status().message();
    problem = *std::move(recognised);
    const Form& form = stage().forms[link().form];
    const uint64_t base = buffer_addresses(stage(), form)[form.buffer[kC]];
    uint32_t next = 4096;
    for (int64_t i = 0; i < form.m.blocks(); ++i)
      for (int64_t j = 0; j < form.n.blocks(); ++j, next += machine.dim)
        result[base + static_cast<uint64_t>(form.m.offset(kC, i) + form.n.offset(kC, j))] = next;
    if (keeps_a) kept = kA;
    gemmini::Mapping mapping;
    mapping.load_width_a = keeps_a ? 1 : 2;
    mapping.inner_order = InnerOrder::kMnk;
    FreeRows free{0, 4096};
    auto lowered = lower_on_chip(stage(), mapping, link(), result, free, kept, kept_rows, machine);
    EXPECT_TRUE(lowered.ok()) << lowered.status().message();
    kernel = *std::move(lowered);
  }

  const gemmini::Problem& stage() const { return problem.stages[0].problem; }
  const Link& link() const { return *problem.stages[0].link; }
  std::string verdict(const Kernel& changed) const {
    return check_on_chip(stage(), link(), changed, result, kept, kept_rows, machine).message();
  }
  std::string verdict(const std::function<void(Kernel&)>& change) const {
    Kernel changed = kernel;
    change(changed);
    return verdict(changed);
  }
};

size_t nth(const Kernel& kernel, Funct funct, size_t n) {
  for (size_t i = 0; i < kernel.size(); ++i)
    if (kernel[i].funct == static_cast<uint32_t>(funct) && n-- == 0) return i;
  ADD_FAILURE() << "no such command";
  return 0;
}

TEST(OnChipCheck, AcceptsKernelsThatLoadOrKeepAnOperand) {
  EXPECT_EQ(OnChip().verdict([](Kernel&) {}), "");
  EXPECT_EQ(OnChip(true).verdict([](Kernel&) {}), "");
}

TEST(OnChipCheck, MissesNoCommand) {
  for (const bool keeps_a : {false, true}) {
    const OnChip stage(keeps_a);
    size_t unused = 0;  // with A kept, its load state is configured for nothing
    for (size_t i = 0; i < stage.kernel.size(); ++i) {
      const std::string said = stage.verdict(
          [&](Kernel& kernel) { kernel.erase(kernel.begin() + static_cast<std::ptrdiff_t>(i)); });
      unused += said.empty() ? 1 : 0;
    }
    EXPECT_EQ(unused, keeps_a ? 1u : 0u);
  }
}

TEST(OnChipCheck, NamesWhatIsWrong) {
  const OnChip stage;
  const auto says = [&](const std::string& text, const std::function<void(Kernel&)>& change) {
    const std::string said = stage.verdict(change);
    EXPECT_NE(said.find(text), std::string::npos) << said;
  };
  says("is not that of the stage", [&](Kernel& kernel) {
    ConfigEx config = decode_config_ex(kernel[0]);
    ++config.in_shift;
    kernel[0] = config_ex(config);
  });
  says("is not that of the stage", [&](Kernel& kernel) {
    ConfigEx config = decode_config_ex(kernel[0]);
    config.activation = Activation::kNone;
    kernel[0] = config_ex(config);
  });
  says("is not what the step needs", [](Kernel& kernel) { kernel[nth(kernel, Funct::kMvin2, 0)].rs2 += 16; });
  says("contributions that differ", [](Kernel& kernel) { kernel[nth(kernel, Funct::kMvin, 0)].rs1 += 1; });
  says("go on after they were written", [](Kernel& kernel) {
    kernel[nth(kernel, Funct::kPreload, 0)].rs2 = kernel[nth(kernel, Funct::kPreload, 1)].rs2;
  });
  says("holds no sums for the next stage",
       [](Kernel& kernel) { kernel[nth(kernel, Funct::kPreload, 1)].rs2 += 512; });
}

}  // namespace
}  // namespace zomboss::gemmini::chain
