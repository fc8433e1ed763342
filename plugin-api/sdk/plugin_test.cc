#include "zomboss/sdk/plugin.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace zomboss::sdk {
namespace {

// The host's side of a call, recording.
struct Host {
  zb_call call{};
  zb_status status = ZB_OK;
  std::string reason;
  std::vector<std::string> answers;
  std::vector<std::string> logged;

  Host() {
    call.struct_size = sizeof call;
    call.host = this;
    call.deadline_ns = 42;
    call.cancelled = [](const zb_call*) { return int32_t{1}; };
    call.fail = [](const zb_call* c, zb_status code, zb_str text) {
      self(c).status = code;
      self(c).reason.assign(text.data, text.size);
    };
    call.log = [](const zb_call* c, zb_severity, zb_str text) {
      self(c).logged.emplace_back(text.data, text.size);
    };
    call.emit = [](const zb_call* c, zb_bytes bytes) {
      self(c).answers.emplace_back(reinterpret_cast<const char*>(bytes.data), bytes.size);
    };
    call.progress = [](const zb_call* c, double, zb_str text) {
      self(c).logged.emplace_back(text.data, text.size);
    };
  }
  static Host& self(const zb_call* call) { return *static_cast<Host*>(call->host); }
};

zb_bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// What an operation does is chosen by the option "do".
struct Minimal {
  std::string action;
  static inline int alive = 0;
  Minimal() { ++alive; }
  ~Minimal() { --alive; }

  static Result<std::unique_ptr<Minimal>> create(Call&, const wire::OptionsT& options) {
    auto plugin = std::make_unique<Minimal>();
    for (const auto& value : options.values) plugin->action = value->text;
    if (plugin->action == "refuse") return invalid_argument("refused");
    return plugin;
  }
  Result<std::string> describe(Call& call) {
    if (action == "runtime_error") throw std::runtime_error("oops");
    if (action == "int") throw 42;
    if (action == "bad_alloc") throw std::bad_alloc();
    call.log(ZB_INFO, "hello");
    call.progress(0.5, "half");
    return action + (call.cancelled() ? " cancelled " : " ") + std::to_string(call.deadline_ns());
  }
  Status configure(Call&, const wire::ModelT&) { return {}; }
  Result<wire::SurfaceT> surface(Call&, const wire::WorkloadT&) { return unimplemented("no surface"); }
  Result<wire::ProgramT> lower(Call&, const wire::WorkloadT&, const wire::PlanT&) {
    return internal_error("x");
  }
  Result<wire::SimulationT> simulate(Call&, const wire::ProgramT&, const wire::TensorsT&) {
    return internal_error("x");
  }
};
struct WithBound : Minimal {
  Result<wire::BoundT> bound(Call&, const wire::WorkloadT&) { return internal_error("x"); }
};

std::string options_with(const std::string& action) {
  wire::OptionsT options;
  options.values.push_back(std::make_unique<wire::AttributeT>());
  options.values[0]->key = "do";
  options.values[0]->text = action;
  return encode(options);
}

Host describe(const std::string& action) {
  Host host;
  zb_instance* instance = nullptr;
  const std::string config = options_with(action);
  EXPECT_EQ(create<Minimal>(&host.call, bytes_of(config), &instance), ZB_OK);
  const zb_status status = TargetTable<Minimal>::describe(instance, &host.call);
  EXPECT_EQ(status, host.status);
  destroy<Minimal>(instance);
  return host;
}

TEST(Plugin, AnswerReachesTheHostWithItsLog) {
  const Host host = describe("fine");
  EXPECT_EQ(host.answers, std::vector<std::string>{"fine cancelled 42"});
  EXPECT_EQ(host.logged, (std::vector<std::string>{"hello", "half"}));
}

TEST(Plugin, ExceptionsNeverCross) {
  EXPECT_EQ(describe("runtime_error").reason, "the plugin threw: oops");
  EXPECT_EQ(describe("int").reason, "the plugin threw something that is not a std::exception");
  const Host host = describe("bad_alloc");
  EXPECT_EQ(host.reason, "the plugin ran out of memory");
  EXPECT_EQ(host.status, ZB_RESOURCE_EXHAUSTED);
  EXPECT_TRUE(host.answers.empty());
}

TEST(Plugin, CreateFailsWithoutLeavingAnInstance) {
  Host host;
  auto* instance = reinterpret_cast<zb_instance*>(&host);
  const std::string refuse = options_with("refuse");
  EXPECT_EQ(create<Minimal>(&host.call, bytes_of(refuse), &instance), ZB_INVALID_ARGUMENT);
  EXPECT_EQ(instance, nullptr);
  EXPECT_EQ(host.reason, "refused");
  EXPECT_EQ(create<Minimal>(&host.call, bytes_of("garbage!garbage!"), &instance), ZB_DATA_LOSS);
  EXPECT_EQ(Minimal::alive, 0);
  EXPECT_EQ(create<Minimal>(&host.call, {nullptr, 0}, &instance), ZB_OK)
      << "no configuration is an empty one";
  destroy<Minimal>(instance);
  EXPECT_EQ(Minimal::alive, 0);
}

TEST(Plugin, DamagedMessagesStopBeforeTheClass) {
  Host host;
  zb_instance* instance = nullptr;
  ASSERT_EQ(create<Minimal>(&host.call, {nullptr, 0}, &instance), ZB_OK);
  EXPECT_EQ(TargetTable<Minimal>::configure(instance, &host.call, bytes_of("not a model at all")),
            ZB_DATA_LOSS);
  EXPECT_EQ(TargetTable<Minimal>::surface(instance, &host.call, {nullptr, 0}), ZB_DATA_LOSS);
  EXPECT_EQ(host.reason, "not a valid Workload message of 0 bytes: too short");
  destroy<Minimal>(instance);
}

TEST(Plugin, OptionalExtensionsAreOfferedIffTheClassHasThem) {
  EXPECT_NE(TargetTable<Minimal>::extension(as_str(ZB_TARGET_ID)), nullptr);
  EXPECT_EQ(TargetTable<Minimal>::extension(as_str(ZB_TARGET_BOUND_ID)), nullptr);
  EXPECT_NE(TargetTable<WithBound>::extension(as_str(ZB_TARGET_BOUND_ID)), nullptr);
  EXPECT_EQ(TargetTable<WithBound>::extension(as_str(ZB_TARGET_SCHEDULE_ID)), nullptr);
  EXPECT_EQ(TargetTable<WithBound>::extension(as_str(ZB_POLICY_ID)), nullptr);
  EXPECT_EQ(TargetTable<WithBound>::extension({nullptr, 0}), nullptr);
}

}  // namespace
}  // namespace zomboss::sdk
