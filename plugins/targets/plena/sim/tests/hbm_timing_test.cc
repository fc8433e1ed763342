// The fast timing model against its plainest form, on random streams.
#include "plugins/targets/plena/sim/hbm_timing.h"

#include <gtest/gtest.h>

#include <random>

#include "plugins/targets/plena/sim/tests/plain_hbm.h"

namespace zomboss::plena {
namespace {

// Blocks at a stride, a few of them repeated: row hits, conflicts in one bank, and forwarded writes.
std::vector<uint64_t> random_blocks(std::mt19937& generator) {
  constexpr uint64_t kStrides[] = {1, 2, 3, 16, 64, 128, 1024, 8192};
  const uint64_t stride = kStrides[generator() % 8];
  uint64_t block = generator() % 4096;
  std::vector<uint64_t> blocks(1 + generator() % 48);
  for (uint64_t& out : blocks) {
    out = block;
    if (generator() % 5 != 0) block += stride;
  }
  return blocks;
}

void compare_stream(uint32_t seed) {
  SCOPED_TRACE(seed);
  std::mt19937 generator(seed);
  HbmTiming fast;
  testing::PlainHbm plain;
  uint64_t now = 0;
  for (int transfer = 0; transfer < 25; ++transfer) {
    now += generator() % 3 == 0 ? generator() % 40 : 0;
    const std::vector<uint64_t> blocks = random_blocks(generator);
    uint64_t end = now;
    if (generator() % 2 == 0) {
      end = fast.read(blocks, now);
      ASSERT_EQ(plain.read(blocks, now), end) << "read " << transfer;
    } else {
      for (const uint64_t block : blocks) {
        const uint64_t before = end;
        end = fast.write(block, before);
        ASSERT_EQ(plain.write(block, before), end) << "write in transfer " << transfer;
      }
    }
    now = end;
  }
}

TEST(HbmTiming, AgreesWithThePlainModelOnRandomStreams) {
  for (uint32_t seed = 1; seed <= 60; ++seed) compare_stream(seed);
}

TEST(HbmTiming, ReadOfNoBlocksTakesNoTime) {
  HbmTiming timing;
  EXPECT_EQ(timing.read({}, 7), 7u);
}

}  // namespace
}  // namespace zomboss::plena
