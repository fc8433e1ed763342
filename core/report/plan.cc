// The best plan: decisions, loop nest, memory occupancy, counters.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/base/text.h"
#include "core/report/sections.h"
#include "core/report/words.h"

namespace zomboss::report {
namespace {

std::string amount(double value, const std::string& unit) {
  if (unit == "bytes") return format_bytes(static_cast<int64_t>(value));
  return grouped(value, 0) + (unit.empty() ? "" : " " + unit);
}

// A rule as its target states it: "{needs:bytes}", "{available}" and "{knob}" stand for numbers of this plan.
std::string filled_rule(const std::string& rule, double needs, double available,
                        const std::vector<Decision>& plan) {
  std::string out;
  for (size_t at = 0; at < rule.size();) {
    const size_t end = rule[at] == '{' ? rule.find('}', at) : std::string::npos;
    if (end == std::string::npos) {
      out += rule[at++];
      continue;
    }
    const size_t colon = std::min(rule.find(':', at), end);
    const std::string name = rule.substr(at + 1, colon - at - 1);
    const std::string unit = colon < end ? rule.substr(colon + 1, end - colon - 1) : "";
    const auto decision =
        std::find_if(plan.begin(), plan.end(), [&](const Decision& one) { return one.knob == name; });
    if (name == "needs" || name == "available")
      out += amount(name == "needs" ? needs : available, unit);
    else
      out += decision == plan.end() ? rule.substr(at, end - at + 1) : decision->value;
    at = end + 1;
  }
  return out;
}

std::string occupancy(const Json& memories, const std::vector<Decision>& plan) {
  if (!memories.is_array() || memories.empty())
    return nothing("No capacity rule of this workload has numbers to show.");
  std::string out = "<div class=\"memories\">";
  std::vector<std::vector<std::string>> rows;
  for (const Json& memory : memories) {
    const double needs = number_of(member(memory, "needs")).value_or(0);
    const double available = number_of(member(memory, "available")).value_or(0);
    const std::string unit = text_of(member(memory, "unit"));
    const double share = available > 0 ? needs / available : 0;
    const std::string name = escape(text_of(member(memory, "name")));
    const std::string rule = filled_rule(text_of(member(memory, "rule")), needs, available, plan);
    out += fmt::format(
        "<div class=\"memory\"><div class=\"names\"><b>{}</b><span>{} of {}</span><span "
        "class=\"share\">{}</span></div>"
        "<div class=\"track\"><div class=\"{}\" style=\"width:{:.2f}%\"></div></div><div "
        "class=\"rule\">{}</div></div>",
        name, escape(amount(needs, unit)), escape(amount(available, unit)), percent_text(share),
        share > 1 ? "fill over" : "fill", std::clamp(100 * share, 0.0, 100.0), escape(elide(rule, 240)));
    rows.push_back({name, escape(rule), escape(amount(needs, unit)), escape(amount(available, unit)),
                    percent_text(share)});
  }
  return out + "</div>" + table_twin({"Memory", "Rule", "Needs", "Available", "Share"}, rows, 2);
}

// Keywords of a loop line in their own colour.
std::string loop_text(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) {
    const bool keyword =
        word == "for" || word == "in" || word == "step" || word == "parallel" || word == "unroll";
    if (!out.empty()) out += " ";
    out += keyword ? "<em>" + escape(word) + "</em>" : escape(word);
  }
  return out;
}

std::string loop_nest(const Json& loops) {
  if (!loops.is_array() || loops.empty()) return nothing("The run keeps no loop nest of its best plan.");
  std::string out = "<div class=\"scroll\"><div class=\"nest\">";
  std::vector<std::vector<std::string>> rows;
  for (const Json& loop : loops) {
    const auto depth = std::clamp(number_of(member(loop, "depth")).value_or(0), 0.0, 40.0);
    const std::string text = text_of(member(loop, "text"));
    const std::string knob = text_of(member(loop, "note"));
    out += fmt::format("<div class=\"loop\"><code style=\"--depth:{:.0f}\">{}</code><span>{}</span></div>",
                       depth, loop_text(text), escape(knob));
    rows.push_back({escape(text), escape(knob), fmt::format("{:.0f}", depth)});
  }
  return out + "</div></div>" + table_twin({"Loop", "Decided by", "Depth"}, rows, 2);
}

// "What it decides", each section with its knobs; decisions that differ from Candidate-0 stand out.
std::string decisions(const std::vector<Decision>& plan, const std::vector<Decision>& candidate0) {
  if (plan.empty()) return nothing("The history does not have the decisions of the best plan.");
  size_t changed = 0;
  std::string out = "<div class=\"decisions\">";
  std::string section;
  for (const Decision& decision : plan) {
    if (decision.section != section) {
      if (!section.empty()) out += "</dl>";
      section = decision.section;
      out += fmt::format("<dl><dt class=\"section\">{}</dt>", escape(section));
    }
    const auto before = std::find_if(candidate0.begin(), candidate0.end(), [&](const Decision& other) {
      return other.knob == decision.knob && other.section == decision.section;
    });
    const bool differs = before != candidate0.end() && before->value != decision.value;
    changed += differs;
    out += fmt::format("<div{}><dt>{}</dt><dd><b>{}</b>{}{}</dd></div>", differs ? " class=\"changed\"" : "",
                       escape(decision.knob), escape(decision.value),
                       differs ? fmt::format(" <s>{}</s>", escape(before->value)) : "",
                       decision.origin.empty() || decision.origin == "default"
                           ? std::string()
                           : fmt::format(" <i class=\"badge\">{}</i>", escape(decision.origin)));
  }
  out += "</dl></div>";
  return out + note(candidate0.empty()
                        ? "The history does not have the decisions of Candidate-0 to compare with."
                        : fmt::format("{} from Candidate-0; its value is struck out.",
                                      count_text(changed, "decision differs", "decisions differ")));
}

std::string counters(const Json& values) {
  if (!values.is_object() || values.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, value] : values.items()) {
    const auto number = number_of(value);
    if (!number) continue;
    const bool whole = *number == std::round(*number);
    rows.push_back({"<code>" + escape(name) + "</code>", grouped(*number, whole ? 0 : 4)});
  }
  return fmt::format("<details class=\"twin\"><summary>Counters of the simulator ({})</summary>{}</details>",
                     rows.size(), table({"Counter", "Value"}, rows));
}

