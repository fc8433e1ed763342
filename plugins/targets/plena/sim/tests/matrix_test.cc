// The matrix unit and the transfers that feed it, on a small machine with tiles of 8 x 8.
#include "plugins/targets/plena/sim/tests/machine.h"
#include "zomboss/kit/mx.h"

namespace zomboss::plena {
namespace {

using testing::Machine;
using testing::small_settings;
using Floats = std::vector<float>;

// The HBM holds a tile: even rows are 1 to 8, odd rows are all 2.
class TileMachine : public Machine {
 public:
  explicit TileMachine(const Settings& settings = small_settings()) : Machine(settings) {
    // Row r of the HBM image: eight codes; scales from byte 4096 on.
    std::vector<uint8_t> image(4096 + 64, 127);
    for (uint32_t row = 0; row < 8; ++row) {
      for (uint32_t column = 0; column < 8; ++column) image[row * 8 + column] = code_of(weight(row, column));
    }
    EXPECT_TRUE(simulator().load_hbm(image).ok());
  }
  static float weight(uint32_t row, uint32_t column) {
    return row % 2 == 0 ? static_cast<float>(column + 1) : 2.0f;
  }
  static uint8_t code_of(float value) {
    for (uint32_t code = 1; code < 0x78; ++code) {
      if (kit::decode_float(code, kit::kE4M3) == value) return static_cast<uint8_t>(code);
    }
    return 0;
  }
};

const char* const kLoadTile = "S_LUI_INT gp15, 1\nC_SET_SCALE_REG gp15\nH_PREFETCH_M gp0, gp0, a0, 0, 0\n";

TEST(PlenaMatrix, ProductAddsUpUntilItIsWrittenOut) {
  TileMachine machine;
  std::vector<float> vectors(4 * 8, 0.0f);
  vectors[0] = 1.0f;      // x_0 picks row 0
  vectors[8 + 1] = 1.0f;  // x_1 picks row 1
  vectors[16 + 0] = 2.0f;
  vectors[16 + 1] = 3.0f;
  machine.set_vectors(vectors);
  machine.must_run(std::string(kLoadTile) +
                   "S_ADDI_INT gp1, gp0, 32\nM_MM 0, gp1, gp0\nM_MM 0, gp1, gp0\n"  // columns 4 to 7, twice
                   "S_ADDI_INT gp2, gp0, 68\nM_MM_WO gp2, gp0, 0\n"
                   "S_ADDI_INT gp3, gp0, 2\nS_ADDI_INT gp4, gp0, 128\nM_MM_WO gp4, gp3, 0\n");
  EXPECT_EQ(machine.row(8), (Floats{0, 0, 0, 0, 10, 12, 14, 16}));
  EXPECT_EQ(machine.row(9), (Floats{0, 0, 0, 0, 4, 4, 4, 4}));
  EXPECT_EQ(machine.row(10), (Floats{0, 0, 0, 0, 2 * (10 + 6), 2 * (12 + 6), 2 * (14 + 6), 2 * (16 + 6)}));
  EXPECT_EQ(machine.row(16), Floats(8, 0.0f)) << "the write-out cleared the accumulator";
}

TEST(PlenaMatrix, TransposedProductTakesVectorsFirst) {
  TileMachine machine;
  std::vector<float> vectors(4 * 8, 0.0f);
  vectors[7] = 1.0f;  // x_0 picks column 7: T[j][7] = 8, 2, 8, 2
  machine.set_vectors(vectors);
  machine.must_run(std::string(kLoadTile) +
                   "M_TMM 0, gp0, gp0\nS_ADDI_INT gp2, gp0, 64\nM_MM_WO gp2, gp0, 0\n");
  EXPECT_EQ(machine.row(8), (Floats{8, 2, 8, 2, 0, 0, 0, 0}));
}

TEST(PlenaMatrix, VectorFormsGiveBlenElements) {
  TileMachine machine;
  std::vector<float> vectors(8, 0.0f);
  vectors[0] = 1.0f;
  vectors[1] = 1.0f;
  machine.set_vectors(vectors);
  machine.must_run(
      std::string(kLoadTile) +
      "S_ADDI_INT gp1, gp0, 4\nM_MV 0, gp1, gp0\nS_ADDI_INT gp2, gp0, 64\nM_MV_WO gp2, 64\n"  // 64 / 16 = 4
      "S_ADDI_INT gp3, gp0, 72\nM_TMV 0, gp0, gp0\nM_MV_WO gp3, 0\n");
  EXPECT_EQ(machine.row(8), (Floats{0, 0, 0, 0, 7, 8, 9, 10}));
  EXPECT_EQ(machine.row(9), (Floats{3, 4, 3, 4, 0, 0, 0, 0}));
}

TEST(PlenaMatrix, BroadcastSplitsRowsIntoHeadsAndScalesByAQuarter) {
  TileMachine machine;
  std::vector<float> vectors(8 * 8, 0.0f);
  vectors[0] = 4.0f;  // head 0, d 0 when transposed; head 0, d 0 when interleaved
  vectors[5] = 4.0f;  // head 1, d 1 when transposed; head 1, d 2 when interleaved
  machine.set_vectors(vectors);
  machine.must_run(std::string(kLoadTile) +
                   "M_BTMV gp0, gp0, gp0\nS_ADDI_INT gp2, gp0, 128\nM_BMV_WO gp2, 0\n"
                   "M_BMM 0, gp0, gp0\nS_ADDI_INT gp3, gp0, 256\nM_BMM_WO gp3, 0\n");
  EXPECT_EQ(machine.row(16), (Floats{1, 2, 1, 2, 1, 2, 1, 2})) << "column 0 of the tile";
  EXPECT_EQ(machine.row(17), (Floats{2, 2, 2, 2, 2, 2, 2, 2})) << "column 1 of the tile";
  EXPECT_EQ(machine.row(32), (Floats{1, 2, 3, 4, 5, 6, 7, 8})) << "row 0 of the tile";
  EXPECT_EQ(machine.row(40), (Floats{1, 2, 3, 4, 5, 6, 7, 8})) << "row 2 of the tile";
}

TEST(PlenaMatrix, BroadcastTransposedAgreesWithItsSingleRowForm) {
  TileMachine machine;
  std::vector<float> vectors(8 * 8);
  for (size_t n = 0; n < vectors.size(); ++n) vectors[n] = static_cast<float>(n % 7) - 3.0f;
  machine.set_vectors(vectors);
  machine.must_run(
      std::string(kLoadTile) +
      "S_ADDI_INT gp1, gp0, 4\nM_BTMM 0, gp1, gp0\nS_ADDI_INT gp3, gp0, 256\nM_BMM_WO gp3, 0\n"
      "S_ADDI_INT gp5, gp0, 24\nM_BTMV gp1, gp0, gp5\nS_ADDI_INT gp2, gp0, 128\nM_BMV_WO gp2, 0\n");
  EXPECT_EQ(machine.row(32 + 3), machine.row(16));
  EXPECT_EQ(machine.row(32 + 8 + 3), machine.row(17));
}

TEST(PlenaMatrix, CostsAreTileLengthPlusOverhead) {
  Settings settings = small_settings();
  settings.latencies.systolic_overhead = 5;
  Machine machine(settings);
  machine.must_run("M_MM 0, gp0, gp0\nM_MV 0, gp0, gp0\nM_BTMV gp0, gp0, gp0\nM_MM_WO gp0, gp0, 0\n");
  EXPECT_EQ(machine.simulator().nanoseconds(), (8u + 5) + 8 + (1 + 5) + 1);
  const Profile profile = machine.simulator().profile();
  EXPECT_EQ(profile.nanoseconds_by_engine[static_cast<size_t>(Engine::kMatrix)], profile.nanoseconds);
}

TEST(PlenaTransfers, StoreAndPrefetchGiveBackWhatTheFormatHolds) {
  Machine machine;
  machine.set_vectors({1, 2, -3, 0.5f, 4, 8, -16, 0, 448, 1, 1, 1, 1, 1, 1, 1});
  machine.must_run(
      "S_LUI_INT gp15, 1\nC_SET_SCALE_REG gp15\nS_ADDI_INT gp1, gp0, 64\nH_STORE_V gp0, gp0, a0, 0, 0\n"
      "H_PREFETCH_V gp1, gp0, a0, 0, 0\n");
  EXPECT_EQ(machine.row(8), (Floats{1, 2, -3, 0.5f, 4, 8, -16, 0}));
  EXPECT_EQ(machine.row(9)[0], 448.0f);
  const Profile profile = machine.simulator().profile();
  EXPECT_EQ(profile.hbm_written_bytes, 4u * 64) << "elements and scales of two rows";
  EXPECT_EQ(profile.hbm_read_bytes, 4u * 64 + 4 * 64);
}

TEST(PlenaTransfers, StrideCountsOnlyWhenItsFieldIsOne) {
  Machine machine;
  std::vector<uint8_t> image(4096 + 64, 127);
  image[0] = 0x38;   // 1
  image[8] = 0x40;   // 2
  image[32] = 0x48;  // 4
  ASSERT_TRUE(machine.simulator().load_hbm(image).ok());
  machine.must_run(
      "S_LUI_INT gp15, 1\nC_SET_SCALE_REG gp15\nS_ADDI_INT gp1, gp0, 32\nC_SET_STRIDE_REG gp1\n"
      "H_PREFETCH_V gp0, gp0, a0, 1, 0\nS_ADDI_INT gp2, gp0, 64\nH_PREFETCH_V gp2, gp0, a0, 2, 1\n");
  EXPECT_EQ(machine.row(1)[0], 4.0f);
  EXPECT_EQ(machine.row(9)[0], 2.0f);
}

TEST(PlenaTransfers, TrafficIsToldApartByTensor) {
  Machine machine;
  machine.simulator().watch_tensors({{"x", 0, 64}, {"scales", 4096, 4160}});
  machine.must_run(
      "S_LUI_INT gp15, 1\nC_SET_SCALE_REG gp15\nH_PREFETCH_V gp0, gp0, a0, 0, 0\n"
      "S_ADDI_INT gp1, gp0, 1024\nH_PREFETCH_V gp0, gp1, a0, 0, 0\n");
  const Profile profile = machine.simulator().profile();
  EXPECT_EQ(profile.tensors[0].read_bytes, 128u);
  EXPECT_EQ(profile.tensors[1].read_bytes, 128u);
  EXPECT_EQ(profile.other_read_bytes, 256u);
}

TEST(PlenaTransfers, FirstReadOfABlockTakesEighteenNanosecondsAndAnOpenRowEleven) {
  HbmTiming timing;
  const uint64_t block = 0;
  EXPECT_EQ(timing.read({&block, 1}, 10), 28u);
  EXPECT_EQ(timing.read({&block, 1}, 100), 111u);
  EXPECT_EQ(timing.read({&block, 1}, 111), 123u) << "in the nanosecond of the last completion: one more";
}

TEST(PlenaTransfers, RepeatedStoreIsForwardedInNoTime) {
  HbmTiming timing;
  const uint64_t block = 5;
  EXPECT_EQ(timing.write(block, 40), 40u);
  EXPECT_EQ(timing.read({&block, 1}, 40), 40u);
}

}  // namespace
}  // namespace zomboss::plena
