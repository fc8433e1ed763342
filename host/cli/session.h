// What the commands share: configuration, plugins, target, and one workload with its surface, built step by
// step. Each step fails with a Status that exit_code() maps.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/config/config.h"
#include "core/config/suite.h"
#include "core/evaluate/evaluator.h"
#include "core/resolver/resolver.h"
#include "core/search/policy.h"
#include "host/cli/interrupt.h"
#include "host/loader/loader.h"
#include "host/worker/remote_instance.h"

namespace zomboss::cli {

// The flags that every command takes.
struct CommonOptions {
  std::string program = "zomboss";     // as it was called, for the commands that reports print
  std::vector<std::string> arguments;  // all words after it
  bool json = false;
  std::string config_file;
  std::vector<std::string> plugin_dirs;
  std::vector<std::string> settings;  // --set key=value
  std::vector<std::string> params;    // --param NAME=VALUE
  std::string target;                 // empty = the configuration's
  std::string contract;               // contract file, empty = defaults
};

// One workload on one target. Members are in the order in which they depend on each other.
struct Problem {
  std::string path;  // of the HLO file
  evaluate::Workload workload;
  std::unique_ptr<mapping::Surface> full;     // as the target published it
  std::unique_ptr<mapping::Surface> surface;  // with derived domains
  std::unique_ptr<resolver::Resolver> resolver;
};

// What happened in worker processes and is no trial: crashes, time-outs, output. Any thread adds, one takes.
class EventLog {
 public:
  struct Event {
    std::string kind, text;
  };
  void add(const std::string& kind, const std::string& text);
  std::vector<Event> take();

 private:
  std::mutex mutex_;
  std::vector<Event> events_;
};

class Session {
 public:
  // Reads the configuration. `flags` are (key, value, flag) settings of the command's own flags, e.g.
  // ("search.seed", "7", "--seed").
  static Result<std::unique_ptr<Session>> open(const CommonOptions& options,
                                               const std::vector<std::array<std::string, 3>>& flags);

  const CommonOptions& options() const { return options_; }
  const config::Config& config() const { return config_; }
  loader::Loader& plugins();

  std::string target_id() const;
  // Opened at the first call.
  Result<evaluate::Target*> target();
  // The same and others like it, each in a worker of its own: `count` in all. Opened as they are needed.
  Result<std::vector<evaluate::Target*>> targets(size_t count);
  // A new instance of a plugin, in a worker process unless the configuration says otherwise.
  Result<std::unique_ptr<wire::Instance>> instance(const std::string& kind, const std::string& id,
                                                   const wire::OptionsT& options);
  EventLog& events() { return events_; }
  // The target's section of the configuration as its plugin gets it, settings file included.
  Result<wire::OptionsT> target_options() const;
  // HLO in, surface out. Warnings of the HLO go to stderr.
  Result<Problem> problem(const std::string& hlo_path, const std::string& contract_path);

  // The flags that a reproduce command repeats: target, contract, overrides, settings; with a leading blank.
  std::string reproduce_flags(const std::string& contract_path) const;

 private:
  CommonOptions options_;
  config::Config config_;
  std::unique_ptr<loader::Loader> plugins_;
  EventLog events_;
  std::vector<std::unique_ptr<evaluate::Target>> targets_;
};

// `text` as one word of a POSIX shell.
std::string shell_word(const std::string& text);

// Log lines of plugins go to stderr.
wire::LogFunction stderr_log();

}  // namespace zomboss::cli
