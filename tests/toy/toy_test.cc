// Loads toy as the host does and drives all of its operations.
#include <gtest/gtest.h>

#include <chrono>

#include "core/wire/call.h"
#include "host/loader/loader.h"
#include "tests/toy/toy_model.h"

namespace zomboss {
namespace {

using toy::Decisions;

class Toy : public ::testing::Test {
 protected:
  void open(const std::vector<std::pair<std::string, std::string>>& texts,
            const std::vector<std::pair<std::string, int64_t>>& numbers = {}) {
    context_.plugin = "target toy";
    wire::OptionsT options;
    const auto add = [&](const std::string& key) -> wire::AttributeT& {
      options.values.push_back(std::make_unique<wire::AttributeT>());
      options.values.back()->key = key;
      return *options.values.back();
    };
    for (const auto& [key, text] : texts) add(key).text = text;
    for (const auto& [key, number] : numbers) add(key).ints = {number};
    const auto plugin = loader_.load("toy", loader::Kind::kTarget);
    ASSERT_TRUE(plugin.ok()) << plugin.status().message();
    plugin_ = *plugin;
    const std::string config = encode(options);
    const Status created = wire::call_status(context_, "create", [&](const zb_call* call) {
      return plugin_->descriptor->create(call, wire::to_zb_bytes(config), &instance_);
    });
    ASSERT_TRUE(created.ok()) << created.message();
    wire::ModelT model;
    model.target = "toy";
    model.spec_hash = "hash";
    model.params.push_back(std::make_unique<wire::ParamT>());
    model.params[0]->name = "DIM";
    model.params[0]->value = 8;
    model.memories.push_back(std::make_unique<wire::MemoryT>());
    model.memories[0]->name = "spad";
    model.memories[0]->rows = 256;
    model.memories[0]->unit_bytes = 8;
    const std::string bytes = encode(model);
    const Status configured = wire::call_status(context_, "configure", [&](const zb_call* call) {
      return plugin_->target->configure(instance_, call, wire::to_zb_bytes(bytes));
    });
    ASSERT_TRUE(configured.ok()) << configured.message();
  }
  void TearDown() override {
    if (instance_ != nullptr) plugin_->descriptor->destroy(instance_);
  }

