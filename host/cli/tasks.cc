#include "host/cli/tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace zomboss::cli {
namespace {

// The suite files of a target in workloads/ of the current folder: TARGET.toml and TARGET-*.toml, by name.
// TARGET-extra.toml is for those who name it.
Result<std::vector<std::string>> bundled_suites(const std::string& target) {
  std::vector<std::string> suites;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("workloads", error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".toml") && name != target + "-extra.toml" &&
        (name == target + ".toml" || name.starts_with(target + "-")))
      suites.push_back(entry.path().string());
  }
  std::sort(suites.begin(), suites.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  if (suites.empty())
    return invalid_argument(
        fmt::format("no input is given, and workloads/ of the current folder has no suite of {}: name an HLO "
                    "or suite file",
                    target));
  return suites;
}

Task task_of(const config::Suite& suite, const config::Instance& instance, const Session& session) {
  Task task;
  task.name = suite.name + "/" + instance.name;
  task.suite = suite.name;
  task.hlo = instance.hlo;
  task.contract = instance.contract.empty() ? session.options().contract : instance.contract;
  if (suite.target == session.target_id()) {  // of another machine it says nothing
    task.baseline = instance.baseline;
    task.baseline_source = instance.baseline_source;
  }
  return task;
}

}  // namespace

bool is_suite(const std::string& input) {
  return input.ends_with(".toml");
}

Result<CommonOptions> with_target_of_suites(CommonOptions common, const std::vector<std::string>& inputs) {
  const bool named = !common.target.empty() ||
                     std::any_of(common.settings.begin(), common.settings.end(),
                                 [](const std::string& each) { return each.starts_with("search.target="); });
  std::string first;
  for (const std::string& input : inputs) {
    if (named || !is_suite(input)) continue;
    ZB_ASSIGN(const config::Suite suite, config::read_suite(input));
    if (!common.target.empty() && suite.target != common.target)
      return invalid_argument(
          fmt::format("{} is for target {} and {} for target {}: search them one after the other, or name a "
                      "target with --target",
                      first, common.target, input, suite.target));
    if (first.empty()) first = input;
    common.target = suite.target;
  }
  return common;
}

Result<std::vector<Task>> read_tasks(const Session& session, std::vector<std::string> inputs) {
  if (inputs.empty()) {
    ZB_ASSIGN(inputs, bundled_suites(session.target_id()));
  }
  std::vector<Task> tasks;
  for (const std::string& input : inputs) {
    if (!is_suite(input)) {
      tasks.push_back({"", "", input, session.options().contract, {}, "", ""});
      continue;
    }
    ZB_ASSIGN(const config::Suite suite, config::read_suite(input));
    for (const config::Instance& instance : suite.instances)
      tasks.push_back(task_of(suite, instance, session));
  }
  return tasks;
}

}  // namespace zomboss::cli
