// AccelOpt: in each round the planner proposes changes to each plan of a beam, the executor writes plans out
// that are not yet a complete mapping, and the summarizer draws lessons from pairs of a slower and a faster
// plan, which later planners read. One proposal holds the plans for one parent of the beam.
#include <algorithm>
#include <set>

#include "plugins/policies/llm/agent.h"
#include "plugins/policies/llm/experience.h"
#include "plugins/policies/llm/forms.h"
#include "plugins/policies/llm/numbers.h"
#include "plugins/policies/llm/prompt.h"

namespace zomboss::policies::llm {
namespace {

constexpr size_t kChanges = 8;  // of one plan
constexpr size_t kRecent = 16;  // earlier plans that a planner on a conditional surface is shown

// All that changes during a search.
struct State {
  std::vector<size_t> beam = {0};    // positions in the journal
  std::vector<size_t> queue = {0};   // parents of this round that have no plans yet
  std::vector<Branch> branches;      // of this round
  std::vector<size_t> pending;       // of each intent of the last proposal: its branch
  std::vector<std::string> lessons;  // newest first
  bool read_experience = false;
};

class AcceloptAgent final : public Agent {
 public:
  AcceloptAgent(const SearchView& view, ChatClient& chat)
      : view_(view), chat_(chat), form_(intent_form(view)) {}

  Result<std::optional<wire::ProposalT>> propose(sdk::Call& call, Turn& turn,
                                                 const wire::SearchStateT& state) override;
  void observe(const wire::FeedbackT& item, const Tried* tried) override;
  Json save() const override;
  bool load(const Json& value) override;

 private:
  // What one turn gathers.
  struct Batch {
    wire::ProposalT proposal;
    std::set<Point> planned;  // points, or requested changes applied to their parent
    std::vector<std::string> planned_text;
  };
  using Intent = std::unique_ptr<wire::IntentT>;

  Status first_lessons(State& next);
  Status end_round(sdk::Call& call, Turn& turn, State& next);
  Status plan_parent(sdk::Call& call, Turn& turn, size_t wanted, size_t parent, State& next, Batch& batch);
  Result<std::vector<Intent>> execute(sdk::Call& call, Turn& turn, size_t parent, const Json& plan,
                                      int64_t samples, Batch& batch);
  Ask executor_ask(size_t parent, const Json& plan, const Batch& batch) const;
  // Adds the parent's decisions, preferred, for knobs that the intent does not name; the point that it asks
  // for.
  Point complete(wire::IntentT& intent, const Point& parent) const;
  Ask planner_ask(size_t parent, const State& next, const Batch& batch, size_t sample, uint64_t rotate) const;
  std::vector<std::string> plan_errors(const Json& plan, const Point& parent, const Batch& batch) const;
  Point planned_point(const Json& plan, const Point& parent) const;
  bool is_complete(const Json& plan, const Point& parent) const;
  Intent intent_of(const Json& plan, const Point& parent) const;
  std::string parent_text(size_t parent, uint64_t rotate) const;