std::vector<Decision> stored_decisions(const Data& data, const Group& group, const std::string& hash) {
  const auto json = data.history->plan(group.problem.key, hash);
  return json.ok() ? decisions_of(parse_json(*json)) : std::vector<Decision>();
}

Result<std::string> group_plan(const Data& data, const Group& group) {
  if (group.best_latency == 0) return nothing("Nothing was verified, so there is no best plan.");
  const history::Run& best = data.best(group).run;
  const auto found = incumbent_of(data, group);
  const Json incumbent = found.ok() ? *found : Json::object();
  std::vector<Decision> plan = decisions_of(member(incumbent, "plan"));
  if (plan.empty()) plan = stored_decisions(data, group, best.best_plan);
  std::string out =
      fmt::format("<p class=\"note\">Plan <code>{}</code>, {}, found by {} in {}.</p>",
                  escape(best.best_plan), latency_text(group.best_latency, escape(group.problem.unit)),
                  escape(data.policies[data.best(group).policy]),
                  best.best_evaluation == 0 ? std::string("no evaluation: it is Candidate-0")
                                            : "evaluation " + grouped(best.best_evaluation));
  if (!found.ok()) {
    out += nothing("No loop nest and no occupancy: " + found.status().message() + ".");
  } else {
    out += fmt::format(
        "<div class=\"two\"><div><h3>Loop nest</h3>{}</div><div><h3>Memory occupancy</h3>{}</div></div>",
        loop_nest(member(incumbent, "loop_nest")), occupancy(member(incumbent, "occupancy"), plan));
  }
  out += "<h3>Decisions</h3>" + decisions(plan, stored_decisions(data, group, best.candidate0_plan));
  return out + counters(member(incumbent, "counters"));
}

}  // namespace

Result<std::string> plan_section(const Data& data) {
  return for_each_group(data, [&](const Group& group) { return group_plan(data, group); });
}

}  // namespace zomboss::report
