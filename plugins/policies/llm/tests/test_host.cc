#include "plugins/policies/llm/tests/test_host.h"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace zomboss::policies::llm::testing {

TempFolder::TempFolder() {
  std::string name = std::filesystem::temp_directory_path() / "zb_llm_XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string hash_of(const Values& values) {
  std::string text = "h";
  for (const int64_t value : values) text += std::to_string(value) + "_";
  return text;
}

TestHost::TestHost(const TestSurface& surface, Values candidate0, uint64_t seed) : surface_(surface) {
  context = surface.context(candidate0, seed);
  context.candidate0->hash = hash_of(candidate0);
  context.target = "test";
  context.unit = "cycles";
  context.facts = {"array 16 x 16", "scratchpad 256 KiB"};
  context.bound = surface.optimum() / 2;
  context.evaluation_budget = 12;
  context.proposal_budget = 240;
  best = surface.latency(candidate0);
  known_[candidate0] = best;
}

Status TestHost::start(const wire::OptionsT& options) {
  ZB_ASSIGN(policy, LlmPolicy::create(*call, options));
  return policy->start(*call, context);
}

std::unique_ptr<wire::PlanT> TestHost::plan(const Values& values) const {
  auto plan = surface_.plan(values);
  plan->hash = hash_of(values);
  return plan;
}

std::unique_ptr<wire::FeedbackT> TestHost::evaluate(const Values& values, uint32_t index) {
  auto item = std::make_unique<wire::FeedbackT>();
  item->proposal = static_cast<uint32_t>(proposals.size());
  item->index = index;
  if (!surface_.legal(values)) {
    item->outcome = wire::Outcome::RejectedIllegal;
    item->reason = "scratchpad needs 300 KiB, has 256 KiB";
    return item;
  }
  item->plan = plan(values);
  item->latency = surface_.latency(values);
  if (known_.count(values) != 0) {
    item->outcome = wire::Outcome::RejectedDuplicate;
    item->reason = "the same plan was evaluated before";
    return item;
  }
  known_[values] = item->latency;
  item->evaluation = static_cast<uint32_t>(++evaluations);
  item->incumbent = item->latency < best;
  best = std::min(best, item->latency);
  item->static_cost = item->latency * 0.9;
  for (const auto& [name, share] : {std::pair{"load_busy", 0.7}, {"execute_busy", 0.4}}) {
    item->counters.push_back(std::make_unique<wire::CounterT>());
    item->counters.back()->name = name;
    item->counters.back()->value = share * item->latency;
    item->counters.back()->unit = "cycles";
  }
  return item;
}

// Two legal plans of the region: hard values held, others from the center or at random, seeded by the
// proposal.
std::vector<Values> TestHost::choose(const wire::RegionT& region) {
  Random random(context.seed, proposals.size());
  std::vector<Values> chosen;
  for (int draw = 0; draw < 500 && chosen.size() < 2; ++draw) {
    Values values;
    for (const auto& knob : surface_.knobs) values.push_back(knob.values[random.below(knob.values.size())]);
    for (const auto& [known, latency] : known_)
      if (region.center == hash_of(known)) {
        for (size_t k = 0; k < values.size(); ++k)
          if (random.below(2) == 0) values[k] = known[k];
      }
    for (const auto& assignment : region.assignments)
      for (size_t k = 0; k < values.size(); ++k)
        if (surface_.knobs[k].name == assignment->knob && assignment->strength != wire::Strength::Auto &&
            (assignment->strength == wire::Strength::Hard || random.below(4) != 0))
          values[k] = assignment->value;
    const bool fresh =
        known_.count(values) == 0 && std::find(chosen.begin(), chosen.end(), values) == chosen.end();
    if (surface_.legal(values) && fresh) chosen.push_back(values);
  }
  return chosen;
}

Result<bool> TestHost::step() {
  wire::SearchStateT state;
  state.proposal = static_cast<uint32_t>(proposals.size() + 1);
  state.evaluations_left = static_cast<uint32_t>(budget - evaluations);
  state.proposals_left = static_cast<uint32_t>(1000 - proposals.size());
  state.tokens_left = tokens_left;
  state.cost_left = cost_left;
  ZB_ASSIGN(wire::ProposalT proposal, policy->propose(*call, state));
  encoded.push_back(encode(proposal));
  if (proposal.usage != nullptr) {
    tokens_left -= std::min(tokens_left, proposal.usage->prompt_tokens + proposal.usage->completion_tokens);
    cost_left -= proposal.usage->cost;
  }
  proposals.push_back(std::move(proposal));
  const wire::ProposalT& made = proposals.back();
  rationale = made.rationale;
  if (made.kind == wire::ProposalKind::Stop) return false;
  std::vector<Values> wanted;
  if (made.kind == wire::ProposalKind::Region) {
    wanted = choose(*made.region);
  } else {
    for (const auto& intent : made.intents) {
      Values values;
      for (size_t k = 0; k < surface_.knobs.size(); ++k) {
        values.push_back(surface_.knobs[k].values[0]);
        for (const auto& assignment : intent->assignments)
          if (assignment->knob == surface_.knobs[k].name && assignment->strength != wire::Strength::Auto)
            values.back() = assignment->value;
      }
      wanted.push_back(values);
    }
  }
  wire::FeedbackBatchT batch;
  for (size_t i = 0; i < wanted.size() && evaluations < budget; ++i)
    batch.items.push_back(evaluate(wanted[i], static_cast<uint32_t>(i)));
  if (wanted.empty()) {
    batch.items.push_back(std::make_unique<wire::FeedbackT>());
    batch.items[0]->outcome = wire::Outcome::RejectedInvalid;
    batch.items[0]->reason = "the neighbourhood is exhausted";
  }
  ZB_TRY(policy->observe(*call, batch));
  feedback.push_back(std::move(batch));
  return true;
}

Status TestHost::run(size_t wanted, size_t most) {
  budget = wanted;
  for (size_t i = 0; i < most && evaluations < wanted; ++i) {
    ZB_ASSIGN(const bool going, step());
    if (!going) break;
  }
  return {};
}

}  // namespace zomboss::policies::llm::testing
