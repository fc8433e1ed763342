#include "plugins/policies/llm/llm_policy.h"

#include "plugins/policies/common/state_bytes.h"
#include "plugins/policies/llm/forms.h"

namespace zomboss::policies::llm {
namespace {

constexpr uint32_t kMagic = 0x4d4c425a;  // "ZBLM"
constexpr uint32_t kVersion = 1;
constexpr size_t kRationale = 2000;

wire::ProposalT stop(std::string why) {
  wire::ProposalT proposal;
  proposal.rationale = std::move(why);
  return proposal;
}

}  // namespace

Result<std::unique_ptr<LlmPolicy>> LlmPolicy::create(sdk::Call&, const wire::OptionsT& options) {
  auto policy = std::make_unique<LlmPolicy>();
  ZB_ASSIGN(policy->options_, LlmOptions::read(options));
  if (policy->options_.mode == "live")  // says at once what is wrong with URL and key
    ZB_TRY(Endpoint::open(policy->options_));
  return policy;
}

Status LlmPolicy::start(sdk::Call&, const wire::SearchContextT& context) {
  ZB_TRY(view_.start(options_, context));
  ZB_ASSIGN(chat_, ChatClient::open(options_, context.folder, context.seed));
  fresh_journal_ = view_.journal;
  agent_ = new_agent();
  token_budget_ = context.token_budget != 0;
  cost_budget_ = context.cost_budget != 0;
  turns_ = 0;
  started_ = true;
  return {};
}

std::unique_ptr<Agent> LlmPolicy::new_agent() const {
  return options_.agent == "naive" ? make_naive_agent(view_, *chat_) : make_accelopt_agent(view_, *chat_);
}

Result<wire::ProposalT> LlmPolicy::next_proposal(sdk::Call& call, Turn& turn,
                                                 const wire::SearchStateT& state) {
  const Journal& journal = view_.journal;
  if (view_.space.catalog && journal.tried().size() >= view_.space.rows.size())
    return stop("every row of the catalog was tried");
  if (options_.max_rejections != 0 && journal.idle() >= static_cast<uint64_t>(options_.max_rejections))
    return stop("the last " + std::to_string(journal.idle()) + " proposals led to no evaluation");
  ZB_ASSIGN(std::optional<wire::ProposalT> proposal, agent_->propose(call, turn, state));
  if (proposal.has_value()) return *std::move(proposal);
  wire::ProposalT random = random_proposal(view_, turn.number);
  random.rationale = "the model gave no usable answer; proposed at random";
  return random;
}

Result<wire::ProposalT> LlmPolicy::propose(sdk::Call& call, const wire::SearchStateT& state) {
  if (!started_) return failed_precondition("propose was called before start");
  Turn turn;
  turn.number = turns_ + 1;
  if (token_budget_) turn.tokens_left = state.tokens_left;
  if (cost_budget_) turn.cost_left = state.cost_left;
  auto proposal = next_proposal(call, turn, state);
  Json note = {{"kind", "turn"}, {"turn", turn.number}};
  if (!proposal.ok()) {
    // A spent budget ends the search. All else is an error, so that the run may be resumed when it is mended.
    if (proposal.status().code() != Code::kResourceExhausted) return proposal;
    note["stop"] = proposal.status().message();
    proposal = stop(proposal.status().message());
  }
  if (!turn.cut.empty()) note["cut"] = turn.cut;
  ++turns_;
  proposal->rationale = valid_utf8(proposal->rationale.substr(0, kRationale));
  if (turn.usage.requests > 0) proposal->usage = std::make_unique<wire::UsageT>(turn.usage);
  if (!chat_->transcript().next_note("turn").has_value()) ZB_TRY(chat_->transcript().append(note));
  return proposal;
}

Status LlmPolicy::observe(sdk::Call&, const wire::FeedbackBatchT& feedback) {
  if (!started_) return failed_precondition("observe was called before start");
  const size_t before = view_.journal.evaluations();
  for (const auto& item : feedback.items) {
    const Tried* tried = view_.journal.observe(*item, view_.space);
    agent_->observe(*item, tried);
  }
  view_.journal.end_proposal(before);
  return {};
}

Result<std::string> LlmPolicy::save(sdk::Call&) const {
  if (!started_) return failed_precondition("save was called before start");
  Json state = {{"agent", options_.agent},
                {"turns", turns_},
                {"transcript", chat_->transcript().position()},
                {"journal", view_.journal.to_json()},
                {"state", agent_->save()}};
  if (const auto& capabilities = chat_->capabilities()) state["capabilities"] = to_json(*capabilities);
  StateWriter writer;
  writer.u32(kMagic);
  writer.u32(kVersion);
  writer.u64(view_.space.fingerprint);
  writer.text(canonical(state));
  return std::move(writer).finish();
}

Status LlmPolicy::load(sdk::Call&, Bytes bytes) {
  if (!started_) return failed_precondition("load was called before start");
  StateReader reader(bytes);
  if (reader.u32() != kMagic || reader.u32() != kVersion || reader.u64() != view_.space.fingerprint)
    reader.fail();
  const Json state = parse_json(reader.text()).value_or(Json());
  const auto turns = count_of(state, "turns");
  const auto position = count_of(state, "transcript");
  const Json& found = member(state, "capabilities");
  const auto capabilities = capabilities_from_json(found);
  Journal journal = fresh_journal_;
  if (text_of(state, "agent") != options_.agent || !turns.has_value() || *turns > UINT32_MAX ||
      !position.has_value() || (!found.is_null() && !capabilities.has_value()) ||
      !journal.from_json(member(state, "journal"), view_.space))
    reader.fail();
  ZB_TRY(reader.finish("llm"));
  std::swap(view_.journal, journal);
  std::unique_ptr<Agent> agent = new_agent();
  if (!agent->load(member(state, "state")) || !chat_->transcript().seek(*position)) {
    std::swap(view_.journal, journal);
    return data_loss("the saved state of the llm policy is damaged or of another search");
  }
  agent_ = std::move(agent);
  chat_->set_capabilities(capabilities);
  turns_ = static_cast<uint32_t>(*turns);
  return {};
}

}  // namespace zomboss::policies::llm
