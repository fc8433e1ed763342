// The page around the sections.
#include <fmt/format.h>

#include <set>

#include "core/report/report.h"
#include "core/report/sections.h"
#include "core/report/words.h"

namespace zomboss::report {
namespace {

struct Entry {
  const char* id;
  const char* title;
  const char* short_title;  // in the list at the top
  Result<std::string> (*make)(const Data&);
};

constexpr Entry kSections[] = {
    {"summary", "Summary", "Summary", summary_section},
    {"comparison", "Comparison", "Comparison", comparison_section},
    {"references", "References and other conditions", "References", references_section},
    {"progress", "Best so far", "Best so far", progress_section},
    {"trials", "Trials", "Trials", trials_section},
    {"rejections", "Where trials ended", "Rejections", rejections_section},
    {"knobs", "Effect of each knob", "Knobs", knobs_section},
    {"plan", "Best plan", "Plan", plan_section},
    {"timeline", "Engine timeline", "Timeline", timeline_section},
    {"cost", "Language-model cost", "Model cost", cost_section},
    {"events", "Events", "Events", events_section},
    {"reproduce", "Reproduce", "Reproduce", reproduce_section},
};

std::string section(const Entry& entry, const Data& data) {
  const auto inside = entry.make(data);
  // A section that fails is a card that says so; the others stand.
  const std::string body = inside.ok()
                               ? *inside
                               : fmt::format("<p class=\"failed\">This section could not be made: {}</p>",
                                             escape(inside.status().message()));
  return fmt::format("<section id=\"{0}\" aria-labelledby=\"h-{0}\"><h2 id=\"h-{0}\">{1}</h2>{2}</section>\n",
                     entry.id, entry.title, body);
}

std::string title_of(const Data& data, const ReportOptions& options) {
  if (!options.title.empty()) return options.title;
  if (data.groups.size() == 1) return data.groups[0].name;
  std::set<std::string> suites;
  for (const RunView& view : data.runs) suites.insert(view.run.suite);
  if (suites.size() == 1 && !suites.begin()->empty()) return "Suite " + *suites.begin();
  return count_text(data.groups.size(), "workload", "workloads");
}

std::string subtitle(const Data& data) {
  std::set<std::string> targets;
  for (const Group& group : data.groups) targets.insert(group.problem.target);
  std::string out;
  for (const std::string& target : targets) out += (out.empty() ? "" : ", ") + escape(target);
  if (data.groups.size() > 1) out += ", " + count_text(data.groups.size(), "workload", "workloads");
  out += ", " + count_text(data.policies.size(), "policy", "policies");
  out += ", " + count_text(data.runs.size(), "run", "runs");
  std::string first, last;
  for (const RunView& view : data.runs) {
    if (first.empty() || view.run.started < first) first = view.run.started;
    if (view.run.ended > last) last = view.run.ended;
  }
  if (first.size() >= 10) out += ", " + escape(first.substr(0, 10));
  if (last.size() >= 10 && last.substr(0, 10) != first.substr(0, 10))
    out += " to " + escape(last.substr(0, 10));
  return out;
}

}  // namespace

Result<std::string> html_report(const history::History& history, std::span<const int64_t> runs,
                                const ReportOptions& options) {
  ZB_ASSIGN(const Data data, collect(history, runs));
  const std::string title = escape(title_of(data, options));
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      // Nothing is ever fetched, whatever stands in the data.
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"generator\" content=\"zomboss\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{0} · Zomboss</title>\n<style>{1}</style>\n</head>\n<body>\n"
      "<header><div><p class=\"kicker\">Zomboss search report</p><h1>{0}</h1><p class=\"sub\">{2}</p></div>"
      "<button id=\"theme\" hidden>Dark</button></header>\n<nav aria-label=\"Sections\">",
      title, style_sheet(), subtitle(data));
  for (const Entry& entry : kSections)
    out += fmt::format("<a href=\"#{}\">{}</a>", entry.id, entry.short_title);
  out += "</nav>\n<main>\n";
  for (const Entry& entry : kSections) out += section(entry, data);
  out += fmt::format("</main>\n<script>{}</script>\n</body>\n</html>\n", script());
  return out;
}

}  // namespace zomboss::report
