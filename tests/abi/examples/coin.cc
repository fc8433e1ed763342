// The smallest policy: keeps Candidate-0 and changes one knob, both drawn at random.
#include "zomboss/sdk/plugin.h"
#include "zomboss/sdk/random.h"

using namespace zomboss;

class Coin {
 public:
  static Result<std::unique_ptr<Coin>> create(sdk::Call&, const wire::OptionsT& options) {
    if (!options.values.empty())
      return invalid_argument("coin has no option '" + options.values[0]->key + "'");
    return std::make_unique<Coin>();
  }

  Status start(sdk::Call&, const wire::SearchContextT& context) {
    random_ = Random(context.seed, 1);
    for (const auto& knob : context.surface->knobs)
      if (knob->values.size() > 1) knobs_.push_back({knob->name, knob->values});
    return {};
  }

  Result<wire::ProposalT> propose(sdk::Call&, const wire::SearchStateT&) {
    wire::ProposalT proposal;
    if (knobs_.empty()) return proposal;  // kind Stop: nothing to search
    const Knob& knob = knobs_[random_.below(knobs_.size())];
    auto assignment = std::make_unique<wire::AssignmentT>();
    assignment->knob = knob.name;
    assignment->value = knob.values[random_.below(knob.values.size())];
    assignment->strength = wire::Strength::Preferred;
    proposal.kind = wire::ProposalKind::Intents;
    proposal.intents.push_back(std::make_unique<wire::IntentT>());
    proposal.intents[0]->assignments.push_back(std::move(assignment));
    return proposal;
  }

  Status observe(sdk::Call&, const wire::FeedbackBatchT&) { return {}; }

  Result<std::string> save(sdk::Call&) { return std::to_string(random_.position()); }

  Status load(sdk::Call&, Bytes state) {
    uint64_t position = 0;
    for (const uint8_t digit : state) {
      if (digit < '0' || digit > '9' || position > UINT64_MAX / 10 - 9)
        return data_loss("not a state of coin");
      position = 10 * position + (digit - '0');
    }
    random_.skip_to(position);
    return {};
  }

 private:
  struct Knob {
    std::string name;
    std::vector<int64_t> values;
  };
  std::vector<Knob> knobs_;
  Random random_{0, 1};
};

ZB_EXPORT_POLICY(Coin, "coin", ZB_PLUGIN_VERSION)
