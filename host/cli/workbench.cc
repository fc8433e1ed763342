#include "host/cli/workbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "core/base/hash.h"
#include "core/base/text.h"
#include "host/cli/json.h"

namespace zomboss::cli {

std::vector<std::string> machine_facts(const wire::ModelT& model) {
  std::vector<std::string> facts;
  for (const auto& memory : model.memories) {
    if (memory->offchip) {
      facts.push_back(fmt::format("{}: off-chip", memory->name));
      continue;
    }
    facts.push_back(fmt::format(
        "{}: {}, {} rows of {} bytes{}", memory->name, format_bytes(memory->rows * memory->unit_bytes),
        memory->rows, memory->unit_bytes, memory->banks > 1 ? fmt::format(", {} banks", memory->banks) : ""));
  }
  std::string engines;
  for (const std::string& engine : model.engines) engines += (engines.empty() ? "" : ", ") + engine;
  if (!engines.empty()) facts.push_back("engines: " + engines);
  std::string params;
  for (const auto& param : model.params)
    params += fmt::format("{}{}={}", params.empty() ? "" : " ", param->name, param->value);
  if (!params.empty()) facts.push_back("parameters: " + params);
  return facts;
}

std::string options_text(const wire::OptionsT& options) {
  std::string text;
  for (const auto& value : options.values) text += fmt::format("{}={}\n", value->key, value->text);
  return text;
}

size_t job_count(const config::Config& config) {
  constexpr size_t kMost = 256;  // processes
  const auto asked = static_cast<size_t>(config.integer("search.jobs"));
  return asked != 0 ? std::min(asked, kMost) : std::max<size_t>(1, std::thread::hardware_concurrency());
}

Result<std::unique_ptr<Workbench>> Workbench::open(Session& session, const Task& task, size_t jobs,
                                                   const std::string& workload_hash) {
  std::unique_ptr<Workbench> bench(new Workbench());
  ZB_ASSIGN(bench->problem_, session.problem(task.hlo, task.contract));
  if (const std::string& hash = bench->problem_.workload.message.hash;
      !workload_hash.empty() && workload_hash != hash)
    return failed_precondition(fmt::format(
        "{}: the workload or its contract changed since the search was begun (hash {}, now {}); put it "
        "back, or start a new search",
        task.hlo, workload_hash, hash));
  // More workers than evaluations would have nothing to do.
  const auto evaluations = static_cast<uint32_t>(
      std::min<int64_t>(session.config().integer("search.evaluations"), std::numeric_limits<int32_t>::max()));
  jobs = std::min<size_t>(jobs, search::default_budget(*bench->problem_.surface, evaluations).evaluations);
  ZB_ASSIGN(bench->reference_, evaluate::make_reference(bench->problem_.workload));
  ZB_ASSIGN(const auto targets, session.targets(jobs));
  bench->target_ = targets.front();
  std::vector<evaluate::Evaluator*> evaluators;
  for (evaluate::Target* target : targets) {
    bench->evaluators_.push_back(
        evaluate::make_evaluator(*target, bench->problem_.workload, bench->reference_));
    evaluators.push_back(bench->evaluators_.back().get());
  }
  bench->pool_.emplace(std::move(evaluators));
  ZB_ASSIGN(bench->candidate0_,
            search::evaluate_candidate0(*bench->problem_.resolver, bench->pool_->first()));
  if (auto bound = bench->target_->bound(bench->problem_.workload.encoded); bound.ok())
    bench->bound_ = *std::move(bound);
  else if (bound.status().code() != Code::kUnimplemented)
    return std::move(bound).status();
  bench->facts_ = machine_facts(bench->target_->model());
  bench->static_costs_ = search::catalog_costs(*bench->problem_.surface, *bench->pool_);
  ZB_TRY(bench->make_record(session));
  return bench;
}

Status Workbench::make_record(Session& session) {
  ZB_ASSIGN(const wire::OptionsT options, session.target_options());
  record_.target = target_->id();
  record_.target_version = target_->version();
  record_.target_sha256 = target_->identity().sha256;
  record_.target_options = options_text(options);
  for (const auto& [name, value] : session.config().target_params(target_->id()))
    record_.target_options += fmt::format("params.{}={}\n", name, value);
  record_.spec_hash = target_->model().spec_hash;
  record_.workload = problem_.workload.message.name;
  record_.workload_hash = problem_.workload.message.hash;
  record_.surface = dump_json(to_json(*problem_.surface));
  record_.unit = candidate0_.evaluation.unit;
  record_.simulator = candidate0_.evaluation.simulation.simulator;
  std::string all;
  for (const std::string* part :
       {&record_.target, &record_.target_version, &record_.target_sha256, &record_.target_options,
        &record_.spec_hash, &record_.workload, &record_.workload_hash, &record_.surface, &record_.unit,
        &record_.simulator})
    all += fmt::format("{}:{}\n", part->size(), *part);
  record_.key = hash_bytes(all).hex();
  return {};
}

Result<const std::vector<search::Reference>*> Workbench::references(search::Journal* journal) {
  if (!references_) {
    ZB_ASSIGN(references_,
              search::evaluate_references(*problem_.surface, candidate0_, pool_->first(), journal));
  }
  return &*references_;
}

search::Inputs Workbench::inputs() {
  search::Inputs inputs;
  inputs.resolver = problem_.resolver.get();
  inputs.evaluators = &*pool_;
  inputs.workload = &problem_.workload.message;
  inputs.candidate0 = &candidate0_;
  inputs.references = references_ ? &*references_ : nullptr;
  inputs.facts = &facts_;
  inputs.bound = bound_ ? &*bound_ : nullptr;
  inputs.static_costs = &static_costs_;
  return inputs;
}

}  // namespace zomboss::cli
