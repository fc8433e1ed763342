// Random convolutions under random legal mappings, run on the functional simulator inside the common ground
// of simulator and hardware, give the bytes of plain loops.
#include <gtest/gtest.h>

#include <algorithm>

#include "plugins/targets/gemmini/conv/tests/conv_run.h"

namespace zomboss::gemmini::conv {
namespace {

int64_t pick(Random& random, std::initializer_list<int64_t> items) {
  return *(items.begin() + random.below(items.size()));
}

// Any mapping, legal or not.
Mapping random_mapping(Random& random, const Problem& problem, const Machine& machine) {
  const int64_t dim = machine.dim;
  const auto some = [&](int64_t most) {
    return pick(random, {1, 2, most, (most + 1) / 2, std::max<int64_t>(1, most - 1)});
  };
  Mapping m;
  m.form = static_cast<uint32_t>(random.below(problem.forms.size()));
  m.interface = static_cast<Interface>(random.below(3));
  m.tile_batch = std::min(problem.batch, some(problem.batch));
  m.tile_rows = std::min(problem.rows.out, some(problem.rows.out));
  m.tile_cols = std::min(problem.cols.out, some(problem.cols.out));
  const Form& form = problem.forms[m.form];
  const auto blocks = [&](int64_t channels) { return some(ceil_div(channels, dim)) * dim; };
  m.tile_k = blocks(form.most_in_channels());
  m.tile_n = blocks(form.most_out_channels());
  m.tile_kernel_rows = problem.rows.kernel;
  m.tile_kernel_cols = problem.cols.kernel;
  m.loop_order = static_cast<LoopOrder>(random.below(2));
  if (m.interface == Interface::kLoop) {
    m.tile_k = std::min(form.most_in_channels(), some(form.most_in_channels()));
    m.tile_n = std::min(form.most_out_channels(), some(form.most_out_channels()));
    m.tile_kernel_rows = std::min(problem.rows.kernel, some(problem.rows.kernel));
    m.tile_kernel_cols = std::min(problem.cols.kernel, some(problem.cols.kernel));
    return m;
  }
  if (random.below(3) == 0) {  // of the last block of channels
    const int64_t channels = (form.most_in_channels() - 1) % dim + 1;
    m.taps_per_step = static_cast<uint32_t>(std::clamp<int64_t>(dim / channels, 1, problem.cols.kernel));
    if (m.taps_per_step > 1) m.tile_k = dim;
  }
  m.placement = random.below(2) == 0 ? BankPlacement::kEnds : BankPlacement::kCopies;
  m.acc_buffers = static_cast<uint32_t>(1 + random.below(2));
  m.buffering_a = static_cast<Buffering>(random.below(3));
  m.buffering_b = static_cast<Buffering>(random.below(3));
  const int64_t widest = machine.max_block_columns() / dim;
  m.load_width_a = static_cast<uint32_t>(pick(random, {1, 2, widest}));
  m.load_width_b = static_cast<uint32_t>(pick(random, {1, 2, widest}));
  m.store_schedule = static_cast<StoreSchedule>(random.below(3));
  m.store_width = static_cast<uint32_t>(pick(random, {1, 2, widest}));
  m.inner_order = static_cast<InnerOrder>(random.below(2));
  return m;
}

struct Tried {
  size_t im2col = 0, direct = 0, loops = 0, taps = 0;
};

void try_random(uint64_t seed, uint32_t dim, int64_t channels, int mappings, Tried& tried) {
  Random random(seed, dim);
  const ConvCase layer = random_case(random, channels);
  const Machine machine = default_machine(dim);
  SCOPED_TRACE(testing::Message() << "seed " << seed << " dim " << dim << ": " << layer.text());
  const Problem problem = problem_of(layer, machine);
  ASSERT_FALSE(problem.forms.empty());
  for (int i = 0, legal = 0; i < 40 * mappings && legal < mappings; ++i) {
    const Mapping mapping = random_mapping(random, problem, machine);
    if (!check_mapping(problem, mapping, machine).ok()) continue;
    ++legal;
    std::string values;
    for (const int64_t value : to_values(mapping)) values += std::to_string(value) + " ";
    SCOPED_TRACE(values);
    expect_right(layer, problem, mapping, machine);
    if (testing::Test::HasFailure()) return;
    tried.taps += mapping.taps_per_step > 1 ? 1 : 0;
    ++(mapping.interface == Interface::kIm2col   ? tried.im2col
       : mapping.interface == Interface::kDirect ? tried.direct
                                                 : tried.loops);
  }
}

TEST(ConvLowering, RandomLayersUnderRandomMappingsGiveTheReference) {
  Tried tried;
  for (uint64_t seed = 0; seed < 120 && !HasFailure(); ++seed) try_random(seed, 16, 40, 6, tried);
  EXPECT_GT(tried.im2col, 100u);
  EXPECT_GT(tried.direct, 100u);
  EXPECT_GT(tried.loops, 50u);
  EXPECT_GT(tried.taps, 20u);
}

TEST(ConvLowering, SmallerArraysGiveTheReference) {
  Tried tried;
  for (uint64_t seed = 1000; seed < 1030 && !HasFailure(); ++seed) {
    try_random(seed, 4, 12, 4, tried);
    try_random(seed, 8, 20, 4, tried);
  }
  EXPECT_GT(tried.direct, 20u);
}

}  // namespace
}  // namespace zomboss::gemmini::conv
