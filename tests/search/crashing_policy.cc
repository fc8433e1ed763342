// A policy for tests: proposes Candidate-0's neighbours, and dies at its third proposal.
#include <csignal>

#include "zomboss/sdk/plugin.h"

using namespace zomboss;

class CrashingPolicy {
 public:
  static Result<std::unique_ptr<CrashingPolicy>> create(sdk::Call&, const wire::OptionsT&) {
    return std::make_unique<CrashingPolicy>();
  }
  Status start(sdk::Call&, const wire::SearchContextT& context) {
    for (const auto& knob : context.surface->knobs)
      if (knob->name == "chunk") values_ = knob->values;
    return {};
  }
  Result<wire::ProposalT> propose(sdk::Call&, const wire::SearchStateT& state) {
    if (state.proposal == 3) std::raise(SIGSEGV);
    wire::ProposalT proposal;
    proposal.kind = wire::ProposalKind::Intents;
    proposal.intents.push_back(std::make_unique<wire::IntentT>());
    auto assignment = std::make_unique<wire::AssignmentT>();
    assignment->knob = "chunk";
    assignment->value = values_[state.proposal % values_.size()];
    proposal.intents[0]->assignments.push_back(std::move(assignment));
    return proposal;
  }
  Status observe(sdk::Call&, const wire::FeedbackBatchT&) { return {}; }
  Result<std::string> save(sdk::Call&) { return std::string("nothing"); }
  Status load(sdk::Call&, Bytes) { return {}; }

 private:
  std::vector<int64_t> values_;
};

ZB_EXPORT_POLICY(CrashingPolicy, "crashing", ZB_PLUGIN_VERSION)
