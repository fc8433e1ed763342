// Binaries that were built against ABI 1.0 and committed: every later host loads and drives them.
#include "tests/abi/instance.h"
#include "tests/badplugins/support.h"
#include "zomboss/sdk/plugin.h"

namespace zomboss::abi {
namespace {

using namespace std::string_literals;

class Frozen : public ::testing::Test {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "the frozen binaries are for x86-64";
#endif
    if (sdk::kSanitizer != ZB_SANITIZER_NONE)
      GTEST_SKIP() << "the frozen binaries are built without a sanitizer";
  }
  const loader::Plugin* load(const std::string& id, loader::Kind kind) {
    // A copy, since a checkout may lie in a folder that everybody may write to.
    for (const std::string& file : {id + ".so", id + ".plugin.toml"})
      folder_.write(file, badplugins::read_file(ZB_SOURCE_DIR "/tests/abi/frozen/v1.0/" + file));
    loader_ =
        std::make_unique<loader::Loader>(loader::LoaderOptions{loader::search_path_of({folder_.path()}), {}});
    const auto plugin = loader_->load(id, kind);
    EXPECT_TRUE(plugin.ok()) << plugin.status().message();
    return plugin.ok() ? *plugin : nullptr;
  }
  badplugins::Folder folder_;
  std::unique_ptr<loader::Loader> loader_;
};

TEST_F(Frozen, TargetAnswersAllOperations) {
  const loader::Plugin* plugin = load("frozen_target", loader::Kind::kTarget);
  ASSERT_NE(plugin, nullptr);
  EXPECT_EQ(plugin->descriptor->abi_minor, 0);
  Instance target(*plugin);
  ASSERT_TRUE(target.created.ok()) << target.created.message();
  EXPECT_EQ(target.logged, std::vector<std::string>{"created"});
  const zb_target& table = *plugin->target;
  EXPECT_EQ(target.bytes(table.describe)->substr(0, 20), "target frozen_target");
  EXPECT_EQ(target.bytes(table.surface, "workload"s).status().message(),
            "frozen_target: run: surface before configure");
  ASSERT_TRUE(target.run(table.configure, "model"s).ok());
  const auto surface = target.message<wire::SurfaceT>(table.surface, "workload"s);
  ASSERT_TRUE(surface.ok()) << surface.status().message();
  EXPECT_EQ(surface->target, "frozen_target");
  ASSERT_EQ(surface->knobs.size(), 1u);
  EXPECT_EQ(surface->knobs[0]->values, (std::vector<int64_t>{8, 16, 32}));
  EXPECT_EQ(surface->knobs[0]->default_policy, wire::DefaultPolicy::Smallest);
  ASSERT_EQ(surface->constraints.size(), 1u);
  EXPECT_EQ(surface->constraints[0]->needs, "tile_m");
  const auto program = target.bytes(table.lower, "workload"s, "plan"s);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(decode<wire::ProgramT>(as_bytes(*program))->code, (std::vector<uint8_t>{1, 2, 3, 4}));
  const auto simulation = target.message<wire::SimulationT>(table.simulate, *program, "inputs"s);
  ASSERT_TRUE(simulation.ok()) << simulation.status().message();
  EXPECT_EQ(simulation->latency, 1234u);
  EXPECT_EQ(simulation->outputs[0]->data, (std::vector<uint8_t>{7, 0, 0, 0, 255, 255, 255, 255}));
  EXPECT_EQ(target.bytes(table.simulate, "damaged"s, "inputs"s).status().code(), Code::kDataLoss);
}

TEST_F(Frozen, TargetOffersItsExtensionAndNoOther) {
  const loader::Plugin* plugin = load("frozen_target", loader::Kind::kTarget);
  ASSERT_NE(plugin, nullptr);
  Instance target(*plugin);
  const auto* bound = plugin->extension<zb_target_bound>(ZB_TARGET_BOUND_ID);
  ASSERT_NE(bound, nullptr);
  EXPECT_EQ(target.message<wire::BoundT>(bound->run, "workload"s)->latency, 1000);
  EXPECT_EQ(plugin->extension<zb_target_export>(ZB_TARGET_EXPORT_ID), nullptr);
  EXPECT_EQ(plugin->extension<zb_target_bound>(ZB_TARGET_BOUND_ID "0"), nullptr);
  EXPECT_EQ(plugin->extension<zb_target_bound>(""), nullptr);
}

TEST_F(Frozen, PolicyProposesObservesSavesAndLoads) {
  const loader::Plugin* plugin = load("frozen_policy", loader::Kind::kPolicy);
  ASSERT_NE(plugin, nullptr);
  const zb_policy& table = *plugin->policy;
  Instance policy(*plugin);
  ASSERT_TRUE(policy.created.ok());
  ASSERT_TRUE(policy.run(table.start, "context"s).ok());
  const auto proposal = policy.message<wire::ProposalT>(table.propose, "state"s);
  ASSERT_TRUE(proposal.ok()) << proposal.status().message();
  EXPECT_EQ(proposal->intents[0]->assignments[0]->knob, "tile_m");
  EXPECT_EQ(proposal->intents[0]->assignments[0]->strength, wire::Strength::Preferred);
  ASSERT_TRUE(policy.run(table.observe, "feedback"s).ok());
  const auto state = policy.bytes(table.save);
  ASSERT_TRUE(state.ok());
  Instance resumed(*plugin);
  ASSERT_TRUE(resumed.run(table.start, "context"s).ok());
  EXPECT_EQ(resumed.run(table.load, "rubbish"s).code(), Code::kDataLoss);
  ASSERT_TRUE(resumed.run(table.load, *state).ok());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(resumed.message<wire::ProposalT>(table.propose, "state"s)->kind, wire::ProposalKind::Intents);
  EXPECT_EQ(resumed.message<wire::ProposalT>(table.propose, "state"s)->kind, wire::ProposalKind::Stop);
  EXPECT_EQ(Instance(*plugin).created.message(), "frozen_policy: create: only two instances");
}

// What a later host hands over: a zb_call that has grown at its end.
TEST_F(Frozen, PluginRunsUnderAHostWithALargerCall) {
  const loader::Plugin* plugin = load("frozen_policy", loader::Kind::kPolicy);
  ASSERT_NE(plugin, nullptr);
  struct LaterCall {
    zb_call base;
    void* fields_of_a_later_minor[8];
  };
  LaterCall later{};
  later.base.struct_size = sizeof later;
  static std::string emitted;
  later.base.emit = [](const zb_call*, zb_bytes payload) {
    emitted.assign(reinterpret_cast<const char*>(payload.data), payload.size);
  };
  Instance policy(*plugin);
  ASSERT_EQ(plugin->policy->start(policy.get(), &later.base, wire::to_zb_bytes("context")), ZB_OK);
  ASSERT_EQ(plugin->policy->propose(policy.get(), &later.base, {nullptr, 0}), ZB_OK);
  EXPECT_TRUE(decode<wire::ProposalT>(as_bytes(emitted)).ok());
}

}  // namespace
}  // namespace zomboss::abi
