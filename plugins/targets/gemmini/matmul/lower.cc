#include "plugins/targets/gemmini/matmul/lower.h"

#include "plugins/targets/gemmini/matmul/check.h"
#include "plugins/targets/gemmini/matmul/check_loop.h"
#include "plugins/targets/gemmini/matmul/codegen.h"
#include "plugins/targets/gemmini/matmul/schedule.h"
#include "plugins/targets/gemmini/matmul/transform.h"

namespace zomboss::gemmini {

Result<std::vector<Command>> lower_mapping(const Problem& problem, const Mapping& mapping,
                                           const Machine& machine) {
  const Form& form = problem.forms[mapping.orientation];
  ZB_TRY(check_capacity(mapping, form, machine));
  Schedule schedule = build_primitive(problem, form, mapping, machine);
  apply_mapping(schedule, mapping);
  ZB_TRY(check_schedule(problem, form, machine, schedule));
  ZB_TRY(check_loops(schedule));
  return generate_code(schedule);
}

}  // namespace zomboss::gemmini
