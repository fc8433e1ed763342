#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/evaluate/compare.h"
#include "core/evaluate/workload.h"

namespace zomboss::evaluate {
namespace {

using hlo::DType;
using oracle::make_tensor;
using oracle::Tensor;

wire::ContractT exact() {
  return {};
}

wire::ContractT tolerance() {
  wire::ContractT contract;
  contract.acceptance = wire::Acceptance::Tolerance;
  contract.absolute = 0.01;
  contract.relative = 0.1;
  contract.match_rate = 0.75;
  contract.worst_factor = 4;
  return contract;
}

Comparison compare_one(const Tensor& expected, const Tensor& got, const wire::ContractT& contract) {
  return compare(std::span(&expected, 1), std::span(&got, 1), contract);
}

Tensor floats(std::vector<float> values) {
  const auto size = static_cast<int64_t>(values.size());
  return make_tensor<float>(DType::F32, {size}, values);
}

TEST(Compare, ExactNamesTheFirstDifferenceAndCounts) {
  const Tensor expected = make_tensor<int8_t>(DType::S8, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor got = make_tensor<int8_t>(DType::S8, {2, 3}, {1, 2, 3, 4, 7, 9});
  EXPECT_TRUE(compare_one(expected, expected, exact()).accepted);
  const Comparison comparison = compare_one(expected, got, exact());
  EXPECT_FALSE(comparison.accepted);
  EXPECT_EQ(comparison.mismatches, 2u);
  EXPECT_EQ(comparison.first_difference, "output 0 at [1,1]: got 7, expected 5");
  EXPECT_EQ(comparison.reason,
            "2 of 6 elements differ, worst by 3; first: output 0 at [1,1]: got 7, expected 5");
}

TEST(Compare, RefusesOtherCountsTypesAndShapes) {
  const Tensor expected = make_tensor<int8_t>(DType::S8, {2}, {1, 2});
  EXPECT_EQ(compare(std::span(&expected, 1), {}, exact()).reason, "0 outputs, expected 1");
  EXPECT_EQ(compare_one(expected, make_tensor<int8_t>(DType::S8, {2, 1}, {1, 2}), exact()).reason,
            "output 0 is s8[2,1], expected s8[2]");
  EXPECT_EQ(compare_one(expected, make_tensor<uint8_t>(DType::U8, {2}, {1, 2}), exact()).reason,
            "output 0 is u8[2], expected s8[2]");
}

TEST(Compare, ToleranceIsTheLargerOfAbsoluteAndRelative) {
  EXPECT_EQ(compare_one(floats({0, 10}), floats({0.009f, 10.9f}), tolerance()).mismatches, 0u);
  EXPECT_EQ(compare_one(floats({0, 10}), floats({0.011f, 11.1f}), tolerance()).mismatches, 2u);
}

TEST(Compare, ToleranceAcceptsByRateButNoElementFarOff) {
  EXPECT_TRUE(compare_one(floats({1, 1, 1, 1}), floats({1, 1, 1, 1.3f}), tolerance()).accepted);
  EXPECT_FALSE(compare_one(floats({1, 1, 1, 1}), floats({1, 1, 1.3f, 1.3f}), tolerance()).accepted);
  EXPECT_FALSE(compare_one(floats({1, 1, 1, 1}), floats({1, 1, 1, 1.5f}), tolerance()).accepted);
}

TEST(Compare, NanAndInfinityMustMatch) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compare_one(floats({nan, inf}), floats({-nan, inf}), tolerance()).accepted);
  EXPECT_FALSE(compare_one(floats({nan, 1, 1, 1}), floats({1, 1, 1, 1}), tolerance()).accepted);
  EXPECT_FALSE(compare_one(floats({1, 1, 1, 1}), floats({nan, 1, 1, 1}), tolerance()).accepted);
  EXPECT_FALSE(compare_one(floats({inf, 1, 1, 1}), floats({-inf, 1, 1, 1}), tolerance()).accepted);
}

TEST(Compare, NamesTheWorstElementAndTheMatchRate) {
  const Comparison comparison =
      compare_one(floats({1, 100, 1, 1}), floats({1.15f, 112, 1, 1.3f}), tolerance());
  EXPECT_FALSE(comparison.accepted);
  EXPECT_EQ(comparison.match_rate(), 0.25);
  EXPECT_EQ(comparison.worst_error, 12);
  EXPECT_NEAR(comparison.worst_tolerances, 3, 1e-5);
  EXPECT_EQ(comparison.worst_difference, "output 0 at [3]: got 1.2999999523162842, expected 1");
  EXPECT_EQ(
      comparison.reason,
      "3 of 4 elements are outside the tolerance, match rate 25.00 %, worst 3 tolerances (output 0 at "
      "[3]: got 1.2999999523162842, expected 1); first: output 0 at [0]: got 1.149999976158142, expected 1");
  const Comparison accepted = compare_one(floats({1, 1}), floats({1, 1.05f}), tolerance());
  EXPECT_TRUE(accepted.accepted);
  EXPECT_EQ(accepted.worst_difference, "output 0 at [1]: got 1.0499999523162842, expected 1");
  EXPECT_EQ(accepted.first_difference, "");
  EXPECT_EQ(
      accepted.summary(),
      "match rate 100.00 %, worst 0.5 tolerances (output 0 at [1]: got 1.0499999523162842, expected 1)");
  const Tensor integers = make_tensor<int8_t>(DType::S8, {2}, {1, 2});
  EXPECT_EQ(compare_one(integers, integers, exact()).summary(), "2 elements equal");
  EXPECT_EQ(compare_one(floats({1}), floats({1}), tolerance()).worst_difference, "");
}

constexpr const char* kLinear =
    "HloModule linear\n"
    "ENTRY main {\n"
    "  x = s8[2,3] parameter(0)\n"
    "  w = s8[3,2] parameter(1)\n"
    "  ROOT d = s32[2,2] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "}\n";

