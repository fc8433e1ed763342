// Summary cards, and the table of workloads and policies.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/report/sections.h"
#include "core/report/words.h"

namespace zomboss::report {
namespace {

std::string card(const std::string& label, const std::string& value, const std::string& below,
                 const char* classes = "") {
  return fmt::format(
      "<div class=\"card {}\"><div class=\"label\">{}</div><div class=\"value\">{}</div>"
      "<div class=\"below\">{}</div></div>",
      classes, label, value, below);
}

// "18,204" large, "cycles" small.
std::string large_latency(double latency, const std::string& unit) {
  return fmt::format("{} <small>{}</small>", latency_text(latency, ""), escape(unit));
}

std::string run_text(const Data& data, const RunView& view) {
  std::string text = fmt::format("{}, seed {}", escape(data.policies[view.policy]), view.run.seed);
  if (view.run.best_evaluation == 0) return "Candidate-0 itself; nothing was faster";
  return text + ", evaluation " + grouped(view.run.best_evaluation);
}

// What the baselines are called: the reference that all of them are the latency of, else "Baseline".
std::string baseline_label(const Data& data) {
  std::optional<std::string> label;
  for (const Group& group : data.groups) {
    if (!group.baseline) continue;
    if (label && *label != group.baseline_label()) return "Baseline";
    label = group.baseline_label();
  }
  return label.value_or("Baseline");
}

std::string budget_card(const Data& data) {
  uint64_t used = 0, allowed = 0, proposals = 0, trials = 0;
  double seconds = 0;
  for (const RunView& view : data.runs) {
    used += view.run.evaluations;
    allowed += view.run.budget.evaluations;
    proposals += view.run.proposals;
    trials += view.run.trials;
    seconds += view.run.seconds;
  }
  const std::string share = allowed > 0 ? fmt::format(" <small>of {} evaluations</small>", grouped(allowed))
                                        : std::string(" <small>evaluations</small>");
  std::string below =
      count_text(proposals, "proposal", "proposals") + ", " + count_text(trials, "trial", "trials");
  if (data.runs.size() > 1) below += " in " + count_text(data.runs.size(), "run", "runs");
  if (seconds > 0) below += ", " + seconds_text(seconds);
  return card("Budget used", grouped(used) + share, below);
}

std::string stop_card(const Data& data) {
  std::map<std::string, size_t> reasons;
  for (const RunView& view : data.runs)
    ++reasons[view.run.stop_reason.empty() ? view.run.state : view.run.stop_reason];
  std::vector<std::pair<std::string, size_t>> sorted(reasons.begin(), reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  const auto& [first, count] = sorted.front();
  std::string below = data.runs.size() == 1
                          ? "the rule that ended the run"
                          : fmt::format("in {} of {}", count, count_text(data.runs.size(), "run", "runs"));
  for (size_t i = 1; i < sorted.size() && i < 4; ++i)
    below += fmt::format("; {} in {}", escape(sorted[i].first), sorted[i].second);
  if (sorted.size() > 4) below += fmt::format("; {} more", sorted.size() - 4);
  return card("Stopped by", fmt::format("<span class=\"words\">{}</span>", escape(elide(first, 60))), below);
}

std::string single_summary(const Data& data) {
  const Group& group = data.groups[0];
  const std::string& unit = group.problem.unit;
  if (group.best_latency == 0)
    return card("Best latency", "–", "Candidate-0 was not verified") + budget_card(data) + stop_card(data);
  std::string out =
      card("Best latency", large_latency(group.best_latency, unit), run_text(data, data.best(group)), "main");
  out += card("Speed-up over Candidate-0", ratio_text(group.speedup()),
              "Candidate-0: " + latency_text(group.candidate0, escape(unit)));
  if (group.baseline)
    out +=
        card("Against " + (group.baseline_name.empty() ? "the baseline" : escape(group.baseline_name)),
             ratio_text(*group.baseline / group.best_latency),
             latency_text(*group.baseline, escape(unit)) + ": " + escape(elide(group.baseline_source, 90)));
  else
    out += card("Against the baseline", "–",
                group.baseline_source.empty() ? "the history has no baseline for this workload"
                                              : escape(elide(group.baseline_source, 90)));
  if (group.bound && *group.bound > 0)
    out += card("Times the lower bound", ratio_text(group.best_latency / *group.bound),
                latency_text(*group.bound, escape(unit)) + ": " + escape(elide(group.bound_reason, 110)));
  else
    out += card("Times the lower bound", "–", "the target states no lower bound");
  return out + budget_card(data) + stop_card(data);
}

std::string suite_summary(const Data& data) {
  std::vector<double> speedups, baselines, bounds;
  size_t verified = 0, faster = 0;
  for (const Group& group : data.groups) {
    if (group.best_latency == 0) continue;
    ++verified;
    speedups.push_back(group.speedup());
    faster += group.best_latency < group.candidate0;
    if (group.baseline) baselines.push_back(*group.baseline / group.best_latency);
    if (group.bound && *group.bound > 0) bounds.push_back(group.best_latency / *group.bound);
  }
  const auto of_groups = [&](size_t count) {
    return fmt::format("geometric mean of {} workloads", grouped(count));
  };
  std::string out = card("Speed-up over Candidate-0", ratio_text(geometric_mean_of(speedups)),
                         of_groups(speedups.size()) + ", best of all runs", "main");
  out += card("Verified workloads", fmt::format("{} <small>of {}</small>", verified, data.groups.size()),
              fmt::format("search found a faster plan for {}", faster));
  const std::string label = baseline_label(data);
  out += card("Against " + (label == "Baseline" ? "the baseline" : escape(label)),
              baselines.empty() ? "–" : ratio_text(geometric_mean_of(baselines)),
              baselines.empty() ? "the history has no baselines" : of_groups(baselines.size()));
  out += card("Times the lower bound", bounds.empty() ? "–" : ratio_text(geometric_mean_of(bounds)),
              bounds.empty() ? "the targets state no lower bounds" : of_groups(bounds.size()));
  return out + budget_card(data) + stop_card(data);
}

std::string score_cell(const Group& group, const Score& score, double best) {
  if (score.runs == 0) return "<span class=\"muted\">no run</span>";
  if (score.median == 0) return "<span class=\"muted\">not verified</span>";
  const bool wins = score.median <= best;
  std::string out =
      fmt::format("{}{}{}", wins ? "<b>" : "", latency_text(score.median, ""), wins ? "</b>" : "");
  out += fmt::format("<br><span class=\"muted\">{}", ratio_text(group.candidate0 / score.median));
  if (score.runs > 1 && score.low != score.high)
    out += fmt::format("<br>{} to {}", latency_text(score.low, ""), latency_text(score.high, ""));
  return out + "</span>";
}

}  // namespace

Result<std::string> summary_section(const Data& data) {
  std::string simulators;
  std::map<std::string, bool> seen;
  for (const Group& group : data.groups) {
    if (group.problem.simulator.empty() || seen[group.problem.simulator]) continue;
    seen[group.problem.simulator] = true;
    simulators += (simulators.empty() ? "" : "; ") + escape(group.problem.simulator);
  }
  std::string out = "<div class=\"cards\">" +
                    (data.groups.size() == 1 ? single_summary(data) : suite_summary(data)) + "</div>";
  return out + note(simulators.empty() ? "Latencies are those of the target's simulator."
                                       : "Latencies are those of a simulator: " + simulators + ".");
}

Result<std::string> comparison_section(const Data& data) {
  if (data.groups.size() == 1 && data.policies.size() == 1)
    return nothing(
        "One workload and one policy: there is nothing to compare. Name more runs to see them side by side.");
  std::vector<std::string> head = {"Workload", "Candidate-0", escape(baseline_label(data)), "Lower bound"};
  for (const std::string& policy : data.policies) head.push_back(escape(policy));
  std::vector<std::vector<std::string>> rows;
  std::vector<std::vector<double>> speedups(data.policies.size());
  std::vector<size_t> wins(data.policies.size());
  for (const Group& group : data.groups) {
    const auto optional = [](const std::optional<double>& value) {
      return value ? latency_text(*value, "") : std::string("<span class=\"muted\">–</span>");
    };
    std::vector<std::string> row = {
        fmt::format("{} <span class=\"muted\">{}</span>", escape(group.name), escape(group.problem.unit)),
        group.candidate0 > 0 ? latency_text(group.candidate0, "") : "–", optional(group.baseline),
        optional(group.bound)};
    std::vector<Score> scores;
    double best = 0;
    for (size_t policy = 0; policy < data.policies.size(); ++policy) {
      scores.push_back(score_of(data.of(group, policy)));
      const double median = scores.back().median;
      if (median > 0 && (best == 0 || median < best)) best = median;
    }
    for (size_t policy = 0; policy < scores.size(); ++policy) {
      row.push_back(score_cell(group, scores[policy], best));
      if (scores[policy].median == 0) continue;
      speedups[policy].push_back(group.candidate0 / scores[policy].median);
      wins[policy] += scores[policy].median <= best;
    }
    rows.push_back(std::move(row));
  }
  std::vector<std::string> means = {"<b>Geometric mean of the speed-ups</b>", "", "", ""};
  std::vector<std::string> won = {"<b>Lowest median, ties included</b>", "", "", ""};
  for (size_t policy = 0; policy < data.policies.size(); ++policy) {
    means.push_back("<b>" + ratio_text(geometric_mean_of(speedups[policy])) + "</b>");
    won.push_back(fmt::format("{} of {}", wins[policy], speedups[policy].size()));
  }
  if (data.groups.size() > 1) rows.push_back(std::move(means));
  if (data.groups.size() > 1) rows.push_back(std::move(won));
  return table(head, rows) +
         note(
             "Each cell: the median over seeds of the best latency; below it the speed-up of that median "
             "over "
             "Candidate-0 and, when the seeds differ, their range. The lowest median of a row is bold.");
}

}  // namespace zomboss::report