  const SearchView& view_;
  ChatClient& chat_;
  std::unique_ptr<Form> form_;  // of the executor
  State state_;
};

std::string AcceloptAgent::parent_text(size_t parent, uint64_t rotate) const {
  const Tried& tried = view_.journal.tried()[parent];
  std::string text =
      "PARENT " + latency_text(view_, tried) + "\n" + view_.vocabulary.point(tried.point) + "\n";
  if (!view_.full_feedback()) return text;
  if (const std::string profile = profile_text(view_, tried, rotate); !profile.empty())
    text += "profile: " + profile + "\n";
  return text;
}

Ask AcceloptAgent::planner_ask(size_t parent, const State& next, const Batch& batch, size_t sample,
                               uint64_t rotate) const {
  std::string text = view_.facts + "\n";
  if (!next.lessons.empty()) {
    text += "EXPERIENCE\n";
    for (const std::string& lesson : next.lessons) text += "- " + lesson + "\n";
    text += "\n";
  }
  const auto& tried = view_.journal.tried();
  text += "EVALUATED\n";
  const size_t first = view_.space.catalog || tried.size() <= kRecent ? 0 : tried.size() - kRecent;
  for (size_t i = first; i < tried.size(); ++i)
    text += latency_text(view_, tried[i]) + " | " +
            view_.vocabulary.changes(view_.space.start, tried[i].point) + "\n";
  text += "\n" + parent_text(parent, rotate);
  if (!batch.planned_text.empty()) text += "PLANNED ALREADY for this parent, plan something else:\n";
  for (const std::string& planned : batch.planned_text) text += planned + "\n";
  text +=
      "\nTASK You are the planner. Start from the parent's profile and give exactly one plan of one step: "
      "`changes` of "
      "the parent's decisions that attack its bottleneck, `expected` effect on the profile, `reason`. All "
      "other "
      "decisions stay as the parent's. This is plan " +
      std::to_string(sample + 1) + " for this parent.";
  Ask ask;
  ask.role = "planner";
  ask.messages = {{"system", system_text()}, {"user", std::move(text)}};
  Json changes = assignments_schema(view_.vocabulary, kChanges);
  changes["minItems"] = 1;
  ask.schema = object_schema(
      {{"changes", std::move(changes)}, {"expected", text_schema()}, {"reason", text_schema()}});
  return ask;
}

Point AcceloptAgent::planned_point(const Json& plan, const Point& parent) const {
  std::vector<std::string> ignored;
  Point point = parent;
  for (const KnobValue& change : read_assignments(view_, member(plan, "changes"), "$.changes", ignored))
    point[change.knob] = change.value;
  return point;
}

std::vector<std::string> AcceloptAgent::plan_errors(const Json& plan, const Point& parent,
                                                    const Batch& batch) const {
  std::vector<std::string> errors;
  std::set<size_t> named;
  for (const KnobValue& change : read_assignments(view_, member(plan, "changes"), "$.changes", errors))
    if (!named.insert(change.knob).second)
      errors.push_back("$.changes: knob '" + view_.vocabulary.knobs()[change.knob].name + "' is named twice");
  if (!errors.empty()) return errors;
  const Point point = planned_point(plan, parent);
  if (point == parent)
    errors.push_back("$.changes: nothing changes against the parent");
  else if (const Tried* tried = view_.journal.find_point(point))
    errors.push_back("$.changes: this is " + latency_text(view_, *tried) + ", which was evaluated");
  else if (batch.planned.count(point) != 0)
    errors.push_back("$.changes: the same is planned already");
  return errors;
}

// The plan names one mapping by itself.
bool AcceloptAgent::is_complete(const Json& plan, const Point& parent) const {
  return !view_.space.catalog || view_.journal.row_of(planned_point(plan, parent)).has_value();
}

AcceloptAgent::Intent AcceloptAgent::intent_of(const Json& plan, const Point& parent) const {
  const Point point = planned_point(plan, parent);
  if (view_.space.catalog || view_.options.specification == "complete")
    return view_.space.exact_intent(point);
  return view_.space.preferred_intent(point, changed_knobs(parent, point));
}

Ask AcceloptAgent::executor_ask(size_t parent, const Json& plan, const Batch& batch) const {
  Ask ask;
  ask.role = "executor";
  ask.schema = form_->schema();
  ask.check = [this](const Json& answer) { return form_->errors(answer); };
  std::string text = view_.facts + "\n" + parent_text(parent, 0) + "PLAN " + canonical(plan) + "\n";
  if (view_.space.catalog) {
    const Point point = planned_point(plan, view_.journal.tried()[parent].point);
    text += "nearest rows: " + nearest_rows(view_, point) + "\nTRIED";
    for (const Tried& tried : view_.journal.tried()) text += " " + tried.name;
    for (const Point& planned : batch.planned)
      if (const auto name = view_.journal.row_name(planned)) text += " " + *name;
    text += "\n";
  }
  text += "\nTASK You are the executor. Write the plan out as a mapping. " + form_->task();
  ask.messages = {{"system", system_text()}, {"user", std::move(text)}};
  return ask;
}

Point AcceloptAgent::complete(wire::IntentT& intent, const Point& parent) const {
  Point point = parent;
  for (const size_t k : view_.vocabulary.order()) {
    const SpaceKnob& knob = view_.space.knobs[k];
    const auto named = std::find_if(intent.assignments.begin(), intent.assignments.end(),
                                    [&](const auto& assignment) { return assignment->knob == knob.name; });
    if (named == intent.assignments.end()) {
      intent.assignments.push_back(assignment_of(view_, {k, parent[k]}, wire::Strength::Preferred));
    } else if ((*named)->strength != wire::Strength::Auto) {
      const auto value = std::find(knob.values.begin(), knob.values.end(), (*named)->value);
      point[k] = static_cast<uint32_t>(value - knob.values.begin());
    }
  }
  return point;
}

Result<std::vector<AcceloptAgent::Intent>> AcceloptAgent::execute(sdk::Call& call, Turn& turn, size_t parent,
                                                                  const Json& plan, int64_t samples,
                                                                  Batch& batch) {
  std::vector<Intent> intents;
  for (int64_t sample = 0; sample < samples; ++sample) {
    Ask ask = executor_ask(parent, plan, batch);
    if (samples > 1)
      ask.messages[1].content +=
          " This is attempt " + std::to_string(sample + 1) + " of " + std::to_string(samples) + ".";
    ZB_ASSIGN(const Answer answer, chat_.ask_and_repair(call, turn, ask));
    if (!answer.ok) continue;
    Intent intent = std::move(form_->proposal(answer.value).intents[0]);
    Point point = complete(*intent, view_.journal.tried()[parent].point);
    // Repeats are told apart before they cost a place in the proposal.
    if (view_.journal.find_point(point) != nullptr || !batch.planned.insert(std::move(point)).second)
      continue;
    intents.push_back(std::move(intent));
  }
  return intents;
}

Status AcceloptAgent::plan_parent(sdk::Call& call, Turn& turn, size_t wanted, size_t parent, State& next,
                                  Batch& batch) {
  const Point point = view_.journal.tried()[parent].point;
  for (size_t n = 0; n < wanted; ++n) {
    Ask ask =
        planner_ask(parent, next, batch, n, Random(view_.seed, (uint64_t{turn.number} << 16) + n).next_u32());
    ask.check = [&](const Json& plan) { return plan_errors(plan, point, batch); };
    ZB_ASSIGN(const Answer answer, chat_.ask_and_repair(call, turn, ask));
    if (!answer.ok) continue;
    std::vector<Intent> intents;
    const bool complete = view_.options.executor == "auto" && is_complete(answer.value, point);
    if (complete) {
      batch.planned.insert(planned_point(answer.value, point));
      intents.push_back(intent_of(answer.value, point));
    }
    const int64_t samples = view_.options.samples - (complete ? 1 : 0);
    ZB_ASSIGN(std::vector<Intent> executed, execute(call, turn, parent, answer.value, samples, batch));
    for (Intent& intent : executed) intents.push_back(std::move(intent));
    batch.planned_text.push_back(view_.vocabulary.changes(point, planned_point(answer.value, point)));
    next.branches.push_back({parent, {}});
    for (Intent& intent : intents) {
      next.pending.push_back(next.branches.size() - 1);
      batch.proposal.intents.push_back(std::move(intent));
    }
    batch.proposal.rationale += (n == 0 ? "" : " | ") + text_of(answer.value, "reason").substr(0, 300);
  }
  return {};
}

Status AcceloptAgent::first_lessons(State& next) {
  if (next.read_experience) return {};
  next.read_experience = true;
  if (view_.options.experience.empty()) return {};
  // What the file held when the run began stays what the run saw, however often it is resumed or replayed.
  if (const auto note = chat_.transcript().next_note("experience")) {
    for (const Json& lesson : member(*note, "lessons"))
      if (lesson.is_string()) next.lessons.push_back(lesson.get<std::string>());
    return {};
  }
  ZB_ASSIGN(next.lessons, read_experience(view_.options.experience, view_.target,
                                          static_cast<size_t>(view_.options.exp_n)));
  return chat_.transcript().append({{"kind", "experience"}, {"lessons", next.lessons}});
}

Status AcceloptAgent::end_round(sdk::Call& call, Turn& turn, State& next) {
  std::vector<std::string> lessons, fresh;
  for (const Pair& pair : select_pairs(view_.journal, next.branches, view_.options)) {
    const Tried& slow = view_.journal.tried()[pair.slow];
    const Tried& fast = view_.journal.tried()[pair.fast];
    Ask ask;
    ask.role = "summarizer";
    std::string text = view_.facts + "\nSLOW " + latency_text(view_, slow) + "\n" +
                       view_.vocabulary.point(slow.point) + "\nFAST " + latency_text(view_, fast) + "\n" +
                       view_.vocabulary.point(fast.point) + "\n";
    if (view_.full_feedback())
      text += "profile of SLOW: " + profile_text(view_, slow) +
              "\nprofile of FAST: " + profile_text(view_, fast) + "\n";
    text +=
        "CHANGES from SLOW to FAST: " + view_.vocabulary.changes(slow.point, fast.point) + ", " +
        fmt::format("{:.2f}x", pair.speedup) +
        "\n\nTASK You are the summarizer. Say in terms of decisions what made the difference, so that it "
        "helps with "
        "other plans: a short `title`, the `condition` under which it holds, the `lesson` in one sentence.";
    ask.messages = {{"system", system_text()}, {"user", std::move(text)}};
    ask.schema =
        object_schema({{"condition", text_schema()}, {"lesson", text_schema()}, {"title", text_schema()}});
    ZB_ASSIGN(const Answer answer, chat_.ask_and_repair(call, turn, ask));
    const std::string words = !answer.ok ? ""
                                         : text_of(answer.value, "title") + "; when " +
                                               text_of(answer.value, "condition") + ": " +
                                               text_of(answer.value, "lesson");
    lessons.push_back(lesson_text(view_, pair, words));
    if (!answer.recorded) fresh.push_back(lessons.back());
  }
  lessons.insert(lessons.end(), next.lessons.begin(), next.lessons.end());
  lessons.resize(std::min(lessons.size(), static_cast<size_t>(view_.options.exp_n)));
  next.lessons = std::move(lessons);
  next.beam = select_beam(view_.journal, next.branches, static_cast<size_t>(view_.options.beam));
  next.queue = next.beam;
  next.branches.clear();
  if (fresh.empty() || view_.options.experience.empty()) return {};
  return write_experience(view_.options.experience, view_.target, fresh);
}

Result<std::optional<wire::ProposalT>> AcceloptAgent::propose(sdk::Call& call, Turn& turn,
                                                              const wire::SearchStateT& state) {
  State next = state_;  // kept only when all went well
  next.pending.clear();
  Batch batch;
  batch.proposal.kind = wire::ProposalKind::Intents;
  ZB_TRY(first_lessons(next));
  if (next.queue.empty()) ZB_TRY(end_round(call, turn, next));
  const size_t wanted =
      std::min(static_cast<size_t>(view_.options.plans), std::max<size_t>(1, state.evaluations_left));
  while (!next.queue.empty() && batch.proposal.intents.empty()) {
    const size_t parent = next.queue.front();
    next.queue.erase(next.queue.begin());
    batch.planned_text.clear();
    const Status status = plan_parent(call, turn, wanted, parent, next, batch);
    if (status.ok()) continue;
    // Out of budget, patience or time: what is planned so far is still worth its evaluation.
    const Code code = status.code();
    const bool spent =
        code == Code::kResourceExhausted || code == Code::kUnavailable || code == Code::kDeadlineExceeded;
    if (!spent || batch.proposal.intents.empty()) return status;
    turn.cut = status.message();
  }
  state_ = std::move(next);
  if (batch.proposal.intents.empty()) return std::optional<wire::ProposalT>();
  return std::optional<wire::ProposalT>(std::move(batch.proposal));
}

void AcceloptAgent::observe(const wire::FeedbackT& item, const Tried* tried) {
  if (item.index >= state_.pending.size() || tried == nullptr || !tried->verified) return;
  const auto position = static_cast<size_t>(tried - view_.journal.tried().data());
  state_.branches[state_.pending[item.index]].results.push_back(position);
}

Json AcceloptAgent::save() const {
  Json branches = Json::array();
  for (const Branch& branch : state_.branches)
    branches.push_back({{"parent", branch.parent}, {"results", branch.results}});
  return {
      {"beam", state_.beam},       {"queue", state_.queue},     {"branches", std::move(branches)},
      {"pending", state_.pending}, {"lessons", state_.lessons}, {"read_experience", state_.read_experience}};
}

bool AcceloptAgent::load(const Json& value) {
  State state;
  const auto numbers = [](const Json& list, size_t below, std::vector<size_t>& out) {
    out.clear();
    if (!list.is_array()) return false;
    for (const Json& each : list) {
      if (!each.is_number_unsigned() || each.get<uint64_t>() >= below) return false;
      out.push_back(each.get<size_t>());
    }
    return true;
  };
  const size_t plans = view_.journal.tried().size();
  const Json& branches = member(value, "branches");
  if (!branches.is_array()) return false;
  for (const Json& each : branches) {
    Branch branch;
    const auto parent = count_of(each, "parent");
    if (!parent.has_value() || *parent >= plans || !numbers(member(each, "results"), plans, branch.results))
      return false;
    branch.parent = *parent;
    state.branches.push_back(std::move(branch));
  }
  for (const Branch& branch : state.branches)
    for (const size_t result : branch.results)
      if (!view_.journal.tried()[result].verified) return false;
  if (!numbers(member(value, "beam"), plans, state.beam) ||
      !numbers(member(value, "queue"), plans, state.queue) ||
      !numbers(member(value, "pending"), state.branches.size(), state.pending) ||
      !member(value, "lessons").is_array())
    return false;
  for (const Json& lesson : member(value, "lessons")) {
    if (!lesson.is_string()) return false;
    state.lessons.push_back(lesson.get<std::string>());
  }
  state.read_experience = member(value, "read_experience") == Json(true);
  state_ = std::move(state);
  return true;
}

}  // namespace

std::unique_ptr<Agent> make_accelopt_agent(const SearchView& view, ChatClient& chat) {
  return std::make_unique<AcceloptAgent>(view, chat);
}

}  // namespace zomboss::policies::llm
