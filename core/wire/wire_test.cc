#include <gtest/gtest.h>

#include "core/wire/call.h"
#include "zomboss/sdk/random.h"

namespace zomboss {
namespace {

using wire::CallContext;
using wire::to_zb_bytes;
using wire::to_zb_str;

CallContext context() {
  CallContext context;
  context.plugin = "target t 1.0";
  context.answer_limit = 100;
  return context;
}

wire::PlanT small_plan() {
  wire::PlanT plan;
  plan.target = "t";
  plan.workload = "w";
  plan.hash = "h";
  auto section = std::make_unique<wire::SectionT>();
  section->decisions.push_back(std::make_unique<wire::DecisionT>());
  section->decisions[0]->knob = "tile_m";
  section->decisions[0]->value = 32;
  plan.sections.push_back(std::move(section));
  return plan;
}

TEST(Decode, RoundTripsAMessage) {
  const auto plan = decode<wire::PlanT>(as_bytes(encode(small_plan())));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->sections[0]->decisions[0]->knob, "tile_m");
  EXPECT_EQ(encode(*plan), encode(small_plan()));
}

TEST(Decode, RefusesOtherMessagesAndTruncationsAndNeverCrashesOnDamage) {
  const std::string bytes = encode(small_plan());
  EXPECT_EQ(decode<wire::SurfaceT>(as_bytes(bytes)).status().message(),
            "not a valid Surface message of " + std::to_string(bytes.size()) + " bytes: wrong identifier");
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto plan = decode<wire::PlanT>(as_bytes(std::string_view(bytes).substr(0, size)));
    EXPECT_TRUE(!plan.ok() || plan->target == "t");
  }
  Random random(1, 1);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 3; ++k) damaged[random.below(damaged.size())] = static_cast<char>(random.next_u32());
    (void)decode<wire::PlanT>(as_bytes(damaged));
  }
  DecodeLimits limits;
  limits.bytes = 10;
  EXPECT_EQ(decode<wire::PlanT>(as_bytes(bytes), limits).status().code(), Code::kDataLoss);
}

TEST(Call, CopiesTheAnswer) {
  const auto answer = wire::call_bytes(context(), "op", [](const zb_call* call) -> zb_status {
    std::string local = "abc";
    call->emit(call, to_zb_bytes(local));
    local = "xyz";
    return ZB_OK;
  });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer, "abc");
}

TEST(Call, NamesPluginOperationAndReasonOfAFailure) {
  const Status status = wire::call_status(context(), "lower", [](const zb_call* call) -> zb_status {
    call->fail(call, ZB_UNIMPLEMENTED, to_zb_str("no \x01 such\xff op"));
    return ZB_UNIMPLEMENTED;
  });
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_EQ(status.message(), "target t 1.0: lower: no ? such? op");
}

TEST(Call, ReportsEveryBrokenRule) {
  const auto text = [](const wire::CallFunction& operation) {
    return wire::call_bytes(context(), "op", operation).status().message();
  };
  const std::string broke = "target t 1.0: op: the plugin broke the ABI's rules: ";
  EXPECT_EQ(text([](const zb_call*) { return 7; }), broke + "it returned status 7 without a reason");
  EXPECT_EQ(text([](const zb_call*) { return 0; }), broke + "it returned ok without an answer");
  EXPECT_EQ(text([](const zb_call* c) {
              c->emit(c, {});
              c->emit(c, {});
              return 0;
            }),
            broke + "it answered 2 times instead of once");
  EXPECT_EQ(text([](const zb_call* c) {
              c->fail(c, 3, to_zb_str("x"));
              return 0;
            }),
            broke + "it returned ok after reporting the failure 'x'");
  EXPECT_EQ(text([](const zb_call* c) {
              const std::string s(101, 'x');
              c->emit(c, to_zb_bytes(s));
              return 0;
            }),
            broke + "its answer of 101 bytes is larger than the limit of 100 bytes or has no data");
  EXPECT_EQ(wire::call_status(context(), "op",
                              [](const zb_call* c) {
                                c->emit(c, {});
                                return 0;
                              })
                .message(),
            broke + "it answered where no answer is expected");
}

TEST(Call, MapsUnknownStatusCodesAndCutsLongReasons) {
  const Status status = wire::call_status(context(), "op", [](const zb_call* call) -> zb_status {
    call->fail(call, 99, to_zb_str(std::string(10000, 'a')));
    return 99;
  });
  EXPECT_EQ(status.code(), Code::kUnknown);
  EXPECT_LT(status.message().size(), 4200u);
}

}  // namespace
}  // namespace zomboss
