// How far policies stay from the optimum: every row of each catalog of the suites is measured once, then each
// policy searches each instance with many seeds, and regret = best found / best there is - 1 is averaged. On
// a conditional surface "best there is" is the best that any of the searches found. Prints tables;
// docs/policies.md has the numbers and the commands.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>

#include "CLI/CLI.hpp"
#include "host/loader/loader.h"
#include "tests/perf/regret/bench.h"

namespace zomboss::regret {
namespace {

struct Settings {
  std::vector<std::string> suites, policies, plugin_dirs;
  std::string costs, rows;
  uint32_t evaluations = 0, drop = 0;
  uint64_t seeds = 100;
  double at_most = 0;
  bool each = false, ranks = false, blind = false;
};

// "hill" or "hill:reach=1,batch=4".
wire::OptionsT options_of(const std::string& policy) {
  wire::OptionsT options;
  const size_t colon = policy.find(':');
  if (colon == std::string::npos) return options;
  for (const std::string& pair : CLI::detail::split(policy.substr(colon + 1), ',')) {
    auto value = std::make_unique<wire::AttributeT>();
    value->key = pair.substr(0, pair.find('='));
    value->text = pair.substr(std::min(pair.size(), pair.find('=') + 1));
    options.values.push_back(std::move(value));
  }
  return options;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// How well the static costs order the rows: regret of the statically best 1 and 12, rank of the optimum, and
// the rank correlation of Spearman.
void print_ranking(const Bench& bench, const std::vector<Cost>& rows) {
  std::vector<size_t> by_estimate(rows.size()), by_latency(rows.size());
  std::iota(by_estimate.begin(), by_estimate.end(), size_t{0});
  std::iota(by_latency.begin(), by_latency.end(), size_t{0});
  std::stable_sort(by_estimate.begin(), by_estimate.end(),
                   [&](size_t a, size_t b) { return rows[a].estimate < rows[b].estimate; });
  std::stable_sort(by_latency.begin(), by_latency.end(),
                   [&](size_t a, size_t b) { return rows[a].latency < rows[b].latency; });
  std::vector<double> rank(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) rank[by_latency[i]] = static_cast<double>(i);
  const double n = static_cast<double>(rows.size());
  double squares = 0, first = 1e300, twelve = 1e300;
  size_t optimum_at = rows.size();
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t row = by_estimate[i];
    squares += std::pow(rank[row] - static_cast<double>(i), 2);
    if (i == 0) first = rows[row].latency;
    if (i < 12) twelve = std::min(twelve, rows[row].latency);
    if (rows[row].latency == bench.best()) optimum_at = std::min(optimum_at, i);
  }
  const size_t near = static_cast<size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const Cost& row) { return row.latency <= 1.01 * bench.best(); }));
  fmt::print(
      "{:<14} {:>5} rows  Candidate-0 {:>8}  optimum {:>8}  within 1 % {:>4}  static: first {:>6.2f} %  "
      "best of 12 {:>6.2f} %  rank of optimum {:>4}  Spearman {:>5.2f}\n",
      bench.name(), rows.size(), bench.candidate0(), bench.best(), near, 100 * (first / bench.best() - 1),
      100 * (twelve / bench.best() - 1), optimum_at + 1, 1 - 6 * squares / (n * (n * n - 1)));
}

// A line per row: suite, instance, latency, static cost, the values in knob order.
Status write_rows(const std::string& path, const std::string& suite, const Bench& bench,
                  const std::vector<Cost>& rows) {
  std::ofstream stream(path, std::ios::app);
  for (size_t row = 0; row < rows.size(); ++row) {
    stream << fmt::format("{},{},{},{}", suite, bench.name(), rows[row].latency, rows[row].estimate);
    for (size_t k = 0; k < bench.surface().knobs().size(); ++k) {
      const mapping::Knob& knob = bench.surface().knob(k);
      stream << fmt::format(",{}={}", knob.name, knob.values[bench.surface().row(row)[k]]);
    }
    stream << "\n";
  }
  stream.close();
  return stream ? Status() : Status(Code::kUnavailable, path + ": could not be written");
}

class Program {
 public:
  explicit Program(const Settings& settings)
      : settings_(settings), loader_({loader::default_search_path(settings.plugin_dirs), std::nullopt}) {}

  Status run() {
    ZB_ASSIGN(costs_, Costs::read(settings_.costs));
    for (const std::string& path : settings_.suites) {
      const Status status = run_suite(path);
      ZB_TRY(costs_.write());
      ZB_TRY(status);
    }
    return {};
  }

