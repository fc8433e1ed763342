#include "host/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "core/base/text.h"
#include "host/cli/exit.h"
#include "host/worker/serve.h"

namespace zomboss::cli {
namespace {

void add_common(CLI::App& app, CommonOptions& common) {
  app.add_flag("--json", common.json, "print one JSON document on stdout");
  app.add_option("--target", common.target, "target plugin (default: that of the suite files, else gemmini)");
  app.add_option("--contract", common.contract, "contract file of the workload (TOML)");
  app.add_option("--param", common.params, "override a TAIDL parameter of the target: NAME=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--set", common.settings, "set a configuration key: key=value")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--config", common.config_file, "configuration file, above all others");
  app.add_option("--plugin-dir", common.plugin_dirs, "folder searched for plugins first")
      ->take_all()
      ->allow_extra_args(false);
}

void add_search_flags(CLI::App& app, CommandLine& a) {
  add_common(app, a.common);
  app.add_option("input", a.search.inputs,
                 "HLO files, or suite files (.toml); default: the suites of the target in workloads/");
  app.add_option("--evaluations", a.search.evaluations,
                 "evaluation budget (default: 12 catalog, 80 conditional)");
  app.add_option("--proposals", a.search.proposals, "proposal budget (default: 20 times the evaluations)");
  app.add_option("--patience", a.search.patience, "stop after this many evaluations without improvement");
  app.add_option("--seconds", a.search.seconds, "stop after this much wall time");
  app.add_option("--tokens", a.search.tokens, "stop when a language model used this many tokens");
  app.add_option("--cost", a.search.cost, "stop when a language model cost this much");
  app.add_option(
      "-j,--jobs", a.search.jobs,
      "plans evaluated at once, 0 = one for each processor (default: 1); results do not depend on it");
  app.add_option_function<std::string>(
      "--history",
      [&a](const std::string& file) {
        a.search.history = file;
        a.search.history_given = true;
      },
      "the history's file, '' = keep none (default: .zomboss/history.db)");
}

void add_search(CLI::App& root, CommandLine& a) {
  CLI::App& app = *root.add_subcommand("search", "search a mapping for a workload, or for each of a suite");
  add_search_flags(app, a);
  app.add_option("--policy", a.search.policy, "policy plugin (default: hill)");
  app.add_option("--seed", a.search.seed, "seed of the policy (default: 1)");
  app.add_option("-o,--output", a.search.output, "folder for the kernels (default: out)");
  app.add_flag("--no-export", a.search.no_export, "write no files");
  app.callback([&a] { a.action = [&a] { return run_search_command(a.common, a.search); }; });

  CLI::App& suite = *root.add_subcommand("suite", "search each workload with several policies and seeds");
  add_search_flags(suite, a);
  suite.add_option("--policies", a.search.policies, "policy plugins, separated by commas (default: hill)");
  suite.add_option("--seeds", a.search.seeds, "seeds, as 1..5 or 1,4,7 (default: 1)");
  suite.callback([&a] { a.action = [&a] { return run_suite_command(a.common, a.search); }; });

  CLI::App& ask =
      *root.add_subcommand("ask", "begin or show a run that an external program drives (JSON lines)");
  add_search_flags(ask, a);
  ask.add_option("--run", a.history.run, "show the state of this run instead of beginning one");
  ask.callback([&a] { a.action = [&a] { return run_ask_command(a.common, a.search, a.history.run); }; });
}

// Commands that read the history, or go on with what stands in it.
void add_history_commands(CLI::App& root, CommandLine& a) {
  const auto add = [&](const char* name, const char* help) -> CLI::App& {
    CLI::App& app = *root.add_subcommand(name, help);
    add_common(app, a.common);
    app.add_option("--history", a.history.history, "the history's file (default: .zomboss/history.db)");
    return app;
  };
  CLI::App& runs = add("runs", "list the runs of the history");
  runs.add_option("--job", a.history.job, "only those of one command");
  runs.callback([&a] { a.action = [&a] { return run_runs_command(a.common, a.history); }; });

  CLI::App& show = add("show", "show a run, its best plan, its trials");
  show.add_option("run", a.history.run, "number of the run (zomboss runs)")->required();
  show.add_flag("--best", a.history.best, "the best plan with its counters");
  show.add_option("--trial", a.history.trial, "one trial");
  show.add_flag("--trials", a.history.trials, "all trials, a line each");
  show.add_flag("--canonical", a.history.canonical, "the text that a repeated run has to have again");
  show.callback([&a] { a.action = [&a] { return run_show_command(a.common, a.history); }; });

  CLI::App& compare = add("compare", "compare the policies of suites");
  compare.add_option("job", a.history.jobs, "numbers of the jobs (default: the last suite)");
  compare.callback([&a] { a.action = [&a] { return run_compare_command(a.common, a.history); }; });

  CLI::App& report = add("report", "write one HTML file about runs");
  report.add_option("run", a.history.jobs, "numbers of the runs (default: those of the last job)");
  report.add_option("--job", a.history.job, "all runs of one command");
  report.add_option("-o,--output", a.history.output, "the file (default: report.html)");
  report.callback([&a] { a.action = [&a] { return run_report_command(a.common, a.history); }; });

  CLI::App& resume = add("resume", "go on with a search or suite that was cut off");
  resume.add_option("job", a.history.job, "number of the job (default: the last that is not complete)");
  resume.callback([&a] { a.action = [&a] { return run_resume_command(a.common, a.history); }; });

  CLI::App& replay = add("replay", "evaluate a run, or one trial, again and compare with the record");
  replay.add_option("run", a.history.run, "number of the run")->required();
  replay.add_option("--trial", a.history.trial, "one trial only");
  replay.add_flag("--best", a.history.best, "the best plan only");
  replay.callback([&a] { a.action = [&a] { return run_replay_command(a.common, a.history); }; });

  CLI::App& tell = add("tell", "propose to a run of `ask`: JSON lines in, JSON lines out");
  tell.add_option("run", a.history.run, "number of the run")->required();
  tell.callback([&a] { a.action = [&a] { return run_tell_command(a.common, a.history); }; });
}

void add_intent_command(CLI::App& root, CommandLine& a, const char* name, const char* help,
                        int (*run)(const CommonOptions&, const IntentOptions&)) {
  CLI::App& app = *root.add_subcommand(name, help);
  add_common(app, a.common);
  app.add_option("hlo", a.intent.hlo, "HLO file")->required();
  app.add_option("assignment", a.intent.assignments, "KNOB=VALUE (hard), KNOB~VALUE (preferred), KNOB=auto");
  app.add_option("--intent", a.intent.intent_file, "file with assignments, one or more a line, # comments");
  app.add_option("--plan", a.intent.plan_file,
                 "plan.json of an earlier export: all its decisions become hard");
  if (std::string(name) == "compile")
    app.add_option("-o,--output", a.intent.output, "folder for the kernel (default: out)");
  app.callback([&a, run] { a.action = [&a, run] { return run(a.common, a.intent); }; });
}

void add_plugins(CLI::App& root, CommandLine& a) {
  CLI::App& app =
      *root.add_subcommand("plugins", "list the installed plugins (reads manifests, loads nothing)");
  add_common(app, a.common);
  CLI::App& info = *app.add_subcommand("info", "load one plugin and show it");
  info.add_option("id", a.plugin_id, "plugin id")->required();
  CLI::App& allow = *app.add_subcommand("allow", "add a plugin to the allow-list");
  allow.add_option("id", a.plugin_id, "plugin id, or the path of its manifest")->required();
  allow.add_option("--lock", a.lock_file,
                   "allow-list file (default: plugins.allow_list of the configuration)");
  info.fallthrough();
  allow.fallthrough();
  app.require_subcommand(0, 1);
  CLI::App& release = *app.add_subcommand("release", "use a plugin again that is in quarantine");
  release.add_option("id", a.plugin_id, "plugin id")->required();
  release.fallthrough();
  app.callback([&a, &info, &allow, &release] {
    const bool wants_info = info.parsed(), wants_allow = allow.parsed(), wants_release = release.parsed();
    a.action = [=, &a] {
      return wants_info      ? run_plugin_info_command(a.common, a.plugin_id)
             : wants_allow   ? run_plugin_allow_command(a.common, a.plugin_id, a.lock_file)
             : wants_release ? run_plugin_release_command(a.common, a.plugin_id)
                             : run_plugins_command(a.common);
    };
  });
}

void add_others(CLI::App& root, CommandLine& a) {
  CLI::App& surface = *root.add_subcommand("surface", "show the mapping surface of a workload");
  add_common(surface, a.common);
  surface.add_option("hlo", a.hlo, "HLO file")->required();
  surface.add_flag("--plans", a.rows, "list all legal plans too");
  surface.callback([&a] { a.action = [&a] { return run_surface_command(a.common, a.hlo, a.rows); }; });

  CLI::App& check = *root.add_subcommand("check", "verify and time an exported or hand-written kernel");
  add_common(check, a.common);
  check.add_option("kernel", a.kernel, "kernel file in the target's own format")->required();
  check.add_option("--workload", a.hlo, "HLO file of the workload")->required();
  check.callback([&a] { a.action = [&a] { return run_check_command(a.common, a.kernel, a.hlo); }; });

  CLI::App& taidl = *root.add_subcommand("taidl", "parse and check a target description");
  add_common(taidl, a.common);
  taidl.add_option("file", a.taidl, "TAIDL file")->required();
  taidl.add_flag("--print", a.rows, "print the canonical text");
  taidl.callback([&a] { a.action = [&a] { return run_taidl_command(a.common, a.taidl, a.rows); }; });

  CLI::App& doctor = *root.add_subcommand("doctor", "load every plugin, check every target's description");
  add_common(doctor, a.common);
  doctor.callback([&a] { a.action = [&a] { return run_doctor_command(a.common); }; });

  CLI::App& config = *root.add_subcommand("config", "show the configuration and where each value comes from");
  add_common(config, a.common);
  config.callback([&a] { a.action = [&a] { return run_config_command(a.common); }; });
}

void add_worker(CLI::App& root, CommandLine& a) {
  CLI::App& worker = *root.add_subcommand("worker", "");
  worker.group("");  // not for people: the host starts it
  worker.add_option("--memory", a.worker_memory);
  worker.callback([&a] { a.action = [&a]() -> int { worker::serve(a.worker_memory); }; });
}

// The names of what an app takes: sub-commands, or its long flags.
std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// What is wrong with the words of the command line that CLI11 rejects without naming the nearest, or "".
std::string explain_words(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with("-")) return {};
  const std::vector<std::string> commands = command_names(app);
  if (std::find(commands.begin(), commands.end(), words[0]) == commands.end())
    return fmt::format("unknown command '{}'{}", words[0], did_you_mean(words[0], commands));
  const std::vector<std::string> flags = flag_names(*app.get_subcommand(words[0]));
  for (const std::string& word : words) {
    const std::string flag = word.substr(0, word.find('='));
    if (flag.starts_with("--") && flag.size() > 2 &&
        std::find(flags.begin(), flags.end(), flag) == flags.end())
      return fmt::format("unknown flag '{}' of {}{}", flag, words[0], did_you_mean(flag, flags));
  }
  return {};
}

}  // namespace

