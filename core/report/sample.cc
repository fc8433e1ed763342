#include "core/report/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/hash.h"
#include "core/report/data.h"
#include "zomboss/sdk/random.h"

namespace zomboss::report {
namespace {

using history::Proposal;
using history::Trial;

struct Knob {
  const char* section;
  const char* name;
  std::vector<std::string> values;
  std::vector<double> factors;  // of the latency
};

// Factors multiply; the best plan is about a fifth of Candidate-0.
const std::vector<Knob>& knobs() {
  static const std::vector<Knob> kKnobs = {
      {"algorithm", "dataflow", {"weight_stationary", "output_stationary"}, {1, 1.35}},
      {"matrix decomposition", "tile_m", {"16", "32", "64", "128", "256"}, {1.9, 1.4, 1, 1.06, 1.2}},
      {"matrix decomposition", "tile_n", {"16", "32", "64", "128"}, {1.5, 1.2, 1, 1.04}},
      {"matrix decomposition", "tile_k", {"16", "32", "64", "128", "256"}, {1.3, 1.15, 1.05, 1, 1.02}},
      {"memory pipeline", "buffering", {"single", "double"}, {1.55, 1}},
      {"memory pipeline", "load_order", {"a_first", "b_first", "interleaved"}, {1.03, 1.05, 1}},
      {"execution pipeline", "store_schedule", {"early", "late", "deferred"}, {1.1, 1.02, 1}},
      {"loop structure", "unroll", {"1", "2", "4", "8"}, {1.12, 1.06, 1, 1.3}},
      {"placement", "accumulator", {"resident"}, {1}},
  };
  return kKnobs;
}

using Plan = std::vector<size_t>;  // index of each knob's value

double factor_of(const Plan& plan) {
  double factor = 1;
  for (size_t i = 0; i < plan.size(); ++i) factor *= knobs()[i].factors[plan[i]];
  return factor;
}

Json sections_of(const Plan& plan, const Plan& candidate0) {
  Json sections = Json::object();
  for (size_t i = 0; i < plan.size(); ++i)
    sections[knobs()[i].section][knobs()[i].name] = {
        {"value", knobs()[i].values[plan[i]]},
        {"origin", plan[i] == candidate0[i] ? "default" : "preferred"}};
  return sections;
}

std::string intent_of(const Plan& plan) {
  std::string text;
  for (size_t i = 0; i < plan.size(); ++i)
    text += fmt::format("{}{}~{}", i == 0 ? "" : " ", knobs()[i].name, knobs()[i].values[plan[i]]);
  return text;
}

Json surface() {
  Json list = Json::array();
  for (const Knob& knob : knobs())
    list.push_back({{"name", knob.name}, {"category", knob.section}, {"values", knob.values}});
  return {{"schema", "zomboss.surface/1"}, {"knobs", list}};
}

Json incumbent(const Plan& plan, const Plan& candidate0, double latency, const std::string& label) {
  Json engines = Json::array();
  const double end = latency;
  struct Engine {
    const char* name;
    double start, period, length;
    const char* label;
  };
  for (const Engine& engine :
       {Engine{"load", 0, 0.031, 0.019, "A tile"}, Engine{"execute", 0.02, 0.031, 0.028, "64 x 64 x 128"},
        Engine{"store", 0.11, 0.124, 0.021, "C tile"}}) {
    Json spans = Json::array();
    double busy = 0;
    for (double at = engine.start; at + engine.length <= 1; at += engine.period) {
      spans.push_back({std::floor(at * end), std::floor((at + engine.length) * end), engine.label});
      busy += std::floor(engine.length * end);
    }
    engines.push_back({{"name", engine.name}, {"busy", busy}, {"spans", spans}});
  }
  Json nest = Json::array();
  const auto loop = [&](int depth, const std::string& text, const std::string& note) {
    nest.push_back({{"depth", depth}, {"text", text}, {"note", note}});
  };
  const auto value = [&](size_t knob) { return knobs()[knob].values[plan[knob]]; };
  loop(0, "for m in 0..512 step " + value(1), "tile_m");
  loop(1, "for n in 0..512 step " + value(2), "tile_n");
  loop(2, "for k in 0..1024 step " + value(3), "tile_k");
  loop(3, "load A, B", "buffering " + value(4));
  loop(3, "for kk in 0.." + value(3) + " step 16", "array");
  loop(4, "preload, compute", "unroll " + value(7));
  loop(2, "store C", "store_schedule " + value(6));
  return {
      {"plan", {{"sections", sections_of(plan, candidate0)}, {"hash", "sample"}}},
      {"occupancy",
       {{{"name", "scratchpad"},
         {"rule",
          "scratchpad needs {needs:bytes}, has {available:bytes}: A tiles of {tile_m} x {tile_k}, "
          "{buffering} buffering"},
         {"needs", 196608},
         {"available", 262144},
         {"unit", "bytes"}},
        {{"name", "accumulator"},
         {"rule", "one C tile of 64 x 64 in 32 bits"},
         {"needs", 16384},
         {"available", 65536},
         {"unit", "bytes"}},
        {{"name", "queue"}, {"rule", "entries in flight"}, {"needs", 15}, {"available", 16}, {"unit", ""}}}},
      {"timeline", {{"unit", "cycles"}, {"end", end}, {"engines", engines}}},
      {"counters",
       {{"array.busy_cycles", std::floor(0.9 * end)}, {"dma.bytes_read", 3145728}, {"utilisation", 0.4312}}},
      {"loop_nest", nest},
      {"simulator", "gemmini cycle model"},
      {"reproduce", "zomboss compile workloads/" + label + ".hlo --plan out/" + label + "/plan.json"}};
}

void check(const Status& status) {
  ZB_CHECK(status.ok(), "the sample is recorded");
}

// How good the next plan of each policy is likely to be: the share of knobs that it keeps from its best.
double kept_share(const std::string& policy) {
  return policy == "random" ? 0 : policy == "hill" ? 0.8 : policy == "genetic" ? 0.62 : 0.72;
}

class Search {
 public:
  Search(history::History& history, const SampleOptions& options, const history::Run& run)
      : history_(history), options_(options), run_(run), random_(run.seed * 1000 + run.task, 7) {}

