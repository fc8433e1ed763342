// zomboss complete and zomboss compile: one intent, completed; and lowered, verified and exported.
#include <fmt/format.h>

#include "core/mapping/convert.h"
#include "host/cli/commands.h"
#include "host/cli/exit.h"
#include "host/cli/export.h"
#include "host/cli/json.h"

namespace zomboss::cli {
namespace {

using mapping::Intent;

Result<Intent> read_intent(const mapping::Surface& surface, const IntentOptions& options) {
  Intent intent;
  if (!options.plan_file.empty()) {
    ZB_ASSIGN(const Source source, read_source(options.plan_file, size_t{16} << 20));
    ZB_ASSIGN(intent, intent_of_plan_document(surface, source));
  }
  if (!options.intent_file.empty()) {
    ZB_ASSIGN(const Source source, read_source(options.intent_file, size_t{16} << 20));
    ZB_ASSIGN(const Intent more, mapping::parse_intent(surface, source));
    for (const mapping::Assignment& assignment : more.assignments()) intent.set(assignment);
  }
  std::string text;
  for (const std::string& assignment : options.assignments) text += assignment + " ";
  ZB_ASSIGN(const Intent more, mapping::parse_intent(surface, Source("command line", text)));
  for (const mapping::Assignment& assignment : more.assignments()) intent.set(assignment);
  return intent;
}

void print_plan(const mapping::Surface& surface, const mapping::Plan& plan) {
  for (const mapping::Relaxation& relaxation : plan.relaxations)
    fmt::print("relaxed: {} was {} and became {}: {}\n", relaxation.knob, relaxation.requested,
               relaxation.realized, relaxation.reason);
  fmt::print("plan {} of {} on {}\n", plan.hash.hex(), surface.workload(), surface.target());
  for (size_t category = 0; category < plan.sections.size(); ++category) {
    if (plan.sections[category].empty()) continue;
    fmt::print("{}\n", mapping::category_name(static_cast<mapping::Category>(category)));
    for (const mapping::Decision& decision : plan.sections[category]) {
      const char* origin = decision.origin == wire::Origin::Hard        ? "hard"
                           : decision.origin == wire::Origin::Preferred ? "preferred"
                                                                        : "";
      fmt::print("  {:<20} {:<12} {}\n", decision.knob, decision.text, origin);
    }
  }
}

struct Completed {
  Problem problem;
  mapping::Plan plan;
};

Result<Completed> complete(Session& session, const IntentOptions& options) {
  ZB_ASSIGN(Problem problem, session.problem(options.hlo, session.options().contract));
  // Against the surface as the target published it: a value that no legal plan has is then explained by the
  // constraint that it breaks.
  ZB_ASSIGN(const Intent intent, read_intent(*problem.full, options));
  ZB_ASSIGN(const resolver::Completion completion, resolver::Resolver(*problem.full).complete(intent));
  if (completion.conflict.has_value())
    return Status(Code::kAborted, "no legal plan holds this intent: " + completion.conflict->text);
  return Completed{std::move(problem), *completion.plan};
}

struct Compiled {
  evaluate::Evaluation evaluation;
  Exported exported;
};

Result<Compiled> compile(Session& session, const Completed& completed, const std::string& folder) {
  ZB_ASSIGN(const evaluate::Reference reference, evaluate::make_reference(completed.problem.workload));
  ZB_ASSIGN(evaluate::Target * target, session.target());
  const auto evaluator = evaluate::make_evaluator(*target, completed.problem.workload, reference);
  Compiled compiled;
  compiled.evaluation = evaluator->evaluate(mapping::to_wire(*completed.problem.surface, completed.plan));
  if (compiled.evaluation.outcome != wire::Outcome::Valid)
    return Status(Code::kAborted,
                  fmt::format("the plan's kernel does not verify ({}): {}",
                              search::outcome_name(compiled.evaluation.outcome), compiled.evaluation.reason));
  ZB_ASSIGN(compiled.exported, export_kernel(*target, completed.problem, reference, completed.plan,
                                             compiled.evaluation.program, folder, Json()));
  return compiled;
}

}  // namespace

int run_complete_command(const CommonOptions& common, const IntentOptions& options) {
  auto session = Session::open(common, {});
  if (!session.ok()) return fail(common, session.status());
  const auto completed = complete(**session, options);
  if (!completed.ok()) return fail(common, completed.status());
  if (common.json)
    print_json(plan_document(*completed->problem.surface, completed->plan));
  else
    print_plan(*completed->problem.surface, completed->plan);
  return kExitSuccess;
}

int run_compile_command(const CommonOptions& common, const IntentOptions& options) {
  auto session = Session::open(common, {});
  if (!session.ok()) return fail(common, session.status());
  const auto completed = complete(**session, options);
  if (!completed.ok()) return fail(common, completed.status());
  const std::string base =
      options.output.empty() ? (*session)->config().text("output.directory") : options.output;
  const std::string folder = base + "/" + completed->problem.workload.message.name;
  const auto compiled = compile(**session, *completed, folder);
  if (!compiled.ok()) return fail(common, compiled.status());
  if (common.json) {
    Json json = {{"schema", "zomboss.compile/1"},
                 {"plan", plan_document(*completed->problem.surface, completed->plan)},
                 {"latency", compiled->evaluation.latency},
                 {"unit", compiled->evaluation.unit},
                 {"simulator", compiled->evaluation.simulation.simulator},
                 {"exported", compiled->exported.files}};
    print_json(json);
    return kExitSuccess;
  }
  print_plan(*completed->problem.surface, completed->plan);
  fmt::print("verified: {}, {} {} ({})\n", compiled->evaluation.comparison.summary(),
             compiled->evaluation.latency, compiled->evaluation.unit,
             compiled->evaluation.simulation.simulator);
  for (const std::string& file : compiled->exported.files) fmt::print("wrote {}\n", file);
  return kExitSuccess;
}

}  // namespace zomboss::cli