std::optional<int> parse_command_line(const std::string& program, const std::vector<std::string>& words,
                                      CommandLine& line) {
  CLI::App app("Zomboss: mapping search for tensor accelerators", "zomboss");
  app.set_version_flag("--version", "zomboss " ZB_VERSION);
  app.require_subcommand(1);
  app.footer(
      "examples:\n"
      "  zomboss search workloads/gemmini/gemm_c3.hlo --policy hill --seed 1\n"
      "  zomboss suite workloads/gemmini.toml --policies random,hill,genetic --seeds 1..5\n"
      "  zomboss report -o report.html\n"
      "  zomboss surface workloads/gemmini/gemm_c3.hlo --param DIM=8\n"
      "  zomboss complete workloads/gemmini/gemm_c3.hlo tile_m=64 buffering~double\n"
      "exit codes: 0 success, 1 no valid mapping, 2 usage or input, 3 plugin, 4 check failed, 5 internal,\n"
      "            130 interrupted");
  line.common.program = program;
  line.common.arguments = words;
  add_search(app, line);
  add_history_commands(app, line);
  add_others(app, line);
  add_intent_command(app, line, "complete", "complete an intent to a plan, or explain why not",
                     run_complete_command);
  add_intent_command(app, line, "compile", "complete an intent, verify its kernel and export it",
                     run_compile_command);
  add_plugins(app, line);
  add_worker(app, line);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    const std::string why = explain_words(app, words);
    fmt::print(stderr, "zomboss: error: {}\nrun `zomboss{} --help` for what there is\n",
               why.empty() ? error.what() : why,
               app.get_subcommands().empty() ? "" : " " + app.get_subcommands()[0]->get_name());
    return kExitUsage;
  }
  line.command = app.get_subcommands()[0]->get_name();
  return std::nullopt;
}

}  // namespace zomboss::cli
