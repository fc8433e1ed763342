#include "plugins/targets/plena/sim/settings.h"

#include <gtest/gtest.h>

#include "plugins/targets/plena/sim/tests/vectors.h"

namespace zomboss::plena {
namespace {

std::string fp_type(const std::string& key, int exponent, int mantissa, bool sign = true) {
  return "[TRANSACTIONAL.PRECISION." + key + "]\ntype = \"Fp\"\nsign = " + (sign ? "true" : "false") +
         "\nexponent = " + std::to_string(exponent) + "\nmantissa = " + std::to_string(mantissa) + "\n";
}

std::string file_text(int mlen = 32, int hlen = 16) {
  std::string text;
  const std::pair<const char*, int> sizes[] = {{"DC_EN", 0},
                                               {"MAX_LOOP_INSTRUCTIONS", 7},
                                               {"MLEN", mlen},
                                               {"VLEN", mlen},
                                               {"BLEN", 4},
                                               {"HLEN", hlen},
                                               {"BROADCAST_AMOUNT", 2},
                                               {"HBM_SIZE", 4096},
                                               {"HBM_WIDTH", 512},
                                               {"MATRIX_SRAM_SIZE", 64},
                                               {"VECTOR_SRAM_SIZE", 10},
                                               {"HBM_M_Prefetch_Amount", 32},
                                               {"HBM_V_Prefetch_Amount", 4},
                                               {"HBM_V_Writeback_Amount", 2}};
  for (const auto& [name, value] : sizes) {
    text += "[TRANSACTIONAL.CONFIG." + std::string(name) + "]\nvalue = " + std::to_string(value) + "\n";
  }
  for (const char* name : {"SYSTOLIC_PROCESSING_OVERHEAD", "VECTOR_ADD_CYCLES", "VECTOR_MUL_CYCLES",
                           "VECTOR_EXP_CYCLES", "VECTOR_RECI_CYCLES", "VECTOR_MAX_CYCLES",
                           "VECTOR_SUM_CYCLES", "SCALAR_FP_BASIC_CYCLES", "SCALAR_FP_EXP_CYCLES",
                           "SCALAR_FP_SQRT_CYCLES", "SCALAR_FP_RECI_CYCLES", "SCALAR_INT_BASIC_CYCLES"}) {
    text += "[TRANSACTIONAL.LATENCY." + std::string(name) + "]\ndc_lib_en = 1\ndc_lib_dis = 6\n";
  }
  text += fp_type("MATRIX_SRAM_TYPE.DATA_TYPE", 8, 7) + fp_type("VECTOR_SRAM_TYPE.DATA_TYPE", 8, 7);
  text += fp_type("HBM_M_KV_TYPE.DATA_TYPE", 8, 7) + fp_type("HBM_V_KV_TYPE.DATA_TYPE", 5, 10);
  for (const std::string key : {"HBM_M_WEIGHT_TYPE", "HBM_V_ACT_TYPE"}) {
    text += "[TRANSACTIONAL.PRECISION." + key + "]\nblock = 16\n" + fp_type(key + ".ELEM", 5, 2) +
            fp_type(key + ".SCALE", 8, 0, false);
  }
  return text;
}

TEST(PlenaSettings, ReadsTheOfficialKeys) {
  const auto settings = testing::read_settings(file_text(), "s.toml");
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->mlen, 32u);
  EXPECT_EQ(settings->max_loop_instructions, 7u);
  EXPECT_EQ(settings->latencies.vector_add, 6u) << "DC_EN is 0";
  EXPECT_EQ(settings->matrix_tiles(), 2u);
  EXPECT_EQ(settings->weight_type.element, kit::kE5M2);
  EXPECT_EQ(settings->weight_type.block, 16u);
  EXPECT_FALSE(settings->matrix_kv_type.scaled());
  EXPECT_EQ(settings->vector_kv_type.element, kit::kFloat16);
}

TEST(PlenaSettings, MissingKeyIsNamed) {
  std::string text = file_text();
  text.replace(text.find("CONFIG.BLEN"), 11, "CONFIG.CLEN");
  EXPECT_EQ(testing::read_settings(text, "s.toml").status().message(),
            "TRANSACTIONAL.CONFIG.BLEN.value is missing; it must be an integer");
}

TEST(PlenaSettings, SizesThatDoNotDivideAreRefused) {
  EXPECT_EQ(testing::read_settings(file_text(32, 12), "s.toml").status().message(),
            "HLEN 12 does not divide VLEN 32");
  EXPECT_EQ(testing::read_settings(file_text(8192), "s.toml").status().message(),
            "MLEN is 8192, outside 1..4096");
}

TEST(PlenaSettings, DefaultsAreTheShippedMachine) {
  const Settings settings;
  EXPECT_TRUE(validate(settings).ok());
  EXPECT_EQ(settings.matrix_tiles(), 64u);
}

}  // namespace
}  // namespace zomboss::plena
