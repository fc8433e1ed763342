#include <cmath>

#include "core/oracle/storage.h"
#include "core/oracle/test_util.h"

namespace zomboss::oracle {
namespace {

Tensor input() {
  std::vector<float> values;
  for (int i = 0; i < 32; ++i)
    values.push_back(std::ldexp(std::sin(static_cast<float>(i)), i % 4 * 3 - i / 8 * 2));
  return make_tensor<float>(DType::F32, {4, 8}, values);
}

// The values of `tensor` times `factor`, stored in blocks along `dim`.
std::vector<float> expected(double factor, int64_t dim) {
  const auto values = tensor_values<float>(input());
  std::vector<double> wide;
  for (const float value : values) wide.push_back(value * factor);
  round_store(wide, std::vector<int64_t>{4, 8}, dim);
  return {wide.begin(), wide.end()};
}

StoredValue stored(const hlo::Module& module, const std::string& name, int64_t dim) {
  for (const hlo::Computation& computation : module.computations)
    for (const hlo::Instruction& instruction : computation.instructions)
      if (instruction.name == name) return {name, instruction.where, dim};
  ADD_FAILURE() << "no " << name;
  return {};
}

Options with(std::vector<StoredValue> values) {
  Options options;
  options.rounding = Rounding::kWide;
  options.stored = std::move(values);
  return options;
}

constexpr const char* kEntry =
    "x = f32[4,8] parameter(0)\n"
    "k = f32[4,8] add(x, x)\n"
    "ROOT t = f32[8,4] transpose(k), dimensions={1,0}";

TEST(StoredValues, AreRoundedAlongTheNamedDimBeforeTheirUsers) {
  const hlo::Module module = parse_entry(kEntry);
  for (const int64_t dim : {0, 1}) {
    const auto result = tensor_values<float>(run(module, {input()}, with({stored(module, "k", dim)})));
    const auto want = expected(2, dim);
    for (size_t r = 0; r < 4; ++r)
      for (size_t c = 0; c < 8; ++c) EXPECT_EQ(result[c * 4 + r], want[r * 8 + c]);
  }
  EXPECT_NE(expected(2, 0), expected(2, 1));
}

TEST(StoredValues, LeaveAnOperandAloneWhoseArrayTheyShare) {
  // A reshape to the same shape gives the same array; only the stored one is rounded.
  const hlo::Module module = parse_entry(
      "x = f32[4,8] parameter(0)\n"
      "k = f32[4,8] copy(x)\n"
      "ROOT y = f32[4,8] subtract(k, x)");
  const auto values = tensor_values<float>(input());
  const auto result = tensor_values<float>(run(module, {input()}, with({stored(module, "k", 1)})));
  const auto want = expected(1, 1);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(result[i], want[i] - values[i]);
}

std::string with_helper(const std::string& entry) {
  return "HloModule m\nhelper {\n  a = f32[4,8] parameter(0)\n  ROOT k = f32[4,8] add(a, a)\n}\n"
         "ENTRY e {\n  x = f32[4,8] parameter(0)\n" +
         entry + "}\n";
}

TEST(StoredValues, WorkInsideACalledComputation) {
  const hlo::Module once = parse(with_helper("  ROOT y = f32[4,8] call(x), to_apply=helper\n"));
  EXPECT_EQ(tensor_values<float>(run(once, {input()}, with({stored(once, "k", 1)}))), expected(2, 1));
  const hlo::Module twice =
      parse(with_helper("  p = f32[4,8] call(x), to_apply=helper\n  q = f32[4,8] call(x), to_apply=helper\n"
                        "  ROOT y = f32[4,8] add(p, q)\n"));
  const StoredValue k = stored(twice, "k", 1);
  auto want = expected(2, 1);
  for (float& value : want) value *= 2;
  EXPECT_EQ(tensor_values<float>(run(twice, {input()}, with({k, k}))), want);
  EXPECT_EQ(evaluate(twice, std::vector<Tensor>{input()}, with({k})).status().message(),
            "m:4:8: 'k' is in a computation that is called 2 times, and stored once; "
            "write it outside of that computation");
}

TEST(StoredValues, RefuseWhatTheyCannotMean) {
  const hlo::Module module = parse_entry(kEntry);
  const auto refusal = [&](const StoredValue& value) {
    return evaluate(module, std::vector<Tensor>{input()}, with({value})).status().message();
  };
  EXPECT_EQ(refusal({"z", {1, 1}, 0}), "test:1:1: 'z' is no instruction of the module and cannot be stored");
  EXPECT_EQ(refusal(stored(module, "k", 2)),
            "test:4:1: 'k' is f32[4,8] and cannot be stored in blocks along dim 2");
  const hlo::Module loop = parse(
      "HloModule m\ncond {\n  a = f32[4,8] parameter(0)\n  ROOT f = pred[] constant(false)\n}\n"
      "body {\n  a = f32[4,8] parameter(0)\n  ROOT k = f32[4,8] add(a, a)\n}\n"
      "ENTRY e {\n  x = f32[4,8] parameter(0)\n"
      "  ROOT y = f32[4,8] while(x), condition=cond, body=body\n}\n");
  EXPECT_EQ(evaluate(loop, std::vector<Tensor>{input()}, with({stored(loop, "k", 1)})).status().message(),
            "m:8:8: 'k' is stored and computed in a loop, branch or reducer; write it outside of it");
}

}  // namespace
}  // namespace zomboss::oracle
