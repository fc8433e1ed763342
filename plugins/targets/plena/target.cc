#include "plugins/targets/plena/target.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "plugins/targets/plena/code/assign.h"
#include "plugins/targets/plena/estimate.h"
#include "plugins/targets/plena/export.h"
#include "plugins/targets/plena/import.h"
#include "plugins/targets/plena/lower/lowerer.h"
#include "plugins/targets/plena/program.h"
#include "plugins/targets/plena/simulate.h"

namespace zomboss::plena {

Result<std::unique_ptr<PlenaTarget>> PlenaTarget::create(sdk::Call&, const wire::OptionsT& options) {
  auto target = std::make_unique<PlenaTarget>();
  std::map<std::string, SettingValue> settings;
  bool any_settings = false;
  for (const auto& option : options.values) {
    constexpr std::string_view kPrefix = "settings.", kTable = "settings.TRANSACTIONAL.";
    if (option->key.starts_with(kPrefix)) {  // of other tables of the file too
      any_settings = true;
      if (!option->key.starts_with(kTable)) continue;
      SettingValue& value = settings[option->key.substr(kTable.size())];
      if (option->text == "true" || option->text == "false")
        value = option->text == "true";
      else if (!option->ints.empty())
        value = option->ints[0];
      else
        value = option->text;
      continue;
    }
    const auto number = [&](int64_t low, int64_t high) -> Result<int64_t> {
      if (option->ints.size() == 1 && option->ints[0] >= low && option->ints[0] <= high)
        return option->ints[0];
      return invalid_argument(
          fmt::format("plena: option '{}' must be a whole number in {}..{}", option->key, low, high));
    };
    if (option->key == "profile") {
      target->profile_ = option->text;
    } else if (option->key == "broadcast_forms") {
      ZB_ASSIGN(const int64_t offered, number(0, 1));
      target->surface_.broadcast_forms = offered != 0;
    } else if (option->key == "instruction_limit") {
      ZB_ASSIGN(const int64_t limit, number(1, int64_t{1} << 40));
      target->instruction_limit_ = static_cast<uint64_t>(limit);
    } else {
      return invalid_argument(fmt::format(
          "plena: no option '{}'; there are profile, broadcast_forms, instruction_limit and settings_file",
          option->key));
    }
  }
  if (any_settings) {
    ZB_ASSIGN(target->settings_, settings_from_keys(settings));
    ZB_TRY(check_formats(*target->settings_));
  }
  ZB_TRY(taidl_text(target->profile_).status());
  return target;
}

Result<std::string> PlenaTarget::describe(sdk::Call&) {
  return settings_ ? taidl_text(*settings_) : taidl_text(profile_);
}

Status PlenaTarget::configure(sdk::Call&, const wire::ModelT& model) {
  ZB_ASSIGN(machine_, read_machine(model));
  spec_hash_ = model.spec_hash;
  workload_hash_.clear();
  return {};
}

Result<const Problem*> PlenaTarget::problem_of(const wire::WorkloadT& workload) {
  if (spec_hash_.empty()) return failed_precondition("plena: configure comes before all other operations");
  if (workload_hash_.empty() || workload_hash_ != workload.hash) {
    ZB_ASSIGN(problem_, read_problem(workload, machine_));
    workload_hash_ = workload.hash;
  }
  return &problem_;
}

Result<wire::SurfaceT> PlenaTarget::surface(sdk::Call&, const wire::WorkloadT& workload) {
  ZB_ASSIGN(const Problem* problem, problem_of(workload));
  return make_surface(*problem, machine_, surface_);
}

namespace {

struct Coded {
  Lowered lowered;
  MachineCode code;
};

Result<Coded> code_of(const Problem& problem, const Machine& machine, const wire::PlanT& plan) {
  ZB_ASSIGN(const Choices choices, choices_of(plan, problem, machine));
  Coded result;
  ZB_ASSIGN(result.lowered, lower_problem(problem, machine, choices));
  const AssignOptions options{.hoist = choices.hoist != 0,
                              .write_immediates = choices.write_immediates != 0,
                              .max_loop = machine.max_loop,
                              .cached_numbers = static_cast<uint32_t>(choices.cached_numbers)};
  ZB_ASSIGN(result.code, assign_registers(result.lowered.tape, options));
  return result;
}

}  // namespace

Result<wire::ProgramT> PlenaTarget::lower(sdk::Call&, const wire::WorkloadT& workload,
                                          const wire::PlanT& plan) {
  ZB_ASSIGN(const Problem* problem, problem_of(workload));
  ZB_ASSIGN(const Coded coded, code_of(*problem, machine_, plan));
  return make_program(*problem, coded.lowered, coded.code, spec_hash_);
}

Result<wire::ScheduleT> PlenaTarget::schedule(sdk::Call&, const wire::WorkloadT& workload,
                                              const wire::PlanT& plan) {
  ZB_ASSIGN(const Problem* problem, problem_of(workload));
  ZB_ASSIGN(const Coded coded, code_of(*problem, machine_, plan));
  return engine_schedule(coded.code, coded.lowered.tape, machine_);
}

Result<wire::FilesT> PlenaTarget::export_kernel(sdk::Call&, const wire::WorkloadT& workload,
                                                const wire::ProgramT& program, const wire::TensorsT& inputs,
                                                const wire::TensorsT&) {
  ZB_TRY(problem_of(workload).status());
  return export_files(program, machine_, inputs, instruction_limit_);
}

Result<wire::ProgramT> PlenaTarget::import_kernel(sdk::Call&, const wire::WorkloadT& workload,
                                                  std::string_view file_name, std::string_view text) {
  ZB_ASSIGN(const Problem* problem, problem_of(workload));
  return parse_program(*problem, machine_, spec_hash_, file_name, text);
}

Result<wire::BoundT> PlenaTarget::bound(sdk::Call&, const wire::WorkloadT& workload) {
  ZB_ASSIGN(const Problem* problem, problem_of(workload));
  return latency_bound(*problem, machine_, surface_.broadcast_forms);
}

Result<wire::SimulationT> PlenaTarget::simulate(sdk::Call&, const wire::ProgramT& program,
                                                const wire::TensorsT& inputs) {
  if (spec_hash_.empty()) return failed_precondition("plena: configure comes before all other operations");
  if (program.spec_hash != spec_hash_)
    return failed_precondition(
        fmt::format("plena: the program was made for target description {}, this one is {}",
                    program.spec_hash, spec_hash_));
  return simulate_program(program, inputs, machine_, instruction_limit_);
}

}  // namespace zomboss::plena
