// zomboss check: verify and time a kernel that was exported, or written by hand.
#include <fmt/format.h>

#include "host/cli/commands.h"
#include "host/cli/exit.h"
#include "host/cli/json.h"
#include "host/cli/profile.h"

namespace zomboss::cli {
namespace {

Result<evaluate::Evaluation> check(Session& session, const std::string& kernel, const std::string& hlo) {
  ZB_ASSIGN(const Source text, read_source(kernel));
  ZB_ASSIGN(const Problem problem, session.problem(hlo, session.options().contract));
  ZB_ASSIGN(evaluate::Target * target, session.target());
  ZB_ASSIGN(const wire::ProgramT program,
            target->import_kernel(problem.workload.encoded, kernel, text.text()));
  ZB_ASSIGN(const evaluate::Reference reference, evaluate::make_reference(problem.workload));
  return evaluate::make_evaluator(*target, problem.workload, reference)->evaluate_program(encode(program));
}

}  // namespace

int run_check_command(const CommonOptions& common, const std::string& kernel, const std::string& hlo) {
  auto session = Session::open(common, {});
  if (!session.ok()) return fail(common, session.status());
  const auto evaluation = check(**session, kernel, hlo);
  if (!evaluation.ok()) return fail(common, evaluation.status());
  const bool valid = evaluation->outcome == wire::Outcome::Valid;
  const evaluate::Comparison& comparison = evaluation->comparison;
  if (common.json) {
    Json json = {{"schema", "zomboss.check/1"},
                 {"kernel", kernel},
                 {"outcome", search::outcome_name(evaluation->outcome)},
                 {"match_rate", comparison.match_rate()},
                 {"worst_error", comparison.worst_error},
                 {"worst_element", comparison.worst_difference},
                 {"reason", evaluation->reason},
                 {"latency", evaluation->latency},
                 {"unit", evaluation->unit},
                 {"simulator", evaluation->simulation.simulator},
                 {"counters", counters_json(evaluation->simulation.counters)}};
    print_json(json);
  } else if (valid) {
    fmt::print("{}: verified, {} elements, {} {} ({})\n", kernel, comparison.elements, evaluation->latency,
               evaluation->unit, evaluation->simulation.simulator);
    fmt::print("  {}\n", comparison.exact ? "match rate 100.00 %" : comparison.summary());
    fmt::print("{}", profile_text(evaluation->simulation));
  } else {
    fmt::print("{}: {}: {}\n", kernel, search::outcome_name(evaluation->outcome), evaluation->reason);
  }
  return valid ? kExitSuccess : kExitCheckFailed;
}

}  // namespace zomboss::cli
