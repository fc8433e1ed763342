#include "core/search/policy.h"

namespace zomboss::search {
namespace {

using wire::Operation;

class PluginPolicy final : public Policy {
 public:
  explicit PluginPolicy(std::unique_ptr<wire::Instance> instance) : instance_(std::move(instance)) {}

  Status start(const wire::SearchContextT& context) override {
    return instance_->command(Operation::kStart, {encode(context)});
  }
  Result<wire::ProposalT> propose(const wire::SearchStateT& state) override {
    return instance_->message<wire::ProposalT>(Operation::kPropose, {encode(state)});
  }
  Status observe(const wire::FeedbackBatchT& feedback) override {
    return instance_->command(Operation::kObserve, {encode(feedback)});
  }
  Result<std::string> save() override { return instance_->call(Operation::kSave, {}); }
  Status load(std::string_view state) override { return instance_->command(Operation::kLoad, {state}); }

 private:
  std::unique_ptr<wire::Instance> instance_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(std::unique_ptr<wire::Instance> instance) {
  return std::make_unique<PluginPolicy>(std::move(instance));
}

Result<std::unique_ptr<Policy>> open_policy(const zb_plugin& plugin, const wire::OptionsT& options,
                                            wire::LogFunction log) {
  ZB_ASSIGN(auto instance, wire::open_instance(plugin, options, std::move(log)));
  return make_policy(std::move(instance));
}

}  // namespace zomboss::search
