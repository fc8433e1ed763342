// Where trials ended: one bar for each policy, and the most frequent reasons.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/report/sections.h"
#include "core/report/svg.h"
#include "core/report/words.h"

namespace zomboss::report {
namespace {

// Trials of a policy by outcome, in the order of the stages.
using Counts = std::map<std::pair<int, std::string>, uint64_t>;

std::string stage_name(const std::string& outcome) {
  const Outcome known = outcome_of(outcome);
  return known.stage.empty() ? outcome : std::string(known.stage);
}

std::string reasons_table(const Data& data) {
  constexpr size_t kShown = 12;
  std::map<std::string, Reason> all;
  for (const RunView& view : data.runs) {
    for (const auto& [kind, reason] : view.reasons) {
      Reason& sum = all[kind];
      if (sum.trials == 0) sum = {reason.outcome, reason.example, 0};
      sum.trials += reason.trials;
    }
  }
  if (all.empty()) return {};
  std::vector<Reason> sorted;
  for (const auto& [kind, reason] : all) sorted.push_back(reason);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Reason& a, const Reason& b) { return a.trials > b.trials; });
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < std::min(kShown, sorted.size()); ++i)
    rows.push_back({fmt::format("<i class=\"key {}\"></i>{}", outcome_of(sorted[i].outcome).classes,
                                escape(stage_name(sorted[i].outcome))),
                    escape(elide(sorted[i].example, 300)), grouped(sorted[i].trials)});
  std::string out = "<h3>Most frequent reasons</h3>" +
                    table({"Outcome", "Reason, with the numbers of the first", "Trials"}, rows, 2);
  if (sorted.size() > kShown)
    out += note(count_text(sorted.size() - kShown, "more kind", "more kinds") + " of reason.");
  return out;
}

}  // namespace

Result<std::string> rejections_section(const Data& data) {
  std::vector<Counts> counts(data.policies.size());
  Counts totals;
  for (const RunView& view : data.runs) {
    for (const auto& [outcome, trials] : view.outcomes) {
      counts[view.policy][{outcome_of(outcome).order, outcome}] += trials;
      totals[{outcome_of(outcome).order, outcome}] += trials;
    }
  }
  if (totals.empty()) return nothing("The runs have no trials yet.");

  constexpr double kRow = 40, kLeft = 190, kRight = 880;
  const double height = 20 + kRow * static_cast<double>(counts.size());
  Svg svg(1000, height, "Trials by outcome for each policy, as shares");
  for (size_t policy = 0; policy < counts.size(); ++policy) {
    const double top = 10 + kRow * static_cast<double>(policy);
    uint64_t sum = 0;
    for (const auto& [outcome, trials] : counts[policy]) sum += trials;
    svg.text(kLeft - 14, top + 20, elide(data.policies[policy], 24), "name", "end");
    svg.text(kRight + 14, top + 20, count_text(sum, "trial", "trials"), "tick");
    if (sum == 0) continue;
    double x = kLeft;
    for (const auto& [outcome, trials] : counts[policy]) {
      const double share = static_cast<double>(trials) / static_cast<double>(sum);
      const double width = share * (kRight - kLeft);
      svg.rect(x, top + 2, std::max(width - 1.5, 0.75), 26, outcome_of(outcome.second).classes,
               fmt::format("{}: {} of {} ({})", stage_name(outcome.second), grouped(trials), grouped(sum),
                           percent_text(share)),
               2);
      const std::string text = grouped(trials);
      if (width > 12 + 7.5 * static_cast<double>(text.size()))
        svg.text(x + width / 2, top + 20, text, "inside " + std::string(outcome_of(outcome.second).classes),
                 "middle");
      x += width;
    }
  }
  std::vector<std::pair<std::string, std::string>> entries;
  std::vector<std::string> head = {"Outcome", "What it means"};
  for (const std::string& policy : data.policies) head.push_back(escape(policy));
  std::vector<std::vector<std::string>> rows;
  for (const auto& [outcome, total] : totals) {
    const Outcome known = outcome_of(outcome.second);
    entries.emplace_back(known.classes, stage_name(outcome.second));
    std::vector<std::string> row = {escape(stage_name(outcome.second)), std::string(known.meaning)};
    for (const Counts& own : counts) {
      const auto found = own.find(outcome);
      row.push_back(grouped(found == own.end() ? 0 : found->second));
    }
    rows.push_back(std::move(row));
  }
  return legend(entries) + figure(svg.finish()) +
         note(
             "Shares of all trials, in the order in which a trial meets these checks. Only those from "
             "lowering on "
             "cost an evaluation.") +
         table_twin(head, rows, 2) + reasons_table(data);
}

}  // namespace zomboss::report
