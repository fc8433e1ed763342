// Every value of every knob computes the right thing: one decision at a time away from Candidate-0 and from
// plans in each of the broadcast forms, held against the oracle under the workload's contract. Candidate-0
// must meet the contract; a decision may cost precision, so others may miss it by what roundings explain.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <functional>
#include <set>

#include "plugins/targets/plena/tests/plena_case.h"

namespace zomboss::plena {
namespace {

// As far as a surface has them.
constexpr const char* kBases[] = {
    "",
    "matmul_form~spread matvec_form~spread scores_form~spread weighted_form~spread row_sum~ones_column "
    "score_scale~copies head_group~stacked kv_layout~per_head residual_sum~accumulated unroll_product~64 "
    "unroll_vector~64 unroll_load~64 write_address~immediate",
    "matmul_form~shift matvec_form~shift scores_form~shift weighted_form~shift residual_sum~separate "
    "norm_sums~add_first row_sum~add_first working_tiles~2 column_block~2 unroll_product~4 unroll_column~4 "
    "input_loads~up_front",
    "matmul_form~row_pack matvec_form~row_pack scores_form~row_pack weighted_form~spread "
    "score_scale~query address_cache~one_instruction hoist~no input_residency~reload",
    "matmul_form~row_shift matvec_form~row_shift scores_form~row_shift weighted_form~shift "
    "tile_order~row_major vector_order~row_major unroll_vector~1 working_tiles~1",
};

// softmax(scale * q k^T) v for heads that lie below each other: q, k, v [heads, s, width].
std::string heads_in_rows_text(int64_t heads, int64_t s, int64_t width, double scale) {
  const std::string tensor = fmt::format("f32[{},{},{}]", heads, s, width);
  const std::string scores = fmt::format("f32[{},{},{}]", heads, s, s);
  const std::string rows = fmt::format("f32[{},{}]", heads, s);
  std::string body;
  for (const char* name : {"q", "k", "v"})
    body += fmt::format("  {0} = {1} parameter({2})\n", name, tensor,
                        name[0] == 'q'   ? 0
                        : name[0] == 'k' ? 1
                                         : 2);
  body += fmt::format(
      "  s = {} dot(q, k), lhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_batch_dims={{0}}, "
      "rhs_contracting_dims={{2}}\n",
      scores);
  body += fmt::format(
      "  c = f32[] constant({})\n  cb = {} broadcast(c), dimensions={{}}\n  t = {} multiply(s, cb)\n", scale,
      scores, scores);
  body += fmt::format(
      "  lowest = f32[] constant(-inf)\n  m = {} reduce(t, lowest), dimensions={{2}}, to_apply=max\n", rows);
  body += fmt::format(
      "  mb = {0} broadcast(m), dimensions={{0,1}}\n  d = {0} subtract(t, mb)\n  e = {0} exponential(d)\n",
      scores);
  body += fmt::format(
      "  zero = f32[] constant(0)\n  r = {} reduce(e, zero), dimensions={{2}}, to_apply=sum\n", rows);
  body += fmt::format("  rb = {0} broadcast(r), dimensions={{0,1}}\n  p = {0} divide(e, rb)\n", scores);
  body += fmt::format(
      "  ROOT o = {} dot(p, v), lhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, rhs_batch_dims={{0}}, "
      "rhs_contracting_dims={{1}}\n",
      tensor);
  return hlo_module(body);
}

struct KnobCase {
  std::string name;    // a file of workloads/plena, or of the test when there is a text
  std::string text;    // HLO
  std::string family;  // whose contract the text uses
};

void PrintTo(const KnobCase& each, std::ostream* out) {
  *out << each.name;
}

class EveryValue : public testing::TestWithParam<KnobCase> {
 protected:
  std::unique_ptr<PlenaCase> load() {
    return GetParam().text.empty() ? PlenaCase::of_file(GetParam().name)
                                   : PlenaCase::of_text(GetParam().name, GetParam().text, GetParam().family);
  }
};

TEST_P(EveryValue, ComputesTheRightThing) {
  const auto workload = load();
  ASSERT_NE(workload, nullptr);
  std::set<std::string> seen;
  size_t tried = 0, imprecise = 0;
  const auto try_plan = [&](const std::string& intent) {
    const auto plan = workload->plan(intent);
    if (!plan.ok()) return;  // a value that only joint rules exclude
    if (!seen.insert(plan->hash.hex()).second) return;
    ++tried;
    const evaluate::Evaluation evaluation = workload->evaluate(*plan);
    if (evaluation.outcome == wire::Outcome::Valid) return;
    const evaluate::Comparison& comparison = evaluation.comparison;
    const bool by_roundings = evaluation.outcome == wire::Outcome::Wrong && comparison.match_rate() > 0.95 &&
                              comparison.worst_tolerances < 8;
    if (by_roundings && !intent.empty())
      ++imprecise;
    else
      ADD_FAILURE() << intent << ": " << evaluation.reason;
  };
  for (const char* each : kBases) {
    const std::string base = workload->known_part(each);
    try_plan(base);
    for (const mapping::Knob& knob : workload->surface().knobs()) {
      std::string others;  // of the base
      for (size_t at = 0; at < base.size();) {
        const size_t end = std::min(base.find(' ', at), base.size());
        if (!base.substr(at, end - at).starts_with(knob.name + "~"))
          others += base.substr(at, end - at) + " ";
        at = end + 1;
      }
      for (const int64_t value : knob.values)
        try_plan(others + fmt::format("{}={}", knob.name, mapping::value_text(knob, value)));
    }
  }
  EXPECT_GT(tried, 8u);
  EXPECT_LE(imprecise * 4, tried);
  RecordProperty("plans", static_cast<int>(tried));
  RecordProperty("imprecise", static_cast<int>(imprecise));
}

std::vector<KnobCase> knob_cases() {
  std::vector<KnobCase> cases;
  for (const char* file :
       {"gemm_c1",        "gemv_c1",        "ffn_c1",       "swiglu_c1",        "scaleddotproduct_c1",
        "gqa_c1",         "rmsnorm_c1",     "layernorm_c1", "silu_c1",          "gelu_c1",
        "relu_c1",        "softmax_c1",     "rope_c1",      "rope_interleaved", "linear_c1",
        "batchmatmul_c1", "batchmatmul_c2", "mha_c1",       "mha_causal",       "t5_c1",
        "llama_c1",       "gemm_odd",       "linear_odd",   "attention_odd",    "softmax_odd",
        "layernorm_odd"})
    cases.push_back({file, "", ""});
  cases.push_back({"gemm_1x40x100", gemm_text(1, 40, 100), "gemm"});
  cases.push_back({"gemm_1x1x1", gemm_text(1, 1, 1), "gemm"});
  cases.push_back({"gemm_5x130x70", gemm_text(5, 130, 70), "gemm"});
  cases.push_back({"gemm_70x64x64", gemm_text(70, 64, 64), "gemm"});
  cases.push_back({"layernorm_7x96", layer_norm_text(7, 96), "layernorm"});
  cases.push_back({"layernorm_1x64", layer_norm_text(1, 64), "layernorm"});
  cases.push_back({"attention_s50", attention_text(50, 50, 64, 0.125), "scaleddotproduct"});
  cases.push_back({"attention_1x70", attention_text(1, 70, 64, 0.125), "scaleddotproduct"});
  cases.push_back({"heads_in_rows", heads_in_rows_text(3, 32, 16, 0.25), "scaleddotproduct"});
  cases.push_back({"mha_h192", heads_text(10, 192, 3, 3, 0.125), "mha"});
  cases.push_back({"gqa_6_2", heads_text(9, 384, 6, 2, 0.125), "gqa"});
  cases.push_back({"mqa_4_1", heads_text(5, 256, 4, 1, 0.125), "mqa"});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Plena, EveryValue, testing::ValuesIn(knob_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace zomboss::plena
