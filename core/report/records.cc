// What else a reader asks for: cost of language models, events, how to do it again and where it was done.
#include <fmt/format.h>

#include <algorithm>

#include "core/report/sections.h"
#include "core/report/words.h"

namespace zomboss::report {
namespace {

std::string money(const history::Usage& usage) {
  if (usage.cost == 0 && usage.cost_unknown) return "unknown";
  std::string text = grouped(usage.cost, usage.cost < 1 ? 4 : 2);
  if (!usage.currency.empty()) text += " " + escape(usage.currency);
  if (usage.cost_unknown) text = "at least " + text;
  return text + (usage.estimated ? " (estimated)" : "");
}

void add(history::Usage& sum, const history::Usage& usage) {
  sum.requests += usage.requests;
  sum.prompt_tokens += usage.prompt_tokens;
  sum.completion_tokens += usage.completion_tokens;
  sum.cached_tokens += usage.cached_tokens;
  sum.reasoning_tokens += usage.reasoning_tokens;
  sum.malformed += usage.malformed;
  sum.cost += usage.cost;
  sum.cost_unknown |= usage.cost_unknown;
  sum.estimated |= usage.estimated;
  if (!usage.currency.empty()) sum.currency = usage.currency;
}

uint64_t verified_trials(const RunView& view) {
  for (const auto& [outcome, trials] : view.outcomes)
    if (outcome == "valid") return trials;
  return 0;
}

std::string key_values(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "<dl class=\"pairs\">";
  for (const auto& [key, value] : entries)
    if (!value.empty()) out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape(key), escape(value));
  return out + "</dl>";
}

std::string code_block(const std::string& text) {
  return fmt::format("<div class=\"code\"><pre>{}</pre><button class=\"copy\" hidden>Copy</button></div>",
                     escape(text));
}

// As a shell takes it.
std::string quoted_argument(const std::string& argument) {
  const bool plain = !argument.empty() && argument.find_first_not_of(
                                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789_-./=:,+@%~") == std::string::npos;
  if (plain) return argument;
  std::string out = "'";
  for (const char c : argument) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A list of {"key", "value", "origin"} is a table; anything else is shown as it is.
std::string configuration(const std::string& text) {
  const Json json = parse_json(text);
  const bool list = json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& entry) {
                      return entry.is_object() && entry.contains("key");
                    });
  if (!list)
    return fmt::format(
        "<pre>{}</pre>",
        escape(json.is_null() ? text : json.dump(2, ' ', false, Json::error_handler_t::replace)));
  std::vector<std::vector<std::string>> rows;
  for (const Json& entry : json)
    rows.push_back({"<code>" + escape(text_of(member(entry, "key"))) + "</code>",
                    "<code>" + escape(text_of(member(entry, "value"))) + "</code>",
                    escape(text_of(member(entry, "origin")))});
  return table({"Key", "Value", "Where it comes from"}, rows, 3);
}

std::string job_part(const history::Job& job) {
  std::string command = "zomboss";
  for (const std::string& argument : job.arguments) command += " " + quoted_argument(argument);
  std::string out = fmt::format("<h3>Job {}: {}, {}</h3>", job.id, escape(job.command), escape(job.state));
  out += code_block("cd " + quoted_argument(job.folder) + "\n" + command);
  std::vector<std::pair<std::string, std::string>> entries = {{"started", job.started}, {"ended", job.ended}};
  const Json environment = parse_json(job.environment);
  if (environment.is_object())
    for (const auto& [key, value] : environment.items()) entries.emplace_back(key, text_of(value));
  out += key_values(entries);
  if (!job.configuration.empty() && job.configuration != "{}")
    out += fmt::format("<details class=\"twin\"><summary>Configuration</summary>{}</details>",
                       configuration(job.configuration));
  return out;
}

std::string plugins_table(const Data& data) {
  std::vector<std::vector<std::string>> rows;
  const auto row = [&](const char* kind, const std::string& id, const std::string& version,
                       const std::string& sha, const std::string& options) {
    std::string shown = options;
    std::replace(shown.begin(), shown.end(), '\n', ' ');
    std::vector<std::string> cells = {kind, escape(id), escape(version), "<code>" + escape(shown) + "</code>",
                                      "<code>" + escape(elide(sha, 20)) + "</code>"};
    if (std::find(rows.begin(), rows.end(), cells) == rows.end()) rows.push_back(std::move(cells));
  };
  for (const Group& group : data.groups)
    row("target", group.problem.target, group.problem.target_version, group.problem.target_sha256,
        group.problem.target_options);
  for (const RunView& view : data.runs)
    row("policy", view.run.policy, view.run.policy_version, view.run.policy_sha256, view.run.policy_options);
  return "<h3>Plugins</h3>" + table({"Kind", "Plugin", "Version", "Options", "SHA-256 of the file"}, rows, 5);
}

std::string runs_table(const Data& data) {
  std::vector<std::vector<std::string>> rows;
  for (const RunView& view : data.runs) {
    const history::Run& run = view.run;
    rows.push_back(
        {fmt::format("{}", run.id), escape(run.label), escape(data.policies[view.policy]),
         escape(run.stop_reason.empty() ? run.state : run.stop_reason), fmt::format("{}", run.seed),
         fmt::format("{} / {}", grouped(run.evaluations), grouped(run.budget.evaluations)),
         grouped(run.trials), view.verified() ? grouped(run.best_latency) : "–",
         view.verified()
             ? ratio_text(static_cast<double>(run.candidate0_latency) / static_cast<double>(run.best_latency))
             : "–",
         seconds_text(run.seconds)});
  }
  return fmt::format("<details class=\"twin\"><summary>All runs ({})</summary>{}</details>", rows.size(),
                     table({"Run", "Workload", "Policy", "Stopped by", "Seed", "Evaluations", "Trials",
                            "Best latency", "Speed-up", "Time"},
                           rows, 4));
}

}  // namespace

