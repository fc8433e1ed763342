#include "host/cli/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "core/config/contract_file.h"
#include "core/config/settings_file.h"
#include "core/mapping/convert.h"
#include "core/taidl/model.h"
#include "host/cli/exit.h"
#include "host/loader/refusal.h"

namespace zomboss::cli {

int exit_code(const Status& status) {
  if (!loader::refusal_code_of(status).empty()) return kExitPlugin;
  switch (status.code()) {
    case Code::kOk:
      return kExitSuccess;
    case Code::kAborted:
      return kExitNoMapping;
    case Code::kCancelled:
      return kExitInterrupted;
    case Code::kDeadlineExceeded:  // of a plugin's answer
    case Code::kInternal:
    case Code::kUnknown:
    case Code::kDataLoss:
      return kExitInternal;
    default:
      return kExitUsage;
  }
}

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./=:,+@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

wire::LogFunction stderr_log() {
  return [](zb_severity severity, std::string_view plugin, std::string_view text) {
    if (severity < ZB_WARNING) return;
    fmt::print(stderr, "zomboss: {}: {}: {}\n", plugin, severity == ZB_WARNING ? "warning" : "error", text);
  };
}

Result<std::unique_ptr<Session>> Session::open(const CommonOptions& options,
                                               const std::vector<std::array<std::string, 3>>& flags) {
  auto session = std::make_unique<Session>();
  session->options_ = options;
  const auto environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  ZB_ASSIGN(session->config_, config::load_config(options.config_file, environment));
  for (const std::string& setting : options.settings) ZB_TRY(session->config_.add_setting(setting, "--set"));
  for (const auto& [key, value, flag] : flags) ZB_TRY(session->config_.add_setting(key + "=" + value, flag));
  if (!options.target.empty())
    ZB_TRY(session->config_.add_setting("search.target=" + options.target, "--target"));
  for (const std::string& param : options.params) {
    ZB_ASSIGN(const auto override, taidl::parse_override(param));
    ZB_TRY(session->config_.add_setting(
        fmt::format("target.{}.params.{}={}", session->target_id(), override.first, override.second),
        "--param"));
  }
  return session;
}

std::string Session::target_id() const {
  return config_.text("search.target");
}

loader::Loader& Session::plugins() {
  if (plugins_ == nullptr) {
    std::vector<std::string> folders = options_.plugin_dirs;
    for (const std::string& folder : config_.texts("plugins.directories")) folders.push_back(folder);
    loader::LoaderOptions loader_options{loader::default_search_path(folders), std::nullopt};
    if (const std::string& list = config_.text("plugins.allow_list"); !list.empty())
      loader_options.allow_list = list;
    plugins_ = std::make_unique<loader::Loader>(std::move(loader_options));
  }
  return *plugins_;
}

void EventLog::add(const std::string& kind, const std::string& text) {
  const std::lock_guard lock(mutex_);
  events_.push_back({kind, text});
}

std::vector<EventLog::Event> EventLog::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

Result<std::unique_ptr<wire::Instance>> Session::instance(const std::string& kind, const std::string& id,
                                                          const wire::OptionsT& options) {
  const std::string& isolation = config_.text("plugins.isolation");
  if (isolation == "in-process") {
    ZB_ASSIGN(const loader::Plugin* plugin,
              plugins().load(id, kind == "policy" ? loader::Kind::kPolicy : loader::Kind::kTarget));
    return wire::open_instance(*plugin->descriptor, options, stderr_log(), plugin->sha256);
  }
  if (isolation != "process")
    return invalid_argument(fmt::format("'plugins.isolation' is '{}' ({}), expected process or in-process",
                                        isolation, config_.origin("plugins.isolation")));
  worker::PluginSource source{kind, id, options_.plugin_dirs, std::nullopt};
  for (const std::string& folder : config_.texts("plugins.directories")) source.folders.push_back(folder);
  if (const std::string& list = config_.text("plugins.allow_list"); !list.empty()) source.allow_list = list;
  worker::Limits limits;
  const bool policy = kind == "policy";
  constexpr double kLongest = 1e7;                   // seconds: more is no limit that anybody waits for
  constexpr int64_t kMostMemory = int64_t{1} << 40;  // MiB
  limits.call_seconds =
      std::min(kLongest, config_.number(policy ? "worker.policy_seconds" : "worker.seconds"));
  limits.memory = static_cast<uint64_t>(std::min(kMostMemory, config_.integer("worker.memory"))) << 20;
  // A proposal that is waited for is made again by a resumed run; an evaluation that runs may finish.
  limits.kill = policy ? &stop_requested() : &kill_requested();
  return worker::open_remote(
      "/proc/self/exe", source, options, limits, stderr_log(),
      [this](const std::string& kind_of, const std::string& text) { events_.add(kind_of, text); });
}

Result<wire::OptionsT> Session::target_options() const {
  wire::OptionsT options = config_.plugin_options("target", target_id());
  ZB_TRY(config::expand_settings_file(options));
  return options;
}

Result<evaluate::Target*> Session::target() {
  ZB_ASSIGN(const auto targets, this->targets(1));
  return targets.front();
}

Result<std::vector<evaluate::Target*>> Session::targets(size_t count) {
  while (targets_.size() < count) {
    if (stop_requested().load()) return Status(Code::kCancelled, "interrupted");
    ZB_ASSIGN(const wire::OptionsT options, target_options());
    ZB_ASSIGN(auto instance, this->instance("target", target_id(), options));
    if (targets_.empty()) {
      ZB_ASSIGN(auto target, evaluate::Target::open(std::move(instance), config_.target_params(target_id())));
      for (const std::string& warning : target->warnings()) fmt::print(stderr, "{}", warning);
      targets_.push_back(std::move(target));
    } else {
      ZB_ASSIGN(auto target, evaluate::Target::open_like(*targets_.front(), std::move(instance)));
      targets_.push_back(std::move(target));
    }
  }
  std::vector<evaluate::Target*> list;
  for (size_t i = 0; i < count; ++i) list.push_back(targets_[i].get());
  return list;
}

Result<Problem> Session::problem(const std::string& hlo_path, const std::string& contract_path) {
  Problem problem;
  problem.path = hlo_path;
  ZB_ASSIGN(const Source source, read_source(hlo_path));
  evaluate::Contract contract;
  if (!contract_path.empty()) {
    ZB_ASSIGN(contract, config::read_contract(contract_path));
  }
  Diagnostics diagnostics(source);
  const std::string name = std::filesystem::path(hlo_path).stem().string();
  ZB_ASSIGN(evaluate::Target * target, this->target());
  ZB_ASSIGN(problem.workload,
            evaluate::load_workload(source, name, contract, diagnostics, target->model().storage));
  for (const Diagnostic& diagnostic : diagnostics.all())
    fmt::print(stderr, "{}", diagnostics.render(diagnostic));
  ZB_ASSIGN(const wire::SurfaceT message, target->surface(problem.workload.encoded));
  auto full = mapping::from_wire(message);
  if (!full.ok())
    return internal_error(fmt::format("target {} {}: its surface is not valid: {}", target->id(),
                                      target->version(), full.status().message()));
  problem.full = std::make_unique<mapping::Surface>(*std::move(full));
  ZB_ASSIGN(mapping::Surface derived, resolver::derive_domains(*problem.full));
  problem.surface = std::make_unique<mapping::Surface>(std::move(derived));
  problem.resolver = std::make_unique<resolver::Resolver>(*problem.surface);
  return problem;
}

std::string Session::reproduce_flags(const std::string& contract_path) const {
  std::string flags = " --target " + target_id();
  if (!contract_path.empty()) flags += " --contract " + shell_word(contract_path);
  for (const std::string& folder : options_.plugin_dirs) flags += " --plugin-dir " + shell_word(folder);
  if (!options_.config_file.empty()) flags += " --config " + shell_word(options_.config_file);
  for (const std::string& param : options_.params) flags += " --param " + shell_word(param);
  for (const std::string& setting : options_.settings) flags += " --set " + shell_word(setting);
  return flags;
}

}  // namespace zomboss::cli