  static wire::WorkloadT workload(int64_t m, int64_t n, int64_t k) {
    wire::WorkloadT workload;
    workload.name = "w";
    workload.hash = "h";
    const auto node = [&](const char* op, wire::DType dtype, int64_t rows, int64_t columns) {
      auto message = std::make_unique<wire::NodeT>();
      message->id = static_cast<uint32_t>(workload.nodes.size());
      message->op = op;
      message->type = std::make_unique<wire::TensorTypeT>();
      message->type->dtype = dtype;
      message->type->dims = {rows, columns};
      workload.nodes.push_back(std::move(message));
    };
    node("parameter", wire::DType::S8, m, k);
    node("parameter", wire::DType::S8, k, n);
    node("matmul", wire::DType::S32, m, n);
    workload.nodes[2]->operands = {0, 1};
    for (const auto& [key, dim] : {std::pair("lhs_contract", 1), std::pair("rhs_contract", 0)}) {
      workload.nodes[2]->attributes.push_back(std::make_unique<wire::AttributeT>());
      workload.nodes[2]->attributes.back()->key = key;
      workload.nodes[2]->attributes.back()->ints = {dim};
    }
    workload.inputs = {0, 1};
    workload.outputs = {2};
    return workload;
  }
  static wire::PlanT plan(const Decisions& d) {
    wire::PlanT plan;
    plan.target = "toy";
    plan.workload = "w";
    plan.hash = "p";
    plan.sections.push_back(std::make_unique<wire::SectionT>());
    for (const auto& [name, value] :
         std::vector<std::pair<const char*, int64_t>>{{"tile_m", d.tile_m},
                                                      {"tile_n", d.tile_n},
                                                      {"buffering", d.buffering},
                                                      {"loop_order", d.loop_order},
                                                      {"unroll_k", d.unroll_k}}) {
      plan.sections[0]->decisions.push_back(std::make_unique<wire::DecisionT>());
      plan.sections[0]->decisions.back()->knob = name;
      plan.sections[0]->decisions.back()->value = value;
    }
    return plan;
  }
  Result<wire::SurfaceT> surface(const wire::WorkloadT& workload) {
    const std::string bytes = encode(workload);
    return wire::call_message<wire::SurfaceT>(context_, "surface", [&](const zb_call* call) {
      return plugin_->target->surface(instance_, call, wire::to_zb_bytes(bytes));
    });
  }
  // 2x3 times 3x2 with the plan.
  Result<wire::SimulationT> run(const Decisions& decisions) {
    const std::string w = encode(workload(2, 2, 3));
    const std::string p = encode(plan(decisions));
    ZB_ASSIGN(const std::string program, wire::call_bytes(context_, "lower", [&](const zb_call* call) {
                return plugin_->target->lower(instance_, call, wire::to_zb_bytes(w), wire::to_zb_bytes(p));
              }));
    wire::TensorsT inputs;
    for (const auto& [dims, data] :
         {std::pair(std::vector<int64_t>{2, 3}, std::vector<uint8_t>{1, 2, 3, 255, 0, 128}),
          std::pair(std::vector<int64_t>{3, 2}, std::vector<uint8_t>{1, 0, 0, 1, 2, 2})}) {
      inputs.tensors.push_back(std::make_unique<wire::TensorT>());
      inputs.tensors.back()->name = "x";
      inputs.tensors.back()->type = std::make_unique<wire::TensorTypeT>();
      inputs.tensors.back()->type->dtype = wire::DType::S8;
      inputs.tensors.back()->type->dims = dims;
      inputs.tensors.back()->data = data;
    }
    const std::string i = encode(inputs);
    return wire::call_message<wire::SimulationT>(context_, "simulate", [&](const zb_call* call) {
      return plugin_->target->simulate(instance_, call, wire::to_zb_bytes(program), wire::to_zb_bytes(i));
    });
  }
  static std::vector<int32_t> outputs(const wire::SimulationT& simulation) {
    const std::vector<uint8_t>& data = simulation.outputs[0]->data;
    std::vector<int32_t> values(data.size() / 4);
    std::memcpy(values.data(), data.data(), values.size() * 4);
    return values;
  }

