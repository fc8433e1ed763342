// Whole searches on the bundled suites and on odd shapes, through real plugins.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "core/config/suite.h"
#include "core/mapping/convert.h"
#include "core/search/controller.h"
#include "host/loader/loader.h"

namespace zomboss {
namespace {

using evaluate::Reference;
using evaluate::Target;
using evaluate::Workload;

loader::Loader& plugins() {
  static loader::Loader* const loader =
      new loader::Loader({loader::search_path_of({ZB_PLUGINS}), std::nullopt});
  return *loader;
}

std::unique_ptr<Target> open_gemmini(const std::map<std::string, int64_t>& params = {}) {
  const auto plugin = plugins().load("gemmini", loader::Kind::kTarget);
  EXPECT_TRUE(plugin.ok()) << plugin.status().message();
  if (!plugin.ok()) return nullptr;
  auto target = Target::open(*(*plugin)->descriptor, {}, params);
  EXPECT_TRUE(target.ok()) << target.status().message();
  return target.ok() ? *std::move(target) : nullptr;
}

std::unique_ptr<search::Policy> open_policy(const std::string& id) {
  const auto plugin = plugins().load(id, loader::Kind::kPolicy);
  EXPECT_TRUE(plugin.ok()) << plugin.status().message();
  if (!plugin.ok()) return nullptr;
  auto policy = search::open_policy(*(*plugin)->descriptor, {});
  EXPECT_TRUE(policy.ok()) << policy.status().message();
  return policy.ok() ? *std::move(policy) : nullptr;
}

struct Problem {
  Workload workload;
  Reference reference;
  mapping::Surface surface;
};

Result<Problem> make_problem(Target& target, const Source& source, const std::string& name) {
  Diagnostics diagnostics(source);
  ZB_ASSIGN(Workload workload, evaluate::load_workload(source, name, {}, diagnostics));
  ZB_ASSIGN(Reference reference, evaluate::make_reference(workload));
  ZB_ASSIGN(const wire::SurfaceT message, target.surface(workload.encoded));
  ZB_ASSIGN(const mapping::Surface full, mapping::from_wire(message));
  ZB_ASSIGN(mapping::Surface surface, resolver::derive_domains(full));
  return Problem{std::move(workload), std::move(reference), std::move(surface)};
}

Result<search::Report> search(Target& target, const Problem& problem, const std::string& policy_id,
                              uint32_t evaluations) {
  resolver::Resolver resolver(problem.surface);
  const auto evaluator = evaluate::make_evaluator(target, problem.workload, problem.reference);
  const auto policy = open_policy(policy_id);
  search::Options options;
  options.budget = {evaluations, 20 * evaluations};
  search::Observer observer;
  evaluate::EvaluatorPool evaluators({evaluator.get()});
  search::Inputs inputs;
  inputs.resolver = &resolver;
  inputs.evaluators = &evaluators;
  inputs.policy = policy.get();
  inputs.workload = &problem.workload.message;
  return search::run_search(inputs, options, observer);
}

// --- the suites
// -----------------------------------------------------------------------------------------------------

struct SuiteCase {
  const char* suite;
  const char* policy;
};

class Suites : public testing::TestWithParam<SuiteCase> {};

TEST_P(Suites, EveryInstanceVerifiesAndSearchNeverLosesToCandidate0) {
  const auto suite = config::read_suite(std::string(ZB_SOURCE_DIR "/workloads/") + GetParam().suite);
  ASSERT_TRUE(suite.ok()) << suite.status().message();
  EXPECT_EQ(suite->instances.size(), 20u);
  const auto target = open_gemmini();
  for (const config::Instance& instance : suite->instances) {
    SCOPED_TRACE(instance.name);
    const auto source = read_source(instance.hlo);
    ASSERT_TRUE(source.ok()) << source.status().message();
    const auto problem = make_problem(*target, *source, instance.name);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    const auto report = search(*target, *problem, GetParam().policy, 4);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_LE(report->best.evaluation.latency, report->candidate0.evaluation.latency);
    EXPECT_TRUE(report->best.evaluation.comparison.accepted);
    for (const search::Reference& reference : report->references)
      EXPECT_TRUE(reference.verified()) << reference.name << ": " << reference.candidate.evaluation.reason;
    for (const search::Trial& trial : report->trials)
      EXPECT_TRUE(trial.evaluation == 0 || trial.outcome == wire::Outcome::Valid)
          << search::outcome_name(trial.outcome) << ": " << trial.intent << ": " << trial.reason;
    const auto bound = target->bound(problem->workload.encoded);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_LE(bound->latency, static_cast<double>(report->best.evaluation.latency));
  }
}

INSTANTIATE_TEST_SUITE_P(Gemmini, Suites,
                         testing::Values(SuiteCase{"gemmini.toml", "hill"},
                                         SuiteCase{"gemmini.toml", "random"}),
                         [](const auto& info) { return std::string(info.param.policy); });

// --- odd shapes and machines
// ----------------------------------------------------------------------------------------

struct ShapeCase {
  const char* name;
  const char* hlo;  // the body of ENTRY
  int64_t dim;
};

class Shapes : public testing::TestWithParam<ShapeCase> {};

// Candidate-0, and every plan of the surface when it has at most 40 (else the first 40 in default order).
TEST_P(Shapes, EveryPlanVerifies) {
  const auto target = open_gemmini({{"DIM", GetParam().dim}});
  ASSERT_NE(target, nullptr);
  const Source source("shape.hlo", std::string("HloModule m\n\nENTRY main {\n") + GetParam().hlo + "}\n");
  const auto problem = make_problem(*target, source, GetParam().name);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  resolver::Resolver resolver(problem->surface);
  const auto evaluator = evaluate::make_evaluator(*target, problem->workload, problem->reference);
  int plans = 0;
  const Status status = resolver.enumerate([&](std::span<const int64_t> values) {
    const std::vector<wire::Origin> origins(values.size(), wire::Origin::Default);
    const mapping::Plan plan = mapping::make_plan(problem->surface, values, origins, {});
    const auto evaluation = evaluator->evaluate(mapping::to_wire(problem->surface, plan));
    EXPECT_EQ(evaluation.outcome, wire::Outcome::Valid) << evaluation.reason;
    return ++plans < 40 && evaluation.outcome == wire::Outcome::Valid;
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_GT(plans, 0);
}

std::string gemm(int m, int k, int n) {
  return fmt::format(
      "  a = s8[{0},{1}] parameter(0)\n  b = s8[{1},{2}] parameter(1)\n"
      "  ROOT d = s32[{0},{2}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
      m, k, n);
}

constexpr const char* kQuantize =
    "  f = f32[{0}] convert(d)\n  s = f32[] constant(0.0037)\n  sb = f32[{0}] broadcast(s), dimensions={{}}\n"
    "  p = f32[{0}] multiply(f, sb)\n  r = f32[{0}] round-nearest-even(p)\n  lo = f32[] constant(-128)\n"
    "  hi = f32[] constant(127)\n  c = f32[{0}] clamp(lo, r, hi)\n  ROOT q = s8[{0}] convert(c)\n";

std::string quantized(const std::string& product, const std::string& dims) {
  return product + fmt::format(fmt::runtime(kQuantize), dims);
}

const std::vector<ShapeCase>& shape_cases() {
  static const std::vector<std::pair<std::string, std::string>>* const kBodies = new std::vector<
      std::pair<std::string, std::string>>{
      {"m3k3n3", gemm(3, 3, 3)},
      {"m17k5n33", gemm(17, 5, 33)},
      {"m1k1n1", gemm(1, 1, 1)},
      {"m100k7n300", gemm(100, 7, 300)},
      {"quantized",
       quantized("  a = s8[17,40] parameter(0)\n  b = s8[40,33] parameter(1)\n"
                 "  d = s32[17,33] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n",
                 "17,33")},
      {"transposed_a",
       "  a = s8[21,19] parameter(0)\n  b = s8[21,23] parameter(1)\n"
       "  ROOT d = s32[19,23] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"},
      {"transposed_b",
       "  a = s8[19,21] parameter(0)\n  b = s8[23,21] parameter(1)\n"
       "  ROOT d = s32[19,23] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"},
      {"transposed_both",
       "  a = s8[21,19] parameter(0)\n  b = s8[23,21] parameter(1)\n"
       "  ROOT d = s32[19,23] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={1}\n"},
      {"swapped_operands",
       "  a = s8[19,21] parameter(0)\n  b = s8[21,23] parameter(1)\n"
       "  ROOT d = s32[23,19] dot(b, a), lhs_contracting_dims={0}, rhs_contracting_dims={1}\n"},
      {"batch_middle",
       "  a = s8[9,3,20] parameter(0)\n  b = s8[20,3,18] parameter(1)\n"
       "  ROOT d = s32[3,9,18] dot(a, b), lhs_batch_dims={1}, rhs_batch_dims={1}, "
       "lhs_contracting_dims={2}, rhs_contracting_dims={0}\n"},
      {"batch_last",
       "  a = s8[9,20,3] parameter(0)\n  b = s8[20,18,3] parameter(1)\n"
       "  ROOT d = s32[3,9,18] dot(a, b), lhs_batch_dims={2}, rhs_batch_dims={2}, "
       "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"},
      {"two_batches",
       "  a = s8[2,9,3,20] parameter(0)\n  b = s8[3,2,20,18] parameter(1)\n"
       "  ROOT d = s32[2,3,9,18] dot(a, b), lhs_batch_dims={0,2}, rhs_batch_dims={1,0}, "
       "lhs_contracting_dims={3}, rhs_contracting_dims={2}\n"},
      {"two_contractions",
       "  a = s8[9,4,5] parameter(0)\n  b = s8[5,18,4] parameter(1)\n"
       "  ROOT d = s32[9,18] dot(a, b), lhs_contracting_dims={1,2}, "
       "rhs_contracting_dims={2,0}\n"},
      {"gemv",
       "  a = s8[37,50] parameter(0)\n  x = s8[50] parameter(1)\n"
       "  ROOT d = s32[37] dot(a, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"},
      {"bias_relu",
       "  a = s8[19,21] parameter(0)\n  b = s8[21,23] parameter(1)\n  c = s32[23] parameter(2)\n"
       "  d = s32[19,23] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
       "  cb = s32[19,23] broadcast(c), dimensions={1}\n  e = s32[19,23] add(d, cb)\n"
       "  z = s32[] constant(0)\n  zb = s32[19,23] broadcast(z), dimensions={}\n"
       "  m = s32[19,23] maximum(e, zb)\n"
       "  f = f32[19,23] convert(m)\n  s = f32[] constant(0.01)\n"
       "  sb = f32[19,23] broadcast(s), dimensions={}\n  p = f32[19,23] multiply(f, sb)\n"
       "  r = f32[19,23] round-nearest-even(p)\n  lo = f32[] constant(-128)\n"
       "  hi = f32[] constant(127)\n  k = f32[19,23] clamp(lo, r, hi)\n  ROOT q = s8[19,23] convert(k)\n"},
  };
  static const std::vector<ShapeCase>* const kCases = [] {
    auto* cases = new std::vector<ShapeCase>;
    for (const auto& [name, body] : *kBodies)
      for (const int64_t dim : {4, 8, 16, 32}) cases->push_back({name.c_str(), body.c_str(), dim});
    return cases;
  }();
  return *kCases;
}

INSTANTIATE_TEST_SUITE_P(Gemmini, Shapes, testing::ValuesIn(shape_cases()), [](const auto& info) {
  return fmt::format("{}_dim{}", info.param.name, info.param.dim);
});

// --- the comparison must be able to fail
// ----------------------------------------------------------------------------

// For each family of the suites: outputs that are zeros, an input copied through, and an off-by-one kernel.
TEST(Mutations, ZerosTheIdentityAndOffByOneFailEveryContract) {
  for (const char* suite_name : {"gemmini.toml", "gemmini-alt.toml"}) {
    const auto suite = config::read_suite(std::string(ZB_SOURCE_DIR "/workloads/") + suite_name);
    ASSERT_TRUE(suite.ok()) << suite.status().message();
    for (const config::Instance& instance : suite->instances) {
      if (instance.config == "C4" || instance.config == "C5") continue;
      SCOPED_TRACE(instance.name);
      const auto source = read_source(instance.hlo);
      ASSERT_TRUE(source.ok());
      Diagnostics diagnostics(*source);
      const auto workload = evaluate::load_workload(*source, instance.name, {}, diagnostics);
      ASSERT_TRUE(workload.ok()) << workload.status().message();
      const auto reference = evaluate::make_reference(*workload);
      ASSERT_TRUE(reference.ok()) << reference.status().message();
      const auto accepted = [&](const std::vector<oracle::Tensor>& outputs) {
        return evaluate::compare(reference->outputs, outputs, *workload->message.contract).accepted;
      };
      EXPECT_TRUE(accepted(reference->outputs));
      std::vector<oracle::Tensor> zeros = reference->outputs, identity = zeros, off_by_one = zeros,
                                  shifted = zeros;
      for (size_t i = 0; i < zeros.size(); ++i) {
        auto& bytes = zeros[i].bytes;
        std::fill(bytes.begin(), bytes.end(), uint8_t{0});
        const auto& input = reference->inputs[0].bytes;
        for (size_t b = 0; b < identity[i].bytes.size(); ++b) identity[i].bytes[b] = input[b % input.size()];
        off_by_one[i].bytes.back() = static_cast<uint8_t>(off_by_one[i].bytes.back() + 1);
        std::rotate(shifted[i].bytes.begin(), shifted[i].bytes.begin() + 1, shifted[i].bytes.end());
      }
      EXPECT_FALSE(accepted(zeros));
      EXPECT_FALSE(accepted(identity));
      EXPECT_FALSE(accepted(off_by_one)) << "one element off by one";
      EXPECT_FALSE(accepted(shifted)) << "every element one place off";
    }
  }
}

// --- the machine numbers come from the description
// ------------------------------------------------------------------

// The most accumulator bytes that any plan of a 256 x 256 x 256 product uses.
int64_t largest_accumulator_use(const std::map<std::string, int64_t>& params) {
  const Source source("big.hlo", "HloModule m\n\nENTRY main {\n" + gemm(256, 256, 256) + "}\n");
  const auto target = open_gemmini(params);
  const auto problem = make_problem(*target, source, "big");
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  const auto index = [&](const char* name) { return *problem->surface.find_knob(name); };
  const size_t m = index("tile_m"), n = index("tile_n"), copies = index("acc_buffering");
  int64_t largest = 0;
  resolver::Resolver resolver(problem->surface);
  const Status status = resolver.enumerate([&](std::span<const int64_t> values) {
    largest = std::max(largest, values[m] * values[n] * 4 * values[copies]);
    return true;
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return largest;
}

TEST(Overrides, TheAccumulatorOfTheDescriptionBoundsEveryPlan) {
  constexpr int64_t kRowBytes = 16 * 4;
  const int64_t small = largest_accumulator_use({{"ACC_ROWS", 128}});
  const int64_t normal = largest_accumulator_use({});
  EXPECT_LE(small, 128 * kRowBytes);
  EXPECT_LE(normal, 1024 * kRowBytes);
  EXPECT_GT(normal, 128 * kRowBytes) << "the larger accumulator is not used";
}

}  // namespace
}  // namespace zomboss
