// Partial intents on the surfaces of this target: what is kept, what is relaxed and why, and what a set that
// cannot hold is told.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <ostream>

#include "plugins/targets/plena/tests/plena_case.h"

namespace zomboss::plena {
namespace {

struct IntentCase {
  const char* name;
  const char* workload;
  std::map<std::string, int64_t> params;
  const char* profile;
  const char* intent;
  const char* expected;  // kept and chosen decisions of the intent's knobs, then the relaxed ones; or why not
};

void PrintTo(const IntentCase& each, std::ostream* out) {
  *out << each.workload << ": " << each.intent;
}

std::string decided(const mapping::Surface& surface, const mapping::Intent& intent,
                    const mapping::Plan& plan) {
  std::string text;
  for (const mapping::Assignment& each : intent.assignments()) {
    const mapping::Knob& knob = surface.knob(each.knob);
    const mapping::Decision* decision = plan.find(knob.name);
    const char* origin = decision->origin == wire::Origin::Hard        ? "hard"
                         : decision->origin == wire::Origin::Preferred ? "preferred"
                                                                       : "default";
    text += fmt::format("{}={} ({})\n", knob.name, decision->text, origin);
  }
  for (const mapping::Relaxation& each : plan.relaxations) {
    const mapping::Knob& knob = surface.knob(*surface.find_knob(each.knob));
    text +=
        fmt::format("relaxed {}: {} became {}: {}\n", each.knob, mapping::value_text(knob, each.requested),
                    mapping::value_text(knob, each.realized), each.reason);
  }
  return text;
}

std::string answer(PlenaCase& workload, const std::string& text) {
  const auto intent = workload.intent(text);
  if (!intent.ok()) return std::string(intent.status().message()) + "\n";
  const auto completion = workload.complete(text);
  if (!completion.ok()) return std::string(completion.status().message()) + "\n";
  if (completion->conflict) return completion->conflict->text + "\n";
  return decided(workload.surface(), *intent, *completion->plan);
}

class Intents : public testing::TestWithParam<IntentCase> {};

TEST_P(Intents, AreAnsweredInWords) {
  CaseOptions options;
  options.params = GetParam().params;
  options.profile = GetParam().profile;
  const auto workload = PlenaCase::of_file(GetParam().workload, options);
  ASSERT_NE(workload, nullptr);
  EXPECT_EQ(answer(*workload, GetParam().intent), GetParam().expected);
}

const std::vector<IntentCase>& intent_cases() {
  static const auto* const kCases = new std::vector<IntentCase>{
      {"hard_conflict_of_forms",
       "scaleddotproduct_c1",
       {},
       "upstream",
       "row_sum=ones_column weighted_form=array",
       "row_sum=ones_column and weighted_form=array cannot hold together: row_sum=ones_column takes the sums "
       "from a product in the spread form, and weighted_form=array (dependency rule "
       "'ones_column_needs_spread')\n"},
      {"preferred_form_gives_way",
       "scaleddotproduct_c1",
       {},
       "upstream",
       "row_sum=ones_column weighted_form~shift",
       "row_sum=ones_column (hard)\n"
       "weighted_form=spread (default)\n"
       "relaxed weighted_form: shift became spread: cannot hold with row_sum=ones_column (hard): "
       "row_sum=ones_column takes the sums from a product in the spread form, and weighted_form=shift "
       "(dependency rule 'ones_column_needs_spread')\n"},
      {"preferred_sum_gives_way",
       "scaleddotproduct_c1",
       {},
       "upstream",
       "row_sum~ones_column weighted_form=array",
       "row_sum=per_vector (default)\n"
       "weighted_form=array (hard)\n"
       "relaxed row_sum: ones_column became per_vector: cannot hold with weighted_form=array (hard): "
       "row_sum=ones_column takes the sums from a product in the spread form, and weighted_form=array "
       "(dependency rule 'ones_column_needs_spread')\n"},
      {"auto_follows_the_hard_scale",
       "scaleddotproduct_c1",
       {},
       "upstream",
       "score_scale=copies scores_form=auto",
       "scores_form=spread (default)\n"
       "score_scale=copies (hard)\n"},
      {"preferences_in_order",
       "scaleddotproduct_c1",
       {},
       "upstream",
       "scores_form~array score_scale~copies unroll_vector~64",
       "scores_form=array (preferred)\n"
       "score_scale=scores (default)\n"
       "unroll_vector=64 (preferred)\n"
       "relaxed score_scale: copies became scores: cannot hold with scores_form=array (preferred, kept): "
       "score_scale=copies scales with the constants that make copies of the queries, and scores_form=array "
       "makes none (dependency rule 'scale_needs_copies')\n"},
      {"hard_capacity_of_the_matrix_sram",
       "gemm_c5",
       {},
       "upstream",
       "column_block=8 working_tiles=4",
       "column_block=8 and working_tiles=4 cannot hold together: column_block=8 columns of at least 4 matrix "
       "tiles need 32 working tiles, working_tiles=4 (capacity rule 'column_block_fits')\n"},
      {"preferred_tiles_give_way",
       "gemm_c5",
       {},
       "upstream",
       "column_block=4 working_tiles~2",
       "column_block=4 (hard)\n"
       "working_tiles=16 (default)\n"
       "relaxed working_tiles: 2 became 16: cannot hold with column_block=4 (hard): column_block=4 columns "
       "of at least 4 matrix tiles need 16 working tiles, working_tiles=2 (capacity rule "
       "'column_block_fits')\n"},
      {"small_vector_sram",
       "gemm_c5",
       {{"VRAM_ROWS", 2048}},
       "upstream",
       "matmul_form=spread working_tiles=1",
       "matmul_form=spread and working_tiles=1 cannot hold together: the vector SRAM needs up to 2560 rows "
       "for vectors and their copies in these forms, has 2048 (capacity rule 'vector_sram_rows')\n"},
      {"small_vector_sram_preferred",
       "gemm_c5",
       {{"VRAM_ROWS", 2048}},
       "upstream",
       "matmul_form~spread working_tiles=1",
       "matmul_form=array (default)\n"
       "working_tiles=1 (hard)\n"
       "relaxed matmul_form: spread became array: cannot hold with working_tiles=1 (hard): the vector SRAM "
       "needs up to 2560 rows for vectors and their copies in these forms, has 2048 (capacity rule "
       "'vector_sram_rows')\n"},
      {"misspelt_value",
       "linear_c1",
       {},
       "upstream",
       "matmul_form=row_pak",
       "intent:1:1: error: matmul_form=row_pak is outside its domain: array, spread, shift\n"
       "  matmul_form=row_pak\n"
       "  ^\n"},
      {"unknown_knob",
       "linear_c1",
       {},
       "upstream",
       "matmul_from=array hoist~maybe",
       "intent:1:1: error: unknown knob 'matmul_from'; did you mean 'matmul_form'?\n"
       "  matmul_from=array hoist~maybe\n"
       "  ^\n"
       "intent:1:19: error: hoist=maybe is outside its domain: yes, no\n"
       "  matmul_from=array hoist~maybe\n"
       "                    ^\n"},
      {"all_kept",
       "gqa_c1",
       {},
       "upstream",
       "head_group=stacked scores_form~spread matmul_form~spread hoist=auto",
       "matmul_form=spread (preferred)\n"
       "scores_form=spread (preferred)\n"
       "head_group=stacked (hard)\n"
       "hoist=yes (default)\n"},
  };
  return *kCases;
}

INSTANTIATE_TEST_SUITE_P(Plena, Intents, testing::ValuesIn(intent_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace zomboss::plena
