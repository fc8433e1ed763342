// Plugins that load but break the rules of a call: what core/wire says of each.
#include "core/wire/call.h"
#include "tests/badplugins/support.h"

namespace zomboss::badplugins {
namespace {

// Creates an instance and calls start, then propose. The first error, or "stopped" for a Stop proposal.
std::string drive(const std::string& id, bool start = false, const std::string& config = {}) {
  static loader::Loader loader({loader::search_path_of({kPlugins}), {}});
  const auto plugin = loader.load(id, loader::Kind::kPolicy);
  if (!plugin.ok()) return plugin.status().message();
  wire::CallContext context;
  context.plugin = "policy " + id;
  zb_instance* instance = nullptr;
  Status status = wire::call_status(context, "create", [&](const zb_call* call) {
    return (*plugin)->descriptor->create(call, wire::to_zb_bytes(config), &instance);
  });
  if (!status.ok()) return status.message();
  const std::string state = encode(wire::SearchStateT());
  const auto propose = [&](const zb_call* call) {
    return (*plugin)->policy->propose(instance, call, wire::to_zb_bytes(state));
  };
  std::string text = "stopped";
  if (start) {
    status = wire::call_status(context, "start", [&](const zb_call* call) {
      return (*plugin)->policy->start(instance, call, {nullptr, 0});
    });
    text = status.message();
  } else if (auto proposal = wire::call_message<wire::ProposalT>(context, "propose", propose);
             !proposal.ok()) {
    text = proposal.status().message();
  } else if (proposal->kind != wire::ProposalKind::Stop) {
    text = "another proposal";
  }
  (*plugin)->descriptor->destroy(instance);
  return text;
}

TEST(BadCall, ControlAnswersProperly) {
  EXPECT_EQ(drive("good"), "stopped");
}
TEST(BadCall, GarbageIsNotAMessage) {
  EXPECT_EQ(drive("emits_garbage"),
            "policy emits_garbage: propose: not a valid Proposal message of 22 bytes: wrong identifier");
}
TEST(BadCall, EmptyAnswerIsNotAMessage) {
  EXPECT_EQ(drive("emits_empty"),
            "policy emits_empty: propose: not a valid Proposal message of 0 bytes: too short");
}
TEST(BadCall, AnswerWithoutDataIsAnError) {
  EXPECT_EQ(drive("emits_null"),
            "policy emits_null: propose: the plugin broke the ABI's rules: its answer of 100 bytes is larger "
            "than the limit of 1073741824 bytes or has no data");
}
TEST(BadCall, OkWithoutAnswerIsAnError) {
  EXPECT_EQ(
      drive("emits_nothing"),
      "policy emits_nothing: propose: the plugin broke the ABI's rules: it returned ok without an answer");
}
TEST(BadCall, TwoAnswersAreAnError) {
  EXPECT_EQ(
      drive("emits_twice"),
      "policy emits_twice: propose: the plugin broke the ABI's rules: it answered 2 times instead of once");
}
TEST(BadCall, FailureWithoutReasonIsAnError) {
  EXPECT_EQ(drive("fails_silently"),
            "policy fails_silently: propose: the plugin broke the ABI's rules: it returned status 13 without "
            "a reason");
}
TEST(BadCall, UnknownStatusKeepsItsReason) {
  EXPECT_EQ(drive("fails_oddly"), "policy fails_oddly: propose: it went wrong");
}
TEST(BadCall, OkAfterFailIsAnError) {
  EXPECT_EQ(drive("ok_after_fail"),
            "policy ok_after_fail: propose: the plugin broke the ABI's rules: it returned ok after reporting "
            "the failure 'it went wrong'");
}
TEST(BadCall, AnswerWhereNoneBelongsIsAnError) {
  EXPECT_EQ(drive("answers_start", true),
            "policy answers_start: start: the plugin broke the ABI's rules: it answered where no answer is "
            "expected");
}
TEST(BadCall, ExceptionInCreateBecomesAnError) {
  EXPECT_EQ(drive("throwing"), "policy throwing: create: the plugin threw: no options");
}

TEST(BadCall, ExceptionsInOperationsBecomeErrors) {
  wire::OptionsT options;
  options.values.push_back(std::make_unique<wire::AttributeT>());
  options.values[0]->key = "any";
  EXPECT_EQ(drive("throwing", false, encode(options)),
            "policy throwing: propose: the plugin ran out of memory");
}
TEST(BadCall, GarbageFromTheHostIsAnErrorOfThePlugin) {
  EXPECT_EQ(drive("throwing", false, "garbage instead of options"),
            "policy throwing: create: not a valid Options message of 26 bytes: wrong identifier");
}

}  // namespace
}  // namespace zomboss::badplugins