  loader::Loader loader_{{loader::search_path_of({ZB_BINARY_DIR "/tests/plugins"}), {}}};
  wire::CallContext context_;
  const loader::Plugin* plugin_ = nullptr;
  zb_instance* instance_ = nullptr;
};

TEST_F(Toy, ComputesTheProductAndTheClosedFormLatency) {
  open({});
  const auto simulation = run({});
  ASSERT_TRUE(simulation.ok()) << simulation.status().message();
  EXPECT_EQ(outputs(*simulation), (std::vector<int32_t>{7, 8, -257, -256}));
  EXPECT_EQ(simulation->latency, toy::latency_cycles({2, 2, 3}, {}));
}

TEST_F(Toy, CatalogHasExactlyTheMappingsThatFit) {
  open({{"surface", "catalog"}});
  const auto catalog = surface(workload(64, 64, 64));
  ASSERT_TRUE(catalog.ok()) << catalog.status().message();
  // 16 tile pairs: products 64..4096 in powers of two; at most 2048 bytes single, 1024 double.
  EXPECT_EQ(catalog->catalog.size(), 5u * 2 * 4 * (15 + 13));
}

TEST_F(Toy, HasOneOptimumThatNeedsSeveralDecisionsTogether) {
  open({{"surface", "catalog"}});
  const auto catalog = surface(workload(64, 64, 64));
  const toy::Problem problem{64, 64, 64};
  uint64_t best = UINT64_MAX;
  std::vector<Decisions> optima;
  for (size_t i = 0; i < catalog->catalog.size(); i += 5) {
    const int64_t* row = &catalog->catalog[i];
    const Decisions d{row[0], row[1], row[2], row[3], row[4]};
    const uint64_t latency = toy::latency_cycles(problem, d);
    if (latency < best) optima.clear();
    best = std::min(best, latency);
    if (latency == best) optima.push_back(d);
  }
  ASSERT_EQ(optima.size(), 1u);
  EXPECT_EQ(optima[0], (Decisions{32, 16, 2, 0, 3}));
  EXPECT_GT(toy::latency_cycles(problem, {}), 5 * best / 2);
}

TEST_F(Toy, MisbehavesAsAskedWhereAsked) {
  open({{"fault", "zeros"}, {"fault_knob", "unroll_k"}}, {{"fault_value", 2}});
  EXPECT_EQ(outputs(*run({})), (std::vector<int32_t>{7, 8, -257, -256}));
  EXPECT_EQ(outputs(*run({.unroll_k = 2})), (std::vector<int32_t>{0, 0, 0, 0}));
}
TEST_F(Toy, CanGiveTheIdentity) {
  open({{"fault", "identity"}});
  EXPECT_EQ(outputs(*run({})), (std::vector<int32_t>{1, 0, 0, 1}));
}
TEST_F(Toy, CanBeOffByOne) {
  open({{"fault", "off-by-one"}});
  EXPECT_EQ(outputs(*run({})), (std::vector<int32_t>{7, 8, -257, -255}));
}
TEST_F(Toy, CanFailThrowAndFlood) {
  open({{"fault", "error"}});
  EXPECT_EQ(run({}).status().message(), "target toy: simulate: toy fails on purpose");
  plugin_->descriptor->destroy(std::exchange(instance_, nullptr));
  open({{"fault", "throw"}});
  EXPECT_EQ(run({}).status().message(), "target toy: simulate: the plugin threw: toy throws on purpose");
  plugin_->descriptor->destroy(std::exchange(instance_, nullptr));
  open({{"fault", "huge"}});
  context_.answer_limit = 1 << 20;
  EXPECT_EQ(run({}).status().code(), Code::kInternal);
}
TEST_F(Toy, SlowOneStopsAtItsDeadline) {
  open({{"fault", "slow"}}, {{"slow_ms", 60'000}});
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  context_.deadline_ns =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) + 20'000'000;
  EXPECT_EQ(run({}).status().code(), Code::kDeadlineExceeded);
}

TEST_F(Toy, NamesALibraryPlanAndStatesScenariosWhenAsked) {
  open({});
  EXPECT_TRUE(surface(workload(4, 4, 4))->references.empty());
  EXPECT_TRUE(run({})->scenarios.empty());
  plugin_->descriptor->destroy(std::exchange(instance_, nullptr));
  open({{"reference", "library"}, {"scenarios", "fair"}});
  const auto named = surface(workload(4, 4, 4));
  ASSERT_EQ(named->references.size(), 1u);
  EXPECT_EQ(named->references[0]->name, "library");
  EXPECT_EQ(named->references[0]->values, (std::vector<int64_t>{16, 16, 2, 0, 2}));
  const auto simulated = run({});
  ASSERT_EQ(simulated->scenarios.size(), 2u);
  EXPECT_EQ(simulated->scenarios[0]->latency, simulated->latency);
  EXPECT_EQ(simulated->scenarios[1]->name, "delay=8");
  EXPECT_GT(simulated->scenarios[1]->latency, simulated->latency);
}

TEST_F(Toy, RefusesOtherWorkloadsAndDamagedPrograms) {
  open({});
  wire::WorkloadT relu = workload(4, 4, 4);
  relu.nodes[2]->op = "relu";
  EXPECT_EQ(surface(relu).status().code(), Code::kUnimplemented);
  wire::WorkloadT dangling = workload(4, 4, 4);
  dangling.inputs = {0, 77};
  dangling.nodes[2]->operands = {0, 77};
  EXPECT_EQ(surface(dangling).status().code(), Code::kUnimplemented);
  EXPECT_EQ(run({.tile_m = 64, .tile_n = 64}).status().message(),
            "target toy: lower: the plan does not fit the scratchpad of toy");
}

}  // namespace
}  // namespace zomboss