TEST(Workload, HoldsGraphContractInputsAndOracleOutputs) {
  const Source source("linear.hlo", kLinear);
  Diagnostics diagnostics(source);
  const auto workload = load_workload(source, "linear", {}, diagnostics);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->message.name, "linear");
  EXPECT_EQ(workload->message.contract->acceptance, wire::Acceptance::Exact);
  const auto reference = make_reference(*workload);
  ASSERT_TRUE(reference.ok()) << reference.status().message();
  const auto x = oracle::tensor_values<int8_t>(reference->inputs[0]);
  const auto w = oracle::tensor_values<int8_t>(reference->inputs[1]);
  const auto y = oracle::tensor_values<int32_t>(reference->outputs[0]);
  for (size_t m = 0; m < 2; ++m)
    for (size_t n = 0; n < 2; ++n) {
      int sum = 0;
      for (size_t k = 0; k < 3; ++k) sum += x[m * 3 + k] * w[k * 2 + n];
      EXPECT_EQ(y[m * 2 + n], sum);
    }
}

constexpr const char* kFloats =
    "HloModule floats\n"
    "ENTRY main {\n"
    "  x = f32[2,16] parameter(0)\n"
    "  w = f32[16,4] parameter(1)\n"
    "  n = s32[2,4] parameter(2)\n"
    "  d = f32[2,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  f = f32[2,4] convert(n)\n"
    "  ROOT y = f32[2,4] add(d, f)\n"
    "}\n";

Result<Workload> load_floats(const Contract& contract, std::string_view target_storage) {
  const Source source("floats.hlo", kFloats);
  Diagnostics diagnostics(source);
  return load_workload(source, "floats", contract, diagnostics, target_storage);
}

std::vector<std::string> storage_entries(const Workload& workload) {
  std::vector<std::string> entries;
  for (const auto& entry : workload.message.contract->storage)
    entries.push_back(entry->key + " " + entry->text);
  return entries;
}

using Texts = std::vector<std::string>;

TEST(Workload, StorageIsThatOfTheInputElseOfTheContractElseOfTheTarget) {
  EXPECT_EQ(storage_entries(*load_floats({}, "")), (Texts{"x exact", "w exact", "n exact"}));
  EXPECT_EQ(storage_entries(*load_floats({}, "mxfp8")), (Texts{"x mxfp8", "w mxfp8", "n exact"}));
  Contract contract;
  contract.default_storage = oracle::Storage::kExact;
  contract.storage["w"] = oracle::Storage::kMxfp8;
  EXPECT_EQ(storage_entries(*load_floats(contract, "mxfp8")), (Texts{"x exact", "w mxfp8", "n exact"}));
}

TEST(Workload, InputsAreRoundedThroughTheirStorageBeforeTheOracle) {
  const auto plain = make_reference(*load_floats({}, ""));
  const auto stored = make_reference(*load_floats({}, "mxfp8"));
  ASSERT_TRUE(plain.ok() && stored.ok());
  EXPECT_EQ(plain->inputs[2], stored->inputs[2]);
  for (const size_t i : {0, 1}) {
    Tensor expected = plain->inputs[i];
    ASSERT_TRUE(oracle::round_nearest(expected, oracle::Storage::kMxfp8).ok());
    EXPECT_NE(plain->inputs[i], stored->inputs[i]);
    EXPECT_EQ(expected, stored->inputs[i]);
  }
  const auto x = oracle::tensor_values<float>(stored->inputs[0]);
  const auto w = oracle::tensor_values<float>(stored->inputs[1]);
  const auto n = oracle::tensor_values<int32_t>(stored->inputs[2]);
  double sum = n[0];
  for (size_t k = 0; k < 16; ++k) sum += static_cast<double>(x[k]) * static_cast<double>(w[k * 4]);
  EXPECT_EQ(oracle::tensor_values<float>(stored->outputs[0])[0], static_cast<float>(sum));
}

