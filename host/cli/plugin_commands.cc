// zomboss plugins, doctor and config: what is installed, is it healthy, how is it configured.
#include <fmt/format.h>

#include <filesystem>

#include "core/config/config.h"
#include "host/cli/commands.h"
#include "host/cli/exit.h"
#include "host/cli/json.h"
#include "host/loader/allow_list.h"
#include "host/loader/refusal.h"

namespace zomboss::cli {
namespace {

Json to_json(const loader::Manifest& manifest) {
  return {{"id", manifest.id},           {"kind", loader::kind_name(manifest.kind)},
          {"version", manifest.version}, {"abi", manifest.abi},
          {"library", manifest.library}, {"description", manifest.description}};
}

// Every plugin of that id: a target and a policy may share it.
std::vector<loader::Manifest> find_manifests(const loader::Discovery& discovery, const std::string& id) {
  std::vector<loader::Manifest> found;
  for (const loader::Manifest& manifest : discovery.manifests)
    if (manifest.id == id) found.push_back(manifest);
  return found;
}

// The plugins that `id` names: by id, or by the path of a manifest.
Result<std::vector<loader::Manifest>> named_manifests(const loader::Discovery& discovery,
                                                      const std::string& id) {
  if (!id.ends_with(".toml")) return find_manifests(discovery, id);
  ZB_ASSIGN(const Source source, read_source(std::filesystem::absolute(id).string(), size_t{1} << 20));
  ZB_ASSIGN(loader::Manifest manifest, loader::parse_manifest(source));
  return std::vector<loader::Manifest>{std::move(manifest)};
}

Status no_such_plugin(const std::string& id) {
  return loader::refuse(
      loader::Refusal::kNotFound,
      fmt::format("no plugin '{}' is on the search path; list them with `zomboss plugins`", id));
}

// One line of `zomboss doctor`.
struct Finding {
  bool ok;
  std::string what, text;
};

// Loads the plugin as a search would, in a worker of its own, and checks what a target says of itself.
void check_plugin(Session& session, const loader::Manifest& manifest, std::vector<Finding>& findings) {
  const std::string kind(loader::kind_name(manifest.kind));
  const std::string what = kind + " " + manifest.id;
  auto instance = session.instance(kind, manifest.id, session.config().plugin_options(kind, manifest.id));
  if (!instance.ok()) {
    findings.push_back({false, what, instance.status().message()});
  } else {
    findings.push_back(
        {true, what, fmt::format("loads, version {}, ABI {}", manifest.version, manifest.abi)});
  }
  if (manifest.kind != loader::Kind::kTarget) return;
  const std::string spec = "spec of " + manifest.id;
  if (!instance.ok()) {
    findings.push_back({false, spec, "not loaded"});
    return;
  }
  const auto target =
      evaluate::Target::open(*std::move(instance), session.config().target_params(manifest.id));
  if (!target.ok()) {
    findings.push_back({false, spec, target.status().message()});
    return;
  }
  findings.push_back(
      {(*target)->warnings().empty(), spec,
       fmt::format("{} instructions, {} memories, {} warnings", (*target)->model().instructions.size(),
                   (*target)->model().memories.size(), (*target)->warnings().size())});
}

// The history of this folder, if there is one.
Result<std::unique_ptr<history::History>> find_history(const Session& session) {
  const std::string& file = session.config().text("history.file");
  std::error_code error;
  if (file.empty() || !std::filesystem::exists(file, error)) return std::unique_ptr<history::History>();
  return history::History::open(file, history::Access::kReadOnly);
}

void check_history(const Session& session, std::vector<Finding>& findings) {
  const std::string& file = session.config().text("history.file");
  const auto history = find_history(session);
  if (history.ok() && *history == nullptr) return;
  Status status = history.status();
  if (status.ok()) status = (*history)->check();
  findings.push_back({status.ok(), "history", status.ok() ? file + " is whole" : status.message()});
}

// A line for each plugin file that crashed too often.
std::vector<std::string> quarantine_lines(const Session& session) {
  std::vector<std::string> lines;
  const auto history = find_history(session);
  if (!history.ok() || *history == nullptr) return lines;
  const auto plugins = (*history)->plugins();
  if (!plugins.ok()) return lines;
  for (const auto& health : *plugins)
    if (health.quarantined)
      lines.push_back(
          fmt::format("quarantined: {} {}, file {}...: {} failures in a row, the last: {}; use it "
                      "again with `zomboss plugins release {}`",
                      health.id, health.version, health.sha256.substr(0, 12), health.failures,
                      health.last_failure, health.id));
  return lines;
}

}  // namespace

int run_plugins_command(const CommonOptions& common) {
  auto session = Session::open(common, {});
  if (!session.ok()) return fail(common, session.status());
  const loader::Discovery& discovery = (*session)->plugins().discovery();
  if (common.json) {
    Json json = {{"schema", "zomboss.plugins/1"}, {"plugins", Json::array()}, {"problems", Json::array()}};
    for (const loader::Manifest& manifest : discovery.manifests) json["plugins"].push_back(to_json(manifest));
    for (const loader::Problem& problem : discovery.problems)
      json["problems"].push_back({{"path", problem.path}, {"text", problem.text}});
    json["quarantined"] = quarantine_lines(**session);
    print_json(json);
  } else {
    for (const loader::Manifest& manifest : discovery.manifests)
      fmt::print("{:<7} {:<12} {:<8} {}\n", loader::kind_name(manifest.kind), manifest.id, manifest.version,
                 manifest.description);
    for (const std::string& line : quarantine_lines(**session)) fmt::print("{}\n", line);
    for (const loader::Problem& problem : discovery.problems)
      fmt::print(stderr, "zomboss: {}\n", problem.text);
  }
  return discovery.manifests.empty() && !discovery.problems.empty() ? kExitPlugin : kExitSuccess;
}

int run_plugin_info_command(const CommonOptions& common, const std::string& id) {
  auto session = Session::open(common, {});
  if (!session.ok()) return fail(common, session.status());
  const auto found = find_manifests((*session)->plugins().discovery(), id);
  if (found.empty()) return fail(common, no_such_plugin(id));
  Json list = Json::array();
  for (const loader::Manifest& manifest : found) {
    const auto plugin = (*session)->plugins().load(manifest);
    if (!plugin.ok()) return fail(common, plugin.status());
    Json json = to_json(manifest);
    json["sha256"] = (*plugin)->sha256;
    list.push_back(json);
  }
  if (common.json) {
    print_json({{"schema", "zomboss.plugin-info/1"}, {"plugins", list}});
    return kExitSuccess;
  }
  for (const Json& json : list)
    for (const auto& [key, value] : json.items()) fmt::print("{:<12} {}\n", key, value.get<std::string>());
  return kExitSuccess;
}

int run_plugin_allow_command(const CommonOptions& common, const std::string& id,
                             const std::string& lock_file) {
  auto session = Session::open(common, {});
  if (!session.ok()) return fail(common, session.status());
  const std::string list = !lock_file.empty() ? lock_file : (*session)->config().text("plugins.allow_list");
  if (list.empty())
    return fail(common,
                invalid_argument("no allow-list is named: give --lock FILE or set plugins.allow_list"));
  const auto found = named_manifests((*session)->plugins().discovery(), id);
  if (!found.ok()) return fail(common, found.status());
  if (found->empty()) return fail(common, no_such_plugin(id));
  for (const loader::Manifest& manifest : *found) {
    const auto entry = loader::allow_plugin(list, manifest);
    if (!entry.ok()) return fail(common, entry.status());
    if (common.json)
      print_json({{"schema", "zomboss.plugin-allow/1"},
                  {"id", entry->id},
                  {"kind", loader::kind_name(entry->kind)},
                  {"version", entry->version},
                  {"sha256", entry->sha256},
                  {"list", list}});
    else
      fmt::print("{} {} {} is allowed (sha256 {}) in {}\n", loader::kind_name(entry->kind), entry->id,
                 entry->version, entry->sha256, list);
  }
  return kExitSuccess;
}

int run_doctor_command(const CommonOptions& common) {
  auto session = Session::open(common, {});
  if (!session.ok()) return fail(common, session.status());
  loader::Loader& plugins = (*session)->plugins();
  std::vector<Finding> findings;
  for (const loader::Problem& problem : plugins.discovery().problems)
    findings.push_back({false, problem.path, problem.text});
  findings.push_back({!plugins.discovery().manifests.empty(), "plugins",
                      fmt::format("{} found", plugins.discovery().manifests.size())});
  for (const loader::Manifest& manifest : plugins.discovery().manifests)
    check_plugin(**session, manifest, findings);
  check_history(**session, findings);
  bool healthy = true;
  Json list = Json::array();
  for (const Finding& finding : findings) {
    healthy = healthy && finding.ok;
    list.push_back({{"ok", finding.ok}, {"what", finding.what}, {"text", finding.text}});
    if (!common.json) fmt::print("{:<4} {:<20} {}\n", finding.ok ? "ok" : "BAD", finding.what, finding.text);
  }
  if (common.json) print_json({{"schema", "zomboss.doctor/1"}, {"healthy", healthy}, {"findings", list}});
  return healthy ? kExitSuccess : kExitPlugin;
}

int run_config_command(const CommonOptions& common) {
  auto session = Session::open(common, {});
  if (!session.ok()) return fail(common, session.status());
  Json list = Json::array();
  for (const auto& [key, value, origin] : (*session)->config().all()) {
    list.push_back({{"key", key}, {"value", value}, {"origin", origin}});
    if (!common.json) fmt::print("{:<28} {:<16} {}\n", key, value, origin);
  }
  if (common.json) print_json({{"schema", "zomboss.config/1"}, {"values", list}});
  return kExitSuccess;
}

}  // namespace zomboss::cli
