#include "core/search/policy.h"

#include <fmt/format.h>

namespace zomboss::search {
namespace {

using wire::call_status;
using wire::to_zb_bytes;

class PluginPolicy final : public Policy {
 public:
  PluginPolicy(const zb_plugin& plugin, const zb_policy& table, wire::CallContext context)
      : plugin_(plugin), table_(table), context_(std::move(context)) {}
  ~PluginPolicy() override {
    if (instance_ != nullptr) plugin_.destroy(instance_);
  }

  Status create(const wire::OptionsT& options) {
    const std::string config = encode(options);
    ZB_TRY(call_status(context_, "create", [&](const zb_call* call) {
      return plugin_.create(call, to_zb_bytes(config), &instance_);
    }));
    if (instance_ == nullptr)
      return internal_error(context_.plugin + ": create returned ok without an instance");
    return {};
  }

  Status start(const wire::SearchContextT& context) override {
    const std::string message = encode(context);
    return call_status(context_, "start", [&](const zb_call* call) {
      return table_.start(instance_, call, to_zb_bytes(message));
    });
  }
  Result<wire::ProposalT> propose(const wire::SearchStateT& state) override {
    const std::string message = encode(state);
    return wire::call_message<wire::ProposalT>(context_, "propose", [&](const zb_call* call) {
      return table_.propose(instance_, call, to_zb_bytes(message));
    });
  }
  Status observe(const wire::FeedbackBatchT& feedback) override {
    const std::string message = encode(feedback);
    return call_status(context_, "observe", [&](const zb_call* call) {
      return table_.observe(instance_, call, to_zb_bytes(message));
    });
  }
  Result<std::string> save() override {
    return wire::call_bytes(context_, "save",
                            [&](const zb_call* call) { return table_.save(instance_, call); });
  }
  Status load(std::string_view state) override {
    return call_status(context_, "load",
                       [&](const zb_call* call) { return table_.load(instance_, call, to_zb_bytes(state)); });
  }

 private:
  const zb_plugin& plugin_;
  const zb_policy& table_;
  wire::CallContext context_;
  zb_instance* instance_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Policy>> open_policy(const zb_plugin& plugin, const wire::OptionsT& options,
                                            wire::LogFunction log) {
  wire::CallContext context;
  context.plugin = fmt::format("policy {} {}", std::string_view(plugin.id.data, plugin.id.size),
                               std::string_view(plugin.version.data, plugin.version.size));
  context.log = std::move(log);
  const auto* table = static_cast<const zb_policy*>(plugin.extension(wire::to_zb_str(ZB_POLICY_ID)));
  if (table == nullptr)
    return failed_precondition(fmt::format("{} has no extension {}", context.plugin, ZB_POLICY_ID));
  auto policy = std::make_unique<PluginPolicy>(plugin, *table, std::move(context));
  ZB_TRY(policy->create(options));
  return std::unique_ptr<Policy>(std::move(policy));
}

}  // namespace zomboss::search
