// The controller's side of the history: one run of one problem. Everything that a search learns goes through
// here before anybody is told, and a run that is resumed gets it back from here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/history/history.h"
#include "core/search/record.h"

namespace zomboss::search {

class Journal {
 public:
  using PlanJson = std::function<std::string(const mapping::Plan&)>;  // "zomboss.plan/1"

  // Borrows the history. `problem` is its key, `run` exists. Reads what the run has already.
  static Result<Journal> open(history::History& history, std::string problem, int64_t run,
                              PlanJson plan_json);

  // Of a problem alone: evaluations are recalled and kept, there is no run. `problem` is in the history.
  static Journal of_problem(history::History& history, std::string problem, PlanJson plan_json) {
    return Journal(history, std::move(problem), 0, std::move(plan_json));
  }

  // The proposals of earlier sessions, in order: the search repeats them before it goes on.
  const std::vector<history::Proposal>& past() const { return past_; }
  double past_seconds() const { return past_seconds_; }
  // From now on nothing is recalled and nothing is written: the past is proved again.
  void evaluate_again() { again_ = true; }

  // The evaluation of this plan that the history has. Crashes and time-outs may be the machine's doing: they
  // are taken only when the run itself recorded them (`replaying`).
  Result<std::optional<evaluate::Evaluation>> recall(const mapping::Plan& plan, const std::string& unit,
                                                     bool replaying) const;
  Status evaluated(const mapping::Plan& plan, const evaluate::Evaluation& evaluation, double seconds);
  // `trials` of proposal `number`, which was not recorded yet.
  Status proposed(uint32_t number, const std::string& bytes, const wire::ProposalT& proposal,
                  const std::vector<Trial>& trials, uint64_t first_trial);
  Status event(const std::string& kind, const std::string& text);

  static history::Trial to_history(const Trial& trial, uint64_t number);
  static history::Usage to_history(const wire::UsageT& usage);

 private:
  Journal(history::History& history, std::string problem, int64_t run, PlanJson plan_json)
      : history_(&history), problem_(std::move(problem)), run_(run), plan_json_(std::move(plan_json)) {}

  history::History* history_;
  std::string problem_;
  int64_t run_;
  PlanJson plan_json_;
  std::vector<history::Proposal> past_;
  double past_seconds_ = 0;
  bool again_ = false;
};

}  // namespace zomboss::search
