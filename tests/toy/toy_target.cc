#include "tests/toy/toy_target.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "tests/toy/toy_program.h"
#include "tests/toy/toy_taidl.h"

namespace zomboss::toy {
namespace {

const std::vector<std::string> kFaults = {"none", "zeros", "identity", "off-by-one",
                                          "slow", "error", "throw",    "huge"};

Status set_option(const wire::AttributeT& option, ToyOptions& options) {
  const int64_t number = option.ints.empty() ? 0 : option.ints[0];
  if (option.key == "surface" && (option.text == "catalog" || option.text == "conditional"))
    options.catalog = option.text == "catalog";
  else if (option.key == "fault" && std::find(kFaults.begin(), kFaults.end(), option.text) != kFaults.end())
    options.fault = option.text;
  else if (option.key == "fault_knob" && std::find(kKnobs.begin(), kKnobs.end(), option.text) != kKnobs.end())
    options.fault_knob = option.text;
  else if (option.key == "fault_value" && option.ints.size() == 1)
    options.fault_value = number;
  else if (option.key == "reference" && (option.text == "library" || option.text == "illegal"))
    options.reference = option.text;
  else if (option.key == "scenarios" && (option.text == "fair" || option.text == "damaged"))
    options.scenarios = option.text;
  else if (option.key == "slow_ms" && option.ints.size() == 1 && number >= 0)
    options.slow_ms = number;
  else
    return invalid_argument(
        "toy cannot use the option '" + option.key +
        "'; its options: surface, fault, fault_knob, fault_value, slow_ms, reference, scenarios");
  return {};
}

std::unique_ptr<wire::KnobT> knob(const char* name, wire::Category category, std::vector<int64_t> values,
                                  std::vector<std::string> labels = {}) {
  auto message = std::make_unique<wire::KnobT>();
  message->name = name;
  message->category = category;
  message->type = labels.empty() ? wire::KnobType::Integer : wire::KnobType::Choice;
  message->values = std::move(values);
  message->labels = std::move(labels);
  return message;
}

// All legal mappings, in the order of the knobs.
std::vector<int64_t> enumerate(const wire::SurfaceT& surface, int64_t spad_bytes) {
  std::vector<int64_t> rows;
  std::vector<size_t> digit(surface.knobs.size(), 0);
  for (;;) {
    std::vector<int64_t> row;
    Decisions decisions;
    for (size_t k = 0; k < digit.size(); ++k) {
      row.push_back(surface.knobs[k]->values[digit[k]]);
      decision(decisions, surface.knobs[k]->name) = row.back();
    }
    if (needed_bytes(decisions) <= spad_bytes) rows.insert(rows.end(), row.begin(), row.end());
    size_t k = digit.size();
    while (k > 0 && ++digit[k - 1] == surface.knobs[k - 1]->values.size()) digit[--k] = 0;
    if (k == 0) return rows;
  }
}

// Works for `milliseconds`, looking at the host's signals.
Status slow_down(const sdk::Call& call, int64_t milliseconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(milliseconds);
  while (Clock::now() < end) {
    if (call.cancelled()) return Status(Code::kCancelled, "toy was cancelled");
    const auto now =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
    if (call.deadline_ns() != 0 && static_cast<uint64_t>(now) >= call.deadline_ns())
      return Status(Code::kDeadlineExceeded, "toy ran out of time");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ToyTarget>> ToyTarget::create(sdk::Call&, const wire::OptionsT& options) {
  auto target = std::make_unique<ToyTarget>();
  for (const auto& option : options.values) ZB_TRY(set_option(*option, target->options_));
  return target;
}

Result<std::string> ToyTarget::describe(sdk::Call&) const {
  return std::string(kTaidl);
}

Status ToyTarget::configure(sdk::Call&, const wire::ModelT& model) {
  for (const auto& param : model.params)
    if (param->name == "DIM") dim_ = param->value;
  for (const auto& memory : model.memories)
    if (memory->name == "spad") spad_bytes_ = memory->rows * memory->unit_bytes;
  spec_hash_ = model.spec_hash;
  if (dim_ < 1 || dim_ > 64 || spad_bytes_ < 1) return invalid_argument("the model has no DIM or no spad");
  return {};
}

Result<wire::SurfaceT> ToyTarget::surface(sdk::Call&, const wire::WorkloadT& workload) const {
  if (dim_ == 0) return failed_precondition("surface was called before configure");
  ZB_TRY(read_problem(workload));
  wire::SurfaceT surface;
  surface.target = "toy";
  surface.workload = workload.name;
  const std::vector<int64_t> tiles = {dim_, 2 * dim_, 4 * dim_, 8 * dim_};
  surface.knobs.push_back(knob("tile_m", wire::Category::MatrixDecomposition, tiles));
  surface.knobs.push_back(knob("tile_n", wire::Category::MatrixDecomposition, tiles));
  surface.knobs.push_back(knob("buffering", wire::Category::MemoryPipeline, {1, 2}, {"single", "double"}));
  surface.knobs.push_back(knob("loop_order", wire::Category::LoopStructure, {0, 1}, {"mn", "nm"}));
  surface.knobs.push_back(knob("unroll_k", wire::Category::LoopStructure, {1, 2, 3, 4}));
  auto capacity = std::make_unique<wire::ConstraintT>();
  capacity->name = "spad_fits";
  capacity->kind = wire::ConstraintKind::Capacity;
  capacity->needs = "(* tile_m tile_n buffering)";
  capacity->available = std::to_string(spad_bytes_);
  capacity->assertion = "(<= " + capacity->needs + " " + capacity->available + ")";
  capacity->message =
      "scratchpad needs {needs:bytes}, has {available:bytes}: tile_m={tile_m} x tile_n={tile_n}, {buffering} "
      "buffered";
  surface.constraints.push_back(std::move(capacity));
  if (options_.catalog) {
    surface.kind = wire::SurfaceKind::Catalog;
    surface.catalog = enumerate(surface, spad_bytes_);
    surface.notes.push_back("all mappings that fit the scratchpad, none pruned");
  }
  if (!options_.reference.empty()) {
    auto reference = std::make_unique<wire::ReferenceT>();
    reference->name = "library";
    reference->doc = "the choice of a library that does not exist";
    const int64_t tile = options_.reference == "illegal" ? 8 * dim_ : 2 * dim_;
    reference->values = {tile, tile, 2, 0, 2};
    const bool fits = 2 * tile * tile <= spad_bytes_;
    if (fits || options_.reference == "illegal") surface.references.push_back(std::move(reference));
  }
  return surface;
}

Result<wire::ProgramT> ToyTarget::lower(sdk::Call&, const wire::WorkloadT& workload,
                                        const wire::PlanT& plan) const {
  ZB_ASSIGN(const Problem problem, read_problem(workload));
  ZB_ASSIGN(const Decisions decisions, read_decisions(plan));
  if (needed_bytes(decisions) > spad_bytes_)
    return invalid_argument("the plan does not fit the scratchpad of toy");
  wire::ProgramT program;
  program.target = "toy";
  program.spec_hash = spec_hash_;
  program.workload = workload.hash;
  program.format = kFormat;
  const std::string code = write_code(problem, decisions);
  program.code.assign(code.begin(), code.end());
  return program;
}

bool ToyTarget::faulty(const Decisions& decisions) const {
  if (options_.fault == "none") return false;
  Decisions copy = decisions;
  return options_.fault_knob.empty() || decision(copy, options_.fault_knob) == options_.fault_value;
}

Status ToyTarget::misbehave(sdk::Call& call, const Decisions& decisions, wire::TensorT& output) const {
  if (!faulty(decisions)) return {};
  const auto columns = static_cast<size_t>(output.type->dims[1]);
  std::vector<int32_t> values(output.data.size() / sizeof(int32_t));
  std::memcpy(values.data(), output.data.data(), output.data.size());
  if (options_.fault == "slow") return slow_down(call, options_.slow_ms);
  if (options_.fault == "error") return internal_error("toy fails on purpose");
  if (options_.fault == "throw") throw std::runtime_error("toy throws on purpose");
  if (options_.fault == "zeros" || options_.fault == "identity")
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = options_.fault == "identity" && i / columns == i % columns ? 1 : 0;
  if (options_.fault == "off-by-one") values.back() += 1;
  std::memcpy(output.data.data(), values.data(), output.data.size());
  if (options_.fault == "huge") output.data.resize(output.data.size() + (size_t{64} << 20));
  return {};
}

Result<wire::SimulationT> ToyTarget::simulate(sdk::Call& call, const wire::ProgramT& program,
                                              const wire::TensorsT& inputs) const {
  if (program.target != "toy" || program.format != kFormat || program.spec_hash != spec_hash_)
    return invalid_argument("the program is not one of this toy machine");
  Problem problem;
  Decisions decisions;
  ZB_TRY(read_code(program.code, problem, decisions));
  ZB_ASSIGN(wire::TensorT output, multiply(problem, inputs));
  ZB_TRY(misbehave(call, decisions, output));
  wire::SimulationT simulation;
  simulation.outputs.push_back(std::make_unique<wire::TensorT>(std::move(output)));
  simulation.latency = latency_cycles(problem, decisions);
  simulation.unit = "cycles";
  simulation.simulator = "toy closed form";
  if (!options_.scenarios.empty()) {
    for (const int64_t delay : {1, 8}) {
      auto scenario = std::make_unique<wire::ScenarioT>();
      scenario->name = options_.scenarios == "damaged" ? "delay" : "delay=" + std::to_string(delay);
      scenario->latency = latency_cycles(problem, decisions, delay);
      simulation.scenarios.push_back(std::move(scenario));
    }
  }
  return simulation;
}

Result<wire::ScheduleT> ToyTarget::schedule(sdk::Call&, const wire::WorkloadT& workload,
                                            const wire::PlanT& plan) const {
  ZB_ASSIGN(const Problem problem, read_problem(workload));
  ZB_ASSIGN(const Decisions decisions, read_decisions(plan));
  wire::ScheduleT schedule;
  schedule.static_cost = static_cast<double>(latency_cycles(problem, decisions)) / 2;
  return schedule;
}

Result<wire::BoundT> ToyTarget::bound(sdk::Call&, const wire::WorkloadT& workload) const {
  ZB_ASSIGN(const Problem problem, read_problem(workload));
  wire::BoundT bound;
  bound.latency = 200 + static_cast<double>(problem.m * problem.n * problem.k) / 64;
  bound.unit = "cycles";
  bound.reason = "64 products per cycle and 200 cycles of start-up";
  return bound;
}

}  // namespace zomboss::toy
