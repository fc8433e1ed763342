// What a search costs beside its evaluations: the controller with and without a history, and regions on the
// largest surfaces of the bundled workloads.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "core/config/contract_file.h"
#include "core/mapping/convert.h"
#include "core/search/controller.h"
#include "core/search/region.h"
#include "host/loader/loader.h"

namespace zomboss {
namespace {

struct Bench {
  std::unique_ptr<evaluate::Target> target;
  evaluate::Workload workload;
  mapping::Surface surface;
};

[[noreturn]] void give_up(const Status& status) {
  std::cerr << status.message() << "\n";
  std::exit(1);
}

Result<std::unique_ptr<Bench>> make_bench(const std::string& target_id, const std::string& workload,
                                          const std::string& contract_name) {
  static loader::Loader* const plugins =
      new loader::Loader({loader::search_path_of({ZB_BINARY_DIR "/plugins"}), std::nullopt});
  ZB_ASSIGN(const loader::Plugin* plugin, plugins->load(target_id, loader::Kind::kTarget));
  ZB_ASSIGN(auto target, evaluate::Target::open(*plugin->descriptor, {}, {}));
  const std::string folder = std::string(ZB_SOURCE_DIR "/workloads/") + target_id + "/";
  ZB_ASSIGN(const Source source, read_source(folder + workload + ".hlo"));
  evaluate::Contract contract;
  if (!contract_name.empty()) {
    ZB_ASSIGN(contract, config::read_contract(folder + contract_name));
  }
  Diagnostics diagnostics(source);
  ZB_ASSIGN(evaluate::Workload loaded,
            evaluate::load_workload(source, workload, contract, diagnostics, target->model().storage));
  ZB_ASSIGN(const wire::SurfaceT message, target->surface(loaded.encoded));
  ZB_ASSIGN(const mapping::Surface full, mapping::from_wire(message));
  ZB_ASSIGN(mapping::Surface surface, resolver::derive_domains(full));
  return std::unique_ptr<Bench>(new Bench{std::move(target), std::move(loaded), std::move(surface)});
}

const Bench& bench_of(const std::string& target, const std::string& workload, const std::string& contract) {
  static std::map<std::string, std::unique_ptr<Bench>> made;
  auto& bench = made[workload];
  if (bench == nullptr) {
    auto result = make_bench(target, workload, contract);
    if (!result.ok()) give_up(result.status());
    bench = *std::move(result);
  }
  return *bench;
}

// A region of 256 samples: drawn, completed, duplicates dropped.
void region(benchmark::State& state, const char* target, const char* workload, const char* contract) {
  const Bench& bench = bench_of(target, workload, contract);
  resolver::Resolver resolver(bench.surface);
  wire::RegionT message;
  for (const size_t knob : bench.surface.free_knobs()) {
    message.diversity_axes.push_back(bench.surface.knob(knob).name);
    if (message.diversity_axes.size() == 2) break;
  }
  const auto region = search::read_region(bench.surface, message, [](const auto&) { return std::nullopt; });
  if (!region.ok()) give_up(region.status());
  uint64_t stream = 0;
  size_t plans = 0;
  for (auto _ : state) {
    auto pool = search::sample_region(resolver, *region, {}, Random(1, ++stream));
    if (!pool.ok()) give_up(pool.status());
    plans += pool->size();
    benchmark::DoNotOptimize(pool);
  }
  state.counters["knobs"] = static_cast<double>(bench.surface.free_knobs().size());
  state.counters["plans"] = static_cast<double>(plans) / static_cast<double>(state.iterations());
}
BENCHMARK_CAPTURE(region, llama_c5, "plena", "llama_c5", "llama.toml")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(region, t5_c5, "plena", "t5_c5", "t5.toml")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(region, gemm_c3, "gemmini", "gemm_c3", "")->Unit(benchmark::kMillisecond);

// Answers at once.
class Instant final : public evaluate::Evaluator {
 public:
  evaluate::Evaluation evaluate(const wire::PlanT& plan) override {
    evaluate::Evaluation evaluation;
    evaluation.unit = "cycles";
    evaluation.program = "program";
    evaluation.latency = 1000 + std::hash<std::string>()(plan.hash) % 1000;
    for (int i = 0; i < 20; ++i) {
      auto counter = std::make_unique<wire::CounterT>();
      counter->name = "counter" + std::to_string(i);
      counter->value = i;
      evaluation.simulation.counters.push_back(std::move(counter));
    }
    return evaluation;
  }
  evaluate::Evaluation evaluate_program(std::string) override { return {}; }
  std::optional<double> static_cost(const wire::PlanT&) override { return std::nullopt; }
};

// The controller's own work for one evaluation: proposal, completion, record, feedback.
void controller(benchmark::State& state, bool with_history) {
  const Bench& bench = bench_of("plena", "llama_c5", "llama.toml");
  static loader::Loader* const plugins =
      new loader::Loader({loader::search_path_of({ZB_BINARY_DIR "/plugins"}), std::nullopt});
  const auto plugin = plugins->load("random", loader::Kind::kPolicy);
  if (!plugin.ok()) give_up(plugin.status());
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("zomboss_benchmark_" + std::to_string(::getpid()))).string();
  constexpr uint32_t kEvaluations = 500;
  uint64_t number = 0;
  for (auto _ : state) {
    resolver::Resolver resolver(bench.surface);
    Instant evaluator;
    evaluate::EvaluatorPool pool({&evaluator});
    auto policy = search::open_policy(*(*plugin)->descriptor, {});
    if (!policy.ok()) give_up(policy.status());
    search::Inputs inputs;
    inputs.resolver = &resolver;
    inputs.evaluators = &pool;
    inputs.policy = policy->get();
    inputs.workload = &bench.workload.message;
    std::unique_ptr<history::History> history;
    std::optional<search::Journal> journal;
    if (with_history) {
      auto opened = history::History::open(folder + "/" + std::to_string(++number) + ".db",
                                           history::Access::kReadWrite);
      if (!opened.ok()) give_up(opened.status());
      history = *std::move(opened);
      history::Problem problem;
      problem.key = "p";
      if (const Status added = history->add_problem(problem); !added.ok()) give_up(added);
      const auto job = history->create_job({});
      if (!job.ok()) give_up(job.status());
      history::Run run;
      run.job = *job;
      run.problem = "p";
      const auto id = history->create_run(run);
      if (!id.ok()) give_up(id.status());
      auto made = search::Journal::open(*history, "p", *id, [](const mapping::Plan& plan) {
        return std::string(2000, 'x') + plan.hash.hex();
      });
      if (!made.ok()) give_up(made.status());
      journal.emplace(*std::move(made));
      inputs.journal = &*journal;
    }
    search::Options options;
    options.budget = {kEvaluations, 20 * kEvaluations};
    search::Observer observer;
    const auto report = search::run_search(inputs, options, observer);
    if (!report.ok()) give_up(report.status());
    if (report->evaluations != kEvaluations) give_up(internal_error("the search ended early"));
  }
  std::filesystem::remove_all(folder);
  state.SetItemsProcessed(state.iterations() * kEvaluations);
}
BENCHMARK_CAPTURE(controller, in_memory, false)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(controller, with_history, true)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zomboss
