#include "plugins/targets/gemmini/conv/lower.h"

#include <fmt/format.h>

#include <algorithm>

#include "plugins/targets/gemmini/conv/check.h"
#include "plugins/targets/gemmini/conv/loop.h"
#include "plugins/targets/gemmini/conv/schedule.h"

namespace zomboss::gemmini::conv {
namespace {

Status refuse(std::string_view why) {
  return invalid_argument(fmt::format("gemmini: {}", why));
}

Status check_primitives(const Problem& problem, const Mapping& m, const Machine& machine) {
  const Form& form = problem.forms[m.form];
  const int64_t dim = machine.dim, widest = machine.max_block_columns() / dim;
  if (m.tile_k % dim != 0 || m.tile_n % dim != 0) return refuse("channel tiles are whole blocks");
  if (m.tile_kernel_rows != problem.rows.kernel || m.tile_kernel_cols != problem.cols.kernel)
    return refuse("kernels are cut by loop_conv_ws alone");
  if (m.load_width_a > widest || m.load_width_b > widest || m.store_width > widest)
    return refuse(fmt::format("moves are at most {} blocks wide", widest));
  if (problem.full_width && m.store_width > 1) return refuse("stores at full width are one block wide");
  if (m.store_schedule == StoreSchedule::kDeferred && m.acc_buffers != 2)
    return refuse("store_schedule=deferred needs acc_buffering=2");
  if (m.taps_per_step > 1) {
    const int64_t channels = (form.most_in_channels() - 1) % dim + 1;  // of the last block
    if (m.interface != Interface::kDirect || m.tile_k > dim || problem.cols.dilation != 1 ||
        form.groups.size() != 1 || m.taps_per_step * channels > dim || m.taps_per_step > problem.cols.kernel)
      return refuse("several taps of a step need a direct convolution of few channels without dilation");
  }
  return check_capacity(problem, m, machine);
}

}  // namespace

Status check_mapping(const Problem& problem, const Mapping& m, const Machine& machine) {
  if (m.interface != Interface::kLoop) return check_primitives(problem, m, machine);
  if (to_values(as_loop(m)) != to_values(m)) return refuse("loop_conv_ws decides moves and places by itself");
  return check_loop_tiles(problem, m, machine);
}

Result<std::vector<Command>> lower_mapping(const Problem& problem, const Mapping& mapping,
                                           const Machine& machine) {
  ZB_TRY(check_mapping(problem, mapping, machine));
  std::vector<Command> commands = mapping.interface == Interface::kLoop
                                      ? build_loops(problem, mapping, machine)
                                      : generate_code(build_schedule(problem, mapping, machine));
  ZB_TRY(check_kernel(problem, problem.forms[mapping.form], machine, commands));
  return commands;
}

}  // namespace zomboss::gemmini::conv