  int64_t execute() {
    const auto id = history_.create_run(run_);
    check(id.status());
    best_ = candidate0();
    best_latency_ = run_.candidate0_latency;
    while (evaluations_ < options_.evaluations) propose(*id);
    if (!options_.plain) finish(*id);
    check(history_.end_run(*id, {"complete", run_.seed % 4 == 3 ? "patience" : "evaluation budget", 12.5}));
    return *id;
  }

  static Plan candidate0() { return {0, 0, 1, 0, 0, 0, 0, 0, 0}; }

 private:
  void propose(int64_t id) {
    Proposal proposal;
    proposal.number = ++proposals_;
    proposal.bytes = "sample";
    if (run_.policy == "llm" && !options_.plain) {
      proposal.rationale = "larger tiles amortise the preloads";
      proposal.usage.requests = 1;
      proposal.usage.prompt_tokens = 2200 + random_.below(900);
      proposal.usage.completion_tokens = 180 + random_.below(120);
      proposal.usage.cached_tokens = 1500;
      proposal.usage.malformed = random_.below(12) == 0 ? 1 : 0;
      proposal.usage.cost = 0.0021;
      proposal.usage.currency = "USD";
    }
    Plan plan = best_;
    for (size_t i = 0; i < plan.size(); ++i)
      if (random_.unit() >= kept_share(run_.policy)) plan[i] = random_.below(knobs()[i].values.size());
    Trial trial;
    trial.number = ++trials_;
    trial.proposal = proposals_;
    trial.intent = intent_of(plan);
    judge(trial, plan);
    if (trial.outcome == "valid" && !options_.plain) {
      Json json = {{"schema", "zomboss.plan/1"}, {"sections", sections_of(plan, candidate0())}};
      check(history_.add_plan(run_.problem, trial.plan, json.dump()));
    }
    proposal.trials.push_back(trial);
    check(history_.record(id, proposal));
  }

  void judge(Trial& trial, const Plan& plan) {
    const uint64_t dice = random_.below(100);
    if (dice < 14) {
      trial.outcome = "illegal";
      trial.reason = fmt::format("scratchpad needs {} KiB, has 256 KiB", 260 + 4 * random_.below(60));
    } else if (dice < 26) {
      trial.outcome = "duplicate";
      trial.reason = fmt::format("the plan of evaluation {}", 1 + random_.below(20));
    } else if (dice < 28 && run_.policy == "llm") {
      trial.outcome = "invalid";
      trial.reason = "unknown knob 'tile_x'; did you mean 'tile_m'?";
    } else {
      trial.evaluation = ++evaluations_;
      trial.plan = hash_bytes(trial.intent).hex();
      if (dice < 30) {
        trial.outcome = "wrong";
        trial.reason = fmt::format("element {} is {}, not {}", random_.below(4096), random_.below(127),
                                   random_.below(127));
      } else if (dice == 30) {
        trial.outcome = "crashed";
        trial.reason = "the worker died of signal 11";
      } else if (dice == 31) {
        trial.outcome = "lowering failed";
        trial.reason = fmt::format("needs {} registers, has 16", 17 + random_.below(9));
      } else {
        succeed(trial, plan);
      }
    }
  }

  void succeed(Trial& trial, const Plan& plan) {
    trial.outcome = "valid";
    const double base = static_cast<double>(run_.candidate0_latency) / factor_of(candidate0());
    const double noise = 1 + 0.04 * static_cast<double>(hash_bytes(trial.intent).low % 100) / 100;
    trial.latency = static_cast<uint64_t>(base * factor_of(plan) * noise);
    trial.incumbent = trial.latency < best_latency_;
    if (!trial.incumbent) return;
    best_latency_ = trial.latency;
    best_ = plan;
  }

