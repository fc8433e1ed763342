// The words of a command line as the options of a command. docs/cli.md is the reference.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/cli/commands.h"

namespace zomboss::cli {

// Stays where it is: `action` refers to it.
struct CommandLine {
  CommandLine() = default;
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CommonOptions common;
  SearchOptions search;
  HistoryOptions history;
  IntentOptions intent;
  std::string hlo, kernel, taidl, plugin_id, lock_file;
  bool rows = false;
  uint64_t worker_memory = 0;

  std::string command;          // "search", "plugins", ...
  std::function<int()> action;  // runs it
};

// Nothing when there is an action to run; else the exit code: help was printed, or what is wrong.
std::optional<int> parse_command_line(const std::string& program, const std::vector<std::string>& words,
                                      CommandLine& line);

}  // namespace zomboss::cli
