// The command line of zomboss. docs/cli.md is the reference.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include "core/base/text.h"
#include "host/cli/commands.h"
#include "host/cli/exit.h"
#include "host/cli/json.h"

namespace zomboss::cli {

int fail(const CommonOptions& common, const Status& status) {
  const int code = exit_code(status);
  const std::string& text = status.message();
  fmt::print(stderr, "{}{}\n", text.find(": error: ") != std::string::npos ? "" : "zomboss: error: ", text);
  if (code == kExitInternal)
    fmt::print(stderr,
               "This is a bug in zomboss or in the plugin that the message names. Please report it with the "
               "command line and its input files.\n");
  if (common.json)
    print_json({{"schema", "zomboss.error/1"},
                {"exit_code", code},
                {"code", code_name(status.code())},
                {"message", text}});
  return code;
}

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

struct Arguments {
  CommonOptions common;
  SearchOptions search;
  IntentOptions intent;
  std::string hlo, kernel, taidl, plugin_id, lock_file;
  bool rows = false;
};

void add_search(CLI::App& root, Arguments& a, int& exit) {
  CLI::App& app = *root.add_subcommand("search", "search a mapping for a workload, or for each of a suite");
  add_common(app, a.common);
  app.add_option("input", a.search.inputs,
                 "HLO files, or suite files (.toml); default: the suites of the target in workloads/");
  app.add_option("--policy", a.search.policy, "policy plugin (default: hill)");
  app.add_option("--seed", a.search.seed, "seed of the policy (default: 1)");
  app.add_option("--evaluations", a.search.evaluations,
                 "evaluation budget (default: 12 catalog, 80 conditional)");
  app.add_option("--proposals", a.search.proposals, "proposal budget (default: 20 times the evaluations)");
  app.add_option("--patience", a.search.patience, "stop after this many evaluations without improvement");
  app.add_option("-o,--output", a.search.output, "folder for the kernels (default: out)");
  app.add_flag("--no-export", a.search.no_export, "write no files");
  app.callback([&] { exit = run_search_command(a.common, a.search); });
}

void add_intent_command(CLI::App& root, Arguments& a, int& exit, const char* name, const char* help,
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
  app.callback([&a, &exit, run] { exit = run(a.common, a.intent); });
}

void add_plugins(CLI::App& root, Arguments& a, int& exit) {
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
  app.callback([&a, &exit, &info, &allow] {
    exit = info.parsed()    ? run_plugin_info_command(a.common, a.plugin_id)
           : allow.parsed() ? run_plugin_allow_command(a.common, a.plugin_id, a.lock_file)
                            : run_plugins_command(a.common);
  });
}

void add_others(CLI::App& root, Arguments& a, int& exit) {
  CLI::App& surface = *root.add_subcommand("surface", "show the mapping surface of a workload");
  add_common(surface, a.common);
  surface.add_option("hlo", a.hlo, "HLO file")->required();
  surface.add_flag("--plans", a.rows, "list all legal plans too");
  surface.callback([&] { exit = run_surface_command(a.common, a.hlo, a.rows); });

  CLI::App& check = *root.add_subcommand("check", "verify and time an exported or hand-written kernel");
  add_common(check, a.common);
  check.add_option("kernel", a.kernel, "kernel file in the target's own format")->required();
  check.add_option("--workload", a.hlo, "HLO file of the workload")->required();
  check.callback([&] { exit = run_check_command(a.common, a.kernel, a.hlo); });

  CLI::App& taidl = *root.add_subcommand("taidl", "parse and check a target description");
  add_common(taidl, a.common);
  taidl.add_option("file", a.taidl, "TAIDL file")->required();
  taidl.add_flag("--print", a.rows, "print the canonical text");
  taidl.callback([&] { exit = run_taidl_command(a.common, a.taidl, a.rows); });

  CLI::App& doctor = *root.add_subcommand("doctor", "load every plugin, check every target's description");
  add_common(doctor, a.common);
  doctor.callback([&] { exit = run_doctor_command(a.common); });

  CLI::App& config = *root.add_subcommand("config", "show the configuration and where each value comes from");
  add_common(config, a.common);
  config.callback([&] { exit = run_config_command(a.common); });
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

int run(int argc, char** argv) {
  CLI::App app("Zomboss: mapping search for tensor accelerators", "zomboss");
  app.set_version_flag("--version", "zomboss " ZB_VERSION);
  app.require_subcommand(1);
  app.footer(
      "examples:\n"
      "  zomboss search workloads/gemmini/gemm_c3.hlo --policy hill --seed 1\n"
      "  zomboss search workloads/plena-composite.toml --policy random\n"
      "  zomboss surface workloads/gemmini/gemm_c3.hlo --param DIM=8\n"
      "  zomboss complete workloads/gemmini/gemm_c3.hlo tile_m=64 buffering~double\n"
      "exit codes: 0 success, 1 no valid mapping, 2 usage or input, 3 plugin, 4 check failed, 5 internal,\n"
      "            130 interrupted");
  Arguments arguments;
  if (argc > 0) arguments.common.program = argv[0];
  int exit = kExitSuccess;
  add_search(app, arguments, exit);
  add_others(app, arguments, exit);
  add_intent_command(app, arguments, exit, "complete", "complete an intent to a plan, or explain why not",
                     run_complete_command);
  add_intent_command(app, arguments, exit, "compile", "complete an intent, verify its kernel and export it",
                     run_compile_command);
  add_plugins(app, arguments, exit);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    const std::string why = explain_words(app, std::vector<std::string>(argv + 1, argv + argc));
    fmt::print(stderr, "zomboss: error: {}\nrun `zomboss{} --help` for what there is\n",
               why.empty() ? error.what() : why,
               app.get_subcommands().empty() ? "" : " " + app.get_subcommands()[0]->get_name());
    return kExitUsage;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    fmt::print(stderr, "zomboss: error: the output could not be written\n");
    return exit == kExitSuccess ? kExitUsage : exit;
  }
  return exit;
}

}  // namespace
}  // namespace zomboss::cli

int main(int argc, char** argv) {
  try {
    return zomboss::cli::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr,
               "zomboss: internal error: {}\nPlease report it with the command line and its input files.\n",
               error.what());
    return zomboss::cli::kExitInternal;
  }
}