  void finish(int64_t id) {
    const Json document = incumbent(best_, candidate0(), static_cast<double>(best_latency_), run_.label);
    check(history_.set_document(id, "incumbent", document.dump()));
    const double library = run_.baseline.value_or(0), best = static_cast<double>(best_latency_);
    const Json references = {{"baseline", "library"},
                             {"references",
                              {{{"name", "library"},
                                {"doc", run_.baseline_source},
                                {"outcome", "valid"},
                                {"latency", library},
                                {"over_best", library / best},
                                {"scenarios", {{"L=20", library}, {"L=100", 1.7 * library}}}},
                               {{"name", "library <os>"},
                                {"doc", ""},
                                {"outcome", "wrong"},
                                {"reason", "element 7 is 1, not 2"}}}}};
    check(history_.set_document(id, "references", references.dump()));
    const Json ranking = {{{"scenario", "L=20"},
                           {"best", best},
                           {"fastest", best},
                           {"fastest_is", "evaluation 9"},
                           {"miss", 0}},
                          {{"scenario", "L=100"},
                           {"best", 1.5 * best},
                           {"fastest", 1.2 * best},
                           {"fastest_is", "evaluation 12"},
                           {"miss", 0.25}}};
    check(history_.set_document(id, "ranking", ranking.dump()));
    if (run_.seed == 1 && run_.policy == "genetic")
      check(history_.add_event(
          id, "crash",
          "plugin gemmini 0.1.0: the worker died of signal 11 in simulate; its last output:\n"
          "assertion failed: row < 4096 <scratchpad.cc>"));
    if (run_.seed == 2 && run_.policy == "hill")
      check(history_.add_event(id, "timeout",
                               "plugin gemmini 0.1.0: simulate took longer than 10 s and was killed"));
  }

  history::History& history_;
  const SampleOptions& options_;
  history::Run run_;
  Random random_;
  uint64_t proposals_ = 0, trials_ = 0, evaluations_ = 0;
  Plan best_;
  uint64_t best_latency_ = 0;
};

history::Run run_of(const SampleOptions& options, int64_t job, const std::string& problem, size_t workload) {
  history::Run run;
  run.job = job;
  run.label = fmt::format("gemmini/gemm_{}", static_cast<char>('a' + static_cast<int>(workload % 26)));
  run.suite = options.workloads > 1 ? "gemmini" : "";
  run.problem = problem;
  run.hlo = "workloads/" + run.label + ".hlo";
  run.policy_version = "0.1.0";
  run.policy_sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  run.budget.evaluations = options.evaluations;
  run.budget.proposals = 20 * options.evaluations;
  run.candidate0_plan = hash_bytes(intent_of(Search::candidate0())).hex();
  run.candidate0_latency = 98'304 + 7919 * workload;
  if (options.plain) return run;
  run.bound = std::floor(0.11 * static_cast<double>(run.candidate0_latency));
  run.bound_reason = "512 x 512 x 1024 products on 256 multipliers";
  run.baseline = std::floor(0.31 * static_cast<double>(run.candidate0_latency));
  run.baseline_source = "tiled_matmul_auto of gemmini-rocc-tests";
  return run;
}

}  // namespace

std::vector<int64_t> write_sample(history::History& history, const SampleOptions& options) {
  history::Job job;
  job.command = options.workloads > 1 ? "suite" : "search";
  job.arguments = {job.command, "workloads/gemmini.toml",
                   "--policy",  "hill",
                   "--set",     "search.note=it's <bold> & \"quoted\""};
  job.folder = "/home/user/kernels";
  job.configuration = R"([{"key": "search.evaluations", "value": "80", "origin": "built-in"}])";
  job.environment =
      R"({"version": "0.1.0", "compiler": "g++ 12.2.0", "host": "bench-1", "processor": "8-core x86-64"})";
  const auto id = history.create_job(job);
  check(id.status());
  std::vector<int64_t> runs;
  uint64_t task = 0;
  for (size_t workload = 0; workload < options.workloads; ++workload) {
    history::Problem problem;
    problem.key = hash_bytes(fmt::format("problem {}", workload)).hex();
    problem.target = "gemmini";
    problem.target_version = "0.1.0";
    problem.target_sha256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    problem.spec_hash = hash_bytes("spec").hex();
    problem.workload_hash = hash_bytes("workload").hex();
    problem.surface = surface().dump();
    problem.unit = "cycles";
    problem.simulator = "gemmini cycle model";
    check(history.add_problem(problem));
    const history::Run pattern = run_of(options, *id, problem.key, workload);
    if (!options.plain) {
      const Json json = {{"sections", sections_of(Search::candidate0(), Search::candidate0())}};
      check(history.add_plan(problem.key, pattern.candidate0_plan, json.dump()));
    }
    for (const std::string& policy : options.policies) {
      for (uint64_t seed = 1; seed <= options.seeds; ++seed) {
        history::Run run = pattern;
        run.policy = policy;
        run.seed = seed;
        run.task = task++;
        runs.push_back(Search(history, options, run).execute());
      }
    }
  }
  check(history.end_job(*id, "complete"));
  return runs;
}

}  // namespace zomboss::report
