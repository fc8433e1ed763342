// The plans that a target names beside the best one, and whether the best stays the best under the other
// conditions that its simulator states.
#include <fmt/format.h>

#include <algorithm>

#include "core/report/sections.h"
#include "core/report/words.h"

namespace zomboss::report {
namespace {

const Json& list_of(const Json& value) {
  static const Json kNone = Json::array();
  return value.is_array() ? value : kNone;
}

std::string percent_behind(double miss) {
  return fmt::format("{:.2f} %", 100 * miss);
}

std::string references_table(const Group& group) {
  if (list_of(group.references).empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const Json& reference : list_of(group.references)) {
    const auto latency = number_of(member(reference, "latency"));
    std::string name =
        fmt::format("{} <span class=\"muted\">{}</span>", escape(text_of(member(reference, "name"))),
                    escape(elide(text_of(member(reference, "doc")), 120)));
    if (latency && *latency > 0 && group.best_latency > 0)
      rows.push_back({std::move(name), latency_text(*latency, escape(group.problem.unit)),
                      ratio_text(*latency / group.best_latency)});
    else
      rows.push_back({std::move(name), escape(text_of(member(reference, "outcome"))),
                      escape(elide(text_of(member(reference, "reason")), 240))});
  }
  return "<h3>Named by the target</h3>" + table({"Plan", "Latency", "Over the best"}, rows);
}

// "library 1.52×", each reference that verified under this scenario.
std::string references_under(const Group& group, const std::string& scenario, double best) {
  std::string text;
  for (const Json& reference : list_of(group.references)) {
    const auto latency = number_of(member(member(reference, "scenarios"), scenario.c_str()));
    if (latency && best > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", escape(text_of(member(reference, "name"))),
                          ratio_text(*latency / best));
  }
  return text.empty() ? "–" : text;
}

std::string ranking_table(const Group& group) {
  if (list_of(group.ranking).empty())
    return nothing("The simulator states no latencies under other conditions.");
  std::vector<std::vector<std::string>> rows;
  for (const Json& each : list_of(group.ranking)) {
    const std::string scenario = text_of(member(each, "scenario"));
    const double best = number_of(member(each, "best")).value_or(0);
    const double fastest = number_of(member(each, "fastest")).value_or(0);
    const bool stays = best <= fastest;
    rows.push_back({escape(scenario), latency_text(best, ""), latency_text(fastest, ""),
                    stays ? "the best plan" : escape(text_of(member(each, "fastest_is"))),
                    stays || fastest <= 0 ? "–" : percent_behind(best / fastest - 1),
                    references_under(group, scenario, best)});
  }
  return "<h3>Under other conditions</h3>" +
         table({"Condition", "Best plan", "Fastest evaluated", "Which is", "Best is behind by",
                "Over the best"},
               rows) +
         note(
             "The best plan is the one of the plain latency. Fastest: of everything that its run evaluated, "
             "Candidate-0 and the plans named by the target included.");
}

// "library 1.52×" for each condition: geometric means over the workloads of the first reference over the best
// plan.
std::string means_under(const Data& data) {
  std::vector<std::pair<std::string, std::vector<double>>> ratios;
  std::string name;
  for (const Group& group : data.groups) {
    if (list_of(group.references).empty()) continue;
    const Json& reference = list_of(group.references)[0];
    for (const Json& each : list_of(group.ranking)) {
      const std::string scenario = text_of(member(each, "scenario"));
      const double best = number_of(member(each, "best")).value_or(0);
      const auto latency = number_of(member(member(reference, "scenarios"), scenario.c_str()));
      if (!latency || *latency <= 0 || best <= 0) continue;
      auto found = std::find_if(ratios.begin(), ratios.end(),
                                [&](const auto& ratio) { return ratio.first == scenario; });
      if (found == ratios.end()) found = ratios.insert(ratios.end(), {scenario, {}});
      found->second.push_back(*latency / best);
      const std::string own = text_of(member(reference, "name"));
      name = name.empty() || name == own ? own : "reference";
    }
  }
  std::string text;
  for (const auto& [scenario, values] : ratios)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", escape(scenario),
                        ratio_text(geometric_mean_of(values)));
  if (text.empty()) return {};
  return fmt::format("<p>Geometric means of {} / best: {}.</p>", escape(name), text);
}

// One line for each workload, and how many keep their winner.
std::string all_workloads(const Data& data) {
  std::vector<std::vector<std::string>> rows;
  size_t ranked = 0, stay = 0;
  for (const Group& group : data.groups) {
    if (list_of(group.ranking).empty()) continue;
    double worst = 0;
    std::string where = "–";
    for (const Json& each : list_of(group.ranking)) {
      const double miss = number_of(member(each, "miss")).value_or(0);
      if (miss <= worst) continue;
      worst = miss;
      where = escape(text_of(member(each, "scenario")));
    }
    ++ranked;
    stay += worst <= 0;
    rows.push_back({escape(group.name), worst <= 0 ? "stays" : "changes",
                    worst <= 0 ? "–" : percent_behind(worst), where});
  }
  if (ranked == 0) return {};
  return fmt::format("<p>The best plan stays the fastest under every condition in {} of {}.</p>", stay,
                     count_text(ranked, "workload", "workloads")) +
         means_under(data) + table({"Workload", "Winner", "Behind by at most", "Under"}, rows);
}

}  // namespace

Result<std::string> references_section(const Data& data) {
  const bool any = std::any_of(data.groups.begin(), data.groups.end(), [](const Group& group) {
    return !list_of(group.ranking).empty() || !list_of(group.references).empty();
  });
  if (!any)
    return nothing(
        "The target names no plans to compare with, and its simulator states no latencies under other "
        "conditions.");
  ZB_ASSIGN(const std::string each, for_each_group(
                                        data,
                                        [](const Group& group) -> Result<std::string> {
                                          return references_table(group) + ranking_table(group);
                                        },
                                        data.groups.size() == 1));
  return (data.groups.size() > 1 ? all_workloads(data) : std::string()) + each;
}

}  // namespace zomboss::report
