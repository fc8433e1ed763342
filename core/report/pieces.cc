#include <fmt/format.h>

#include "core/report/sections.h"
#include "core/report/words.h"

namespace zomboss::report {

std::string nothing(std::string_view why) {
  return fmt::format("<p class=\"nothing\">{}</p>", escape(why));
}

std::string note(std::string_view html) {
  return fmt::format("<p class=\"note\">{}</p>", html);
}

std::string figure(std::string_view drawing, std::string_view classes) {
  return fmt::format("<div class=\"figure {}\">{}</div>", classes, drawing);
}

std::string table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows,
                  size_t text_columns) {
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  for (size_t i = 0; i < head.size(); ++i)
    out += fmt::format("<th class=\"{}{}\">{}</th>", i < text_columns ? "" : "n ",
                       character_count(head[i]) <= 13 ? "short" : "", head[i]);
  out += "</tr></thead><tbody>";
  for (const auto& row : rows) {
    out += "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      out += fmt::format("<td{}>{}</td>", i < text_columns ? "" : " class=\"n\"", row[i]);
    out += "</tr>";
  }
  return out + "</tbody></table></div>";
}

std::string table_twin(const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows, size_t text_columns) {
  return fmt::format("<details class=\"twin\"><summary>As a table ({})</summary>{}</details>",
                     count_text(rows.size(), "row", "rows"), table(head, rows, text_columns));
}

Result<std::string> for_each_group(const Data& data,
                                   const std::function<Result<std::string>(const Group&)>& make,
                                   bool open_first) {
  if (data.groups.size() == 1) return make(data.groups[0]);
  std::string out;
  for (const Group& group : data.groups) {
    auto inside = make(group);
    out += fmt::format(
        "<details class=\"group\"{}><summary><b>{}</b><span>{}</span></summary>{}</details>",
        open_first && &group == &data.groups[0] ? " open" : "", escape(group.name),
        group.best_latency > 0 ? latency_text(group.best_latency, escape(group.problem.unit)) + ", " +
                                     ratio_text(group.speedup()) + " over Candidate-0"
                               : "nothing verified",
        inside.ok() ? *inside : nothing("This part could not be made: " + inside.status().message()));
  }
  return out;
}

std::string policy_class(size_t policy) {
  return "c" + std::to_string(policy % 8);
}

Outcome outcome_of(const std::string& name) {
  static const std::map<std::string, Outcome, std::less<>> kOutcomes = {
      {"invalid", {0, "invalid proposal", "o-invalid", "the proposal breaks a rule of its form"}},
      {"illegal", {1, "illegal mapping", "o-illegal", "no legal plan keeps its hard assignments"}},
      {"duplicate", {2, "duplicate", "o-duplicate", "the plan is known; answered from the history"}},
      {"lowering failed", {3, "lowering failed", "o-lowering", "the target could not make code of the plan"}},
      {"simulation failed", {4, "simulation failed", "o-simulation", "the simulator refused the code"}},
      {"timed out", {5, "timed out", "o-timeout", "the evaluation took longer than allowed"}},
      {"crashed", {6, "crashed", "o-crash", "the worker died during the evaluation"}},
      {"wrong", {7, "wrong result", "o-wrong", "the kernel computes something else than the oracle"}},
      {"valid", {8, "verified", "o-valid", "the kernel is right; its latency counts"}},
  };
  const auto found = kOutcomes.find(name);
  return found == kOutcomes.end() ? Outcome{9, {}, "o-other", {}} : found->second;
}

std::string legend(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "<ul class=\"legend\">";
  for (const auto& [classes, text] : entries)
    out += fmt::format("<li><i class=\"{}\"></i>{}</li>", classes, escape(text));
  return out + "</ul>";
}

Result<Json> incumbent_of(const Data& data, const Group& group) {
  const std::string& best = data.best(group).run.best_plan;
  // Another run that ends with the same plan may have it when the best does not.
  std::vector<size_t> candidates = {group.best};
  for (const size_t index : group.runs)
    if (index != group.best && data.runs[index].run.best_plan == best) candidates.push_back(index);
  for (const size_t index : candidates) {
    ZB_ASSIGN(const std::optional<std::string> text,
              data.history->document(data.runs[index].run.id, "incumbent"));
    if (!text) continue;
    Json json = parse_json(*text);
    if (!json.is_object())
      return data_loss(fmt::format("what run {} keeps of its best plan is damaged", data.runs[index].run.id));
    return json;
  }
  return not_found(
      fmt::format("run {} keeps no description of its best plan; it is written when a search ends",
                  data.best(group).run.id));
}

}  // namespace zomboss::report