TEST(Workload, WarnsWhenKvStorageHasNothingToStore) {
  const Source source("floats.hlo", kFloats);
  Diagnostics diagnostics(source);
  Contract contract;
  contract.kv_storage = oracle::Storage::kMxfp8;
  const auto workload = load_workload(source, "floats", contract, diagnostics);
  ASSERT_TRUE(workload.ok());
  EXPECT_TRUE(workload->stored.empty());
  ASSERT_EQ(diagnostics.all().size(), 1u);
  EXPECT_EQ(diagnostics.render_all(),
            "floats.hlo: warning: kv_storage has no effect: no attention with computed keys or values was "
            "recognised\n");
}

constexpr const char* kAttention =
    "HloModule attention\n"
    "sum {\n"
    "  a = f32[] parameter(0)\n"
    "  c = f32[] parameter(1)\n"
    "  ROOT r = f32[] add(a, c)\n"
    "}\n"
    "ENTRY main {\n"
    "  q = f32[4,8] parameter(0)\n"
    "  k = f32[4,8] parameter(1)\n"
    "  w = f32[8,8] parameter(2)\n"
    "  v = f32[4,8] dot(k, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "  s = f32[4,4] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
    "  e = f32[4,4] exponential(s)\n"
    "  zero = f32[] constant(0)\n"
    "  t = f32[4] reduce(e, zero), dimensions={1}, to_apply=sum\n"
    "  b = f32[4,4] broadcast(t), dimensions={0}\n"
    "  p = f32[4,4] divide(e, b)\n"
    "  ROOT o = f32[4,8] dot(p, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    "}\n";

TEST(Workload, ComputedValuesAreStoredAndKeysThatAreInputsAreNot) {
  const Source source("attention.hlo", kAttention);
  const auto load = [&](std::optional<oracle::Storage> kv) {
    Diagnostics diagnostics(source);
    Contract contract;
    contract.default_storage = oracle::Storage::kMxfp8;
    contract.kv_storage = kv;
    return *load_workload(source, "attention", contract, diagnostics);
  };
  const Workload stored = load({});
  ASSERT_EQ(stored.stored.size(), 1u);
  EXPECT_EQ(stored.stored[0].name, "v");
  EXPECT_EQ(stored.stored[0].dim, 1);
  const auto& option = *stored.message.contract->options.back();
  EXPECT_EQ(option.key + " " + option.text, "kv_storage mxfp8");
  const Workload exact = load(oracle::Storage::kExact);
  EXPECT_TRUE(exact.stored.empty());
  const auto with = make_reference(stored), without = make_reference(exact);
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_EQ(with->inputs, without->inputs);
  EXPECT_NE(with->outputs, without->outputs);
}

TEST(Workload, RefusesStorageThatCannotBe) {
  Contract contract;
  contract.storage["n"] = oracle::Storage::kMxfp8;
  EXPECT_EQ(load_floats(contract, "").status().message(),
            "the contract stores the input 'n' as mxfp8, and it is s32[2,4]; only bf16, f32 and f64 can be");
  contract.storage = {{"v", oracle::Storage::kExact}};
  EXPECT_EQ(load_floats(contract, "").status().message(),
            "the contract names the input 'v', which is no parameter of the HLO; did you mean 'x'?");
  EXPECT_EQ(load_floats({}, "fp7").status().message(),
            "the target stores tensors as 'fp7'; known formats: exact, mxfp8");
}

TEST(Workload, TheHashCoversTheContract) {
  const Source source("linear.hlo", kLinear);
  const auto hash = [&](const Contract& contract) {
    Diagnostics diagnostics(source);
    return load_workload(source, "linear", contract, diagnostics)->message.hash;
  };
  Contract seeded, ranged;
  seeded.seed = 2;
  ranged.inputs["x"] = {oracle::Distribution::kUniform, -1, 1};
  EXPECT_EQ(hash({}), hash({}));
  EXPECT_NE(hash({}), hash(seeded));
  EXPECT_NE(hash({}), hash(ranged));
}

TEST(Workload, AContractForAnUnknownInputIsAnErrorWithASuggestion) {
  const Source source("linear.hlo", kLinear);
  Diagnostics diagnostics(source);
  Contract contract;
  contract.inputs["xx"] = {};
  EXPECT_EQ(load_workload(source, "linear", contract, diagnostics).status().message(),
            "the contract names the input 'xx', which is no parameter of the HLO; did you mean 'x'?");
}

}  // namespace
}  // namespace zomboss::evaluate
