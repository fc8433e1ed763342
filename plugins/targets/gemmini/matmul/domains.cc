#include <algorithm>
#include <set>

#include "plugins/targets/gemmini/matmul/library.h"
#include "plugins/targets/gemmini/matmul/surface.h"

namespace zomboss::gemmini {
namespace {

// Balanced cuts into 1, 2, 4, ... parts, as the block counts of the larger part, and one size more.
std::vector<int64_t> cuts_of(const Axis& axis, std::optional<int64_t> more) {
  std::set<int64_t> sizes;
  for (int64_t size = axis.blocks(); size > 1; size = ceil_div(size, 2)) sizes.insert(size);
  sizes.insert(1);
  if (more) sizes.insert(*more);
  return {sizes.begin(), sizes.end()};
}

// 1, 2, 4, ... up to what one move can take and the longest run has.
std::vector<int64_t> widths(int64_t widest, int64_t longest_run) {
  std::vector<int64_t> values = {1};
  while (values.back() * 2 <= widest && values.back() < longest_run) values.push_back(values.back() * 2);
  return values;
}

std::vector<int64_t> listed(const std::set<int64_t>& values) {
  return {values.begin(), values.end()};
}

const Axis& a_columns(const Form& form) {
  return form.a_transposed ? form.m : form.k;
}
const Axis& b_columns(const Form& form) {
  return form.b_transposed ? form.k : form.n;
}

}  // namespace

Domains knob_domains(const Problem& problem, const Machine& machine) {
  const int64_t widest = machine.max_block_columns() / machine.dim;
  Domains domains;
  domains.values.resize(kKnobs);
  domains.library = library_mapping(problem, machine);
  std::set<int64_t> m, n, k, regions = {1};
  int64_t a_run = 1, b_run = 1, n_run = 1;
  for (size_t f = 0; f < problem.forms.size(); ++f) {
    const Form& form = problem.forms[f];
    std::optional<int64_t> more_m, more_n, more_k;
    if (domains.library && domains.library->orientation == f) {
      more_m = domains.library->tile_m;
      more_n = domains.library->tile_n;
      more_k = domains.library->tile_k;
    }
    domains.cuts.push_back({cuts_of(form.m, more_m), cuts_of(form.n, more_n), cuts_of(form.k, more_k)});
    for (int64_t size : domains.cuts.back().m) m.insert(size * machine.dim);
    for (int64_t size : domains.cuts.back().n) n.insert(size * machine.dim);
    for (int64_t size : domains.cuts.back().k) k.insert(size * machine.dim);
    a_run = std::max(a_run, form.fold * a_columns(form).blocks_per_run());
    b_run = std::max(b_run, b_columns(form).blocks_per_run());
    n_run = std::max(n_run, form.fold * form.n.blocks_per_run());
  }
  const auto batches = static_cast<int64_t>(problem.forms.front().batches.size());
  for (int64_t count : {int64_t{2}, int64_t{4}, batches})
    if (count <= batches) regions.insert(count);

  const auto set = [&](Knob knob, std::vector<int64_t> values) {
    domains.values[static_cast<size_t>(knob)] = std::move(values);
  };
  bool loops = false, output_stationary = false;
  for (const Form& form : problem.forms) {
    loops = loops || form.suits_loops();
    output_stationary = output_stationary || allows_output_stationary(form);
  }
  set(Knob::kDataflow, output_stationary ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0});
  set(Knob::kInterface, loops ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0});
  std::vector<int64_t> orientations;
  for (size_t i = 0; i < problem.forms.size(); ++i) orientations.push_back(static_cast<int64_t>(i));
  set(Knob::kOrientation, std::move(orientations));
  set(Knob::kBatchRegions, listed(regions));
  set(Knob::kTileK, listed(k));
  set(Knob::kTileM, listed(m));
  set(Knob::kTileN, listed(n));
  set(Knob::kBankPlacement,
      machine.scratchpad_banks % 4 == 0 ? std::vector<int64_t>{0, 1, 2, 3} : std::vector<int64_t>{0});
  set(Knob::kAccBuffering, {1, 2});
  set(Knob::kBufferingA, {0, 1, 2});
  set(Knob::kBufferingB, {0, 1, 2});
  set(Knob::kLoadOrder, {0, 1, 2});
  set(Knob::kLoadWidthA, widths(widest, a_run));
  set(Knob::kLoadWidthB, widths(widest, b_run));
  set(Knob::kStoreSchedule, {0, 1, 2});
  set(Knob::kStoreWidth, widths(problem.epilogue.full_width ? 1 : widest, n_run));
  set(Knob::kFence, batches > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0});
  set(Knob::kInnerOrder, {0, 1, 2, 3});
  set(Knob::kLoopOrder, {0, 1});
  return domains;
}

}  // namespace zomboss::gemmini
