// Throws in create without options, and in propose; the SDK turns that into errors.
#include <stdexcept>

#include "zomboss/sdk/plugin.h"

namespace {

class ThrowingPolicy {
 public:
  static zomboss::Result<std::unique_ptr<ThrowingPolicy>> create(zomboss::sdk::Call&,
                                                                 const zomboss::wire::OptionsT& options) {
    if (options.values.empty()) throw std::runtime_error("no options");
    return std::make_unique<ThrowingPolicy>();
  }
  zomboss::Status start(zomboss::sdk::Call&, const zomboss::wire::SearchContextT&) { return {}; }
  zomboss::Result<zomboss::wire::ProposalT> propose(zomboss::sdk::Call&, const zomboss::wire::SearchStateT&) {
    throw std::bad_alloc();
  }
  zomboss::Status observe(zomboss::sdk::Call&, const zomboss::wire::FeedbackBatchT&) { return {}; }
  zomboss::Result<std::string> save(zomboss::sdk::Call&) { return std::string(); }
  zomboss::Status load(zomboss::sdk::Call&, zomboss::Bytes) { return {}; }
};

}  // namespace

ZB_EXPORT_POLICY(ThrowingPolicy, "throwing", ZB_PLUGIN_VERSION)