 private:
  Status run_suite(const std::string& path) {
    ZB_ASSIGN(const config::Suite suite, config::read_suite(path));
    ZB_ASSIGN(const loader::Plugin* plugin, loader_.load(suite.target, loader::Kind::kTarget));
    ZB_ASSIGN(const auto target, evaluate::Target::open(*plugin->descriptor, {}, {}));
    const std::string identity = suite.target + "-" + plugin->sha256.substr(0, 16);
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::unique_ptr<Bench>> benches;
    for (const config::Instance& instance : suite.instances) {
      ZB_ASSIGN(auto bench, Bench::open(instance, *target, identity, costs_));
      if (bench->surface().is_catalog()) {
        ZB_ASSIGN(const std::vector<Cost> rows, bench->measure_rows(!settings_.blind));
        if (settings_.ranks) print_ranking(*bench, rows);
        if (!settings_.rows.empty()) ZB_TRY(write_rows(settings_.rows, suite.name, *bench, rows));
      }
      benches.push_back(std::move(bench));
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    fmt::print("suite {}: {} instances, rows measured or read in {:.1f} s\n", suite.name, benches.size(),
               seconds.count());
    return search_all(suite, benches);
  }

  Status search_all(const config::Suite& suite, std::vector<std::unique_ptr<Bench>>& benches) {
    std::vector<std::vector<std::vector<Outcome>>> outcomes;  // by policy, instance, seed
    for (const std::string& policy : settings_.policies) {
      outcomes.emplace_back();
      for (auto& bench : benches) {
        outcomes.back().emplace_back();
        for (uint64_t seed = 1; seed <= settings_.seeds; ++seed) {
          ZB_ASSIGN(Outcome outcome, search(policy, *bench, seed));
          outcomes.back().back().push_back(outcome);
        }
      }
    }
    for (size_t p = 0; p < outcomes.size(); ++p) {
      const double percent = print(suite, settings_.policies[p], benches, outcomes[p]);
      if (settings_.at_most > 0 && percent > settings_.at_most)
        return failed_precondition(fmt::format("{}: mean regret of {} is {:.2f} %, over {} %", suite.name,
                                               settings_.policies[p], percent, settings_.at_most));
    }
    return {};
  }

  Result<Outcome> search(const std::string& policy, Bench& bench, uint64_t seed) {
    ZB_ASSIGN(const loader::Plugin* plugin,
              loader_.load(policy.substr(0, policy.find(':')), loader::Kind::kPolicy));
    ZB_ASSIGN(const auto instance, search::open_policy(*plugin->descriptor, options_of(policy)));
    const uint32_t by_surface = bench.surface().is_catalog() ? 12 : 80;
    return bench.search(*instance, seed, settings_.evaluations != 0 ? settings_.evaluations : by_surface,
                        settings_.drop);
  }

  // Returns the mean regret in percent.
  double print(const config::Suite& suite, const std::string& policy,
               const std::vector<std::unique_ptr<Bench>>& benches,
               const std::vector<std::vector<Outcome>>& outcomes) const {
    std::vector<double> all, by_instance;
    double evaluations = 0, rejected = 0;
    for (size_t i = 0; i < benches.size(); ++i) {
      std::vector<double> regrets;
      for (const Outcome& outcome : outcomes[i]) {
        regrets.push_back(100 *
                          (outcome.best / (outcome.optimum > 0 ? outcome.optimum : benches[i]->best()) - 1));
        evaluations += outcome.evaluations;
        rejected += outcome.duplicates + outcome.illegal;
      }
      by_instance.push_back(mean(regrets));
      all.insert(all.end(), regrets.begin(), regrets.end());
      if (settings_.each)
        fmt::print("  {:<14} {:<20} mean {:>6.2f} %  median {:>6.2f} %  worst seed {:>6.2f} %\n",
                   benches[i]->name(), policy, by_instance.back(), quantile(regrets, 0.5),
                   quantile(regrets, 1));
    }
    const auto worst = std::max_element(by_instance.begin(), by_instance.end());
    const double found = static_cast<double>(std::count(all.begin(), all.end(), 0.0));
    fmt::print(
        "{:<12} {:<20} mean regret {:>6.2f} %  median {:>6.2f} %  p90 {:>6.2f} %  optimum found {:>3.0f} %  "
        "worst instance {} {:.2f} %  ({:.1f} evaluations, {:.1f} rejections)\n",
        suite.name, policy, mean(all), quantile(all, 0.5), quantile(all, 0.9),
        100 * found / static_cast<double>(all.size()),
        benches[static_cast<size_t>(worst - by_instance.begin())]->name(), *worst,
        evaluations / static_cast<double>(all.size()), rejected / static_cast<double>(all.size()));
    std::fflush(stdout);
    return mean(all);
  }

  const Settings& settings_;
  loader::Loader loader_;
  Costs costs_;
};

}  // namespace
}  // namespace zomboss::regret

int main(int argc, char** argv) {
  zomboss::regret::Settings settings;
  CLI::App app{"Mean regret of policies on suites of workloads"};
  app.add_option("suites", settings.suites, "suite files")->required();
  app.add_option("--policy", settings.policies, "ID or ID:OPTION=VALUE,... (may be repeated)");
  app.add_option("--plugin-dir", settings.plugin_dirs, "folder of plugins (may be repeated)");
  app.add_option("--costs", settings.costs, "file that remembers measured latencies");
  app.add_option("--rows", settings.rows, "file to which every row with its latency is appended");
  app.add_option("--seeds", settings.seeds, "seeds 1..N of each policy and instance");
  app.add_option("--evaluations", settings.evaluations, "of each search; 0 = 12 of a catalog, 80 otherwise");
  app.add_option("--drop", settings.drop,
                 "leave out so many percent of each catalog, other rows for each seed")
      ->check(CLI::Range(0, 90));
  app.add_option("--at-most", settings.at_most, "fail when a mean regret is over so many percent");
  app.add_flag("--each", settings.each, "also print each instance");
  app.add_flag("--ranks", settings.ranks, "also print how well static costs rank the rows");
  app.add_flag("--blind", settings.blind, "do not tell the policies the static costs");
  CLI11_PARSE(app, argc, argv);
  const zomboss::Status status = zomboss::regret::Program(settings).run();
  if (status.ok()) return 0;
  fmt::print(stderr, "regret: {}\n", status.message());
  return 1;
}
