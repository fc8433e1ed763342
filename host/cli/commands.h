// The sub-commands of zomboss. Each returns an exit code (exit.h), prints data to stdout and talk to stderr.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/cli/session.h"

namespace zomboss::cli {

struct SearchOptions {
  std::vector<std::string> inputs;  // HLO files or suite files (.toml); empty = the target's bundled suites
  std::string policy, seed, evaluations, proposals, patience, output;  // empty = the configuration's
  bool no_export = false;
};
int run_search_command(const CommonOptions& common, const SearchOptions& options);

int run_surface_command(const CommonOptions& common, const std::string& hlo, bool rows);

struct IntentOptions {
  std::string hlo;
  std::vector<std::string> assignments;  // "tile_m=64", "buffering~double"
  std::string intent_file;               // the same in a file
  std::string plan_file;                 // plan.json of an export
  std::string output;
};
int run_complete_command(const CommonOptions& common, const IntentOptions& options);
int run_compile_command(const CommonOptions& common, const IntentOptions& options);

int run_check_command(const CommonOptions& common, const std::string& kernel, const std::string& hlo);

// `print`: the canonical text instead of a summary.
int run_taidl_command(const CommonOptions& common, const std::string& path, bool print);

int run_plugins_command(const CommonOptions& common);
int run_plugin_info_command(const CommonOptions& common, const std::string& id);
int run_plugin_allow_command(const CommonOptions& common, const std::string& id,
                             const std::string& lock_file);
int run_doctor_command(const CommonOptions& common);
int run_config_command(const CommonOptions& common);

// Prints the failure to stderr, and with --json an error document to stdout. Returns its exit code.
int fail(const CommonOptions& common, const Status& status);

}  // namespace zomboss::cli