Result<std::string> cost_section(const Data& data) {
  std::vector<history::Usage> usage(data.policies.size());
  std::vector<uint64_t> verified(data.policies.size());
  uint64_t requests = 0;
  for (const RunView& view : data.runs) {
    add(usage[view.policy], view.run.usage);
    verified[view.policy] += verified_trials(view);
    requests += view.run.usage.requests;
  }
  if (requests == 0) return nothing("No run asked a language model.");
  std::vector<std::vector<std::string>> rows;
  for (size_t policy = 0; policy < usage.size(); ++policy) {
    const history::Usage& own = usage[policy];
    if (own.requests == 0) continue;
    const uint64_t tokens = own.prompt_tokens + own.completion_tokens;
    rows.push_back(
        {escape(data.policies[policy]), grouped(own.requests), grouped(own.prompt_tokens),
         grouped(own.cached_tokens), grouped(own.completion_tokens), grouped(own.reasoning_tokens),
         fmt::format("{} ({})", grouped(own.malformed),
                     percent_text(static_cast<double>(own.malformed) / static_cast<double>(own.requests))),
         verified[policy] == 0 ? "–" : grouped(tokens / verified[policy]), money(own)});
  }
  return table({"Policy", "Requests", "Prompt tokens", "of them cached", "Completion tokens",
                "of them reasoning", "Malformed answers", "Tokens per verified kernel", "Cost"},
               rows) +
         note(
             "Sums over all runs of a policy. Tokens per verified kernel: prompt and completion tokens by "
             "verified "
             "trials.");
}

Result<std::string> events_section(const Data& data) {
  constexpr size_t kShown = 200;
  struct Row {
    const RunView* view;
    const history::Event* event;
  };
  std::vector<Row> all;
  std::map<std::string, size_t> kinds;
  for (const RunView& view : data.runs) {
    for (const history::Event& event : view.events) {
      all.push_back({&view, &event});
      ++kinds[event.kind];
    }
  }
  if (all.empty()) return nothing("No crash, no time-out, no output of plugins, no interruption.");
  std::string words;
  for (const auto& [kind, count] : kinds)
    words += fmt::format("{}{}: {}", words.empty() ? "" : ", ", escape(kind), count);
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < std::min(all.size(), kShown); ++i) {
    const history::Event& event = *all[i].event;
    rows.push_back(
        {fmt::format("<time>{}</time>", escape(event.time)),
         fmt::format("{}<br><span class=\"muted\">{}, seed {}</span>", escape(all[i].view->run.label),
                     escape(data.policies[all[i].view->policy]), all[i].view->run.seed),
         fmt::format("<i class=\"badge e-{}\">{}</i>",
                     event.kind == "crash" || event.kind == "timeout" ? "bad" : "mild", escape(event.kind)),
         fmt::format("<pre>{}</pre>", escape(elide(event.text, 1200)))});
  }
  std::string out = note(words + ".") + table({"Time", "Run", "Event", "What happened"}, rows, 4);
  if (all.size() > kShown)
    out += note(fmt::format("The first {} of {}.", kShown, grouped(uint64_t{all.size()})));
  return out;
}

Result<std::string> reproduce_section(const Data& data) {
  std::string out;
  for (const Group& group : data.groups) {
    const auto incumbent = incumbent_of(data, group);
    const std::string command = incumbent.ok() ? text_of(member(*incumbent, "reproduce")) : std::string();
    if (command.empty()) continue;
    if (out.empty()) out = "<h3>The best kernel again</h3>";
    if (data.groups.size() > 1) out += fmt::format("<p class=\"note\">{}</p>", escape(group.name));
    out += code_block(command);
  }
  if (out.empty()) out = nothing("The runs keep no command that makes their best kernel again.");
  for (const history::Job& job : data.jobs) out += job_part(job);
  out += plugins_table(data);
  std::vector<std::vector<std::string>> problems;
  for (const Group& group : data.groups)
    problems.push_back({escape(group.name), "<code>" + escape(group.problem.key) + "</code>",
                        "<code>" + escape(group.problem.workload_hash) + "</code>",
                        "<code>" + escape(group.problem.spec_hash) + "</code>"});
  out += fmt::format(
      "<details class=\"twin\"><summary>Hashes of workloads and machines ({})</summary>{}</details>",
      problems.size(), table({"Workload", "Problem", "Workload and contract", "Machine"}, problems, 4));
  return out + runs_table(data);
}

}  // namespace zomboss::report
