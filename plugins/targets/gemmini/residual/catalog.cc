#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>

#include "plugins/targets/gemmini/residual/estimate.h"
#include "plugins/targets/gemmini/residual/lower.h"
#include "plugins/targets/gemmini/residual/surface.h"

namespace zomboss::gemmini::residual {
namespace {

constexpr size_t kMaxRows = 192;  // beside those that are always there
constexpr size_t kMaxOfFamily =
    16;  // of one tile, shape and interface: the estimate is least sure between them
constexpr size_t kMaxReplayed = 1500;  // mappings; those of the fewest, widest moves
constexpr double kMaxMoves = 3e6;      // of all of them together

class CatalogMaker {
 public:
  CatalogMaker(const Problem& problem, const MachineModel& model, const Domains& domains)
      : problem_(problem), model_(model), domains_(domains), dim_(model.machine.dim) {}

  Catalog run() {
    Values plain;
    for (size_t k = 0; k < kKnobs; ++k) plain[k] = domains_[k].front();
    list_legal(0, plain);
    replay();
    choose(plain);
    return std::move(catalog_);
  }

 private:
  struct Ranked {
    double cycles = 0;
    Values values;
    bool operator<(const Ranked& other) const {
      return std::tie(cycles, values) < std::tie(other.cycles, other.values);
    }
  };

  Mapping mapping(const Values& values) const { return from_values(values, problem_, dim_); }
  bool legal(const Values& values) const { return is_legal(mapping(values), problem_, model_.machine); }

  void list_legal(size_t knob, Values& values) {
    if (knob == kKnobs) {
      if (legal(values)) legal_.push_back({rough_cost(mapping(values)), values});
      return;
    }
    const int64_t first = values[knob];
    for (const int64_t value : domains_[knob]) {
      values[knob] = value;
      list_legal(knob + 1, values);
    }
    values[knob] = first;
  }

  // Rows that moves ask for, and a wait for each tile that nothing overlaps.
  double rough_cost(const Mapping& mapping) const {
    const Shape& shape = problem_.shapes[mapping.shape];
    const double blocks = static_cast<double>(shape.outer.size()) *
                          static_cast<double>(row_blocks(shape, dim_) * col_blocks(shape, dim_));
    const auto tiles = static_cast<double>(tile_count(problem_, mapping, model_.machine));
    const bool loops = mapping.interface == Interface::kLoopWs;
    const double width = loops ? 4 : mapping.load_width, stores = loops ? 4 : mapping.store_width;
    const double wait = mapping.acc_buffers > 1 ? 0 : model_.memory.latency;
    return blocks * dim_ * (2 / width + 1 / stores) +
           tiles * (wait + (mapping.ordering == Ordering::kFence ? model_.memory.latency : 0));
  }

  void replay() {
    std::stable_sort(legal_.begin(), legal_.end());
    std::unordered_set<uint64_t> kernels;
    double moves = 0;
    for (const Ranked& each : legal_) {
      if (replayed_ == kMaxReplayed || moves > kMaxMoves) break;
      ++replayed_;
      const Shape& shape = problem_.shapes[mapping(each.values).shape];
      moves += 3.0 * static_cast<double>(shape.outer.size()) *
               static_cast<double>(row_blocks(shape, dim_) * col_blocks(shape, dim_));
      const Forecast forecast = residual::forecast(problem_, mapping(each.values), model_);
      if (kernels.insert(forecast.kernel).second)
        ranked_.insert({forecast.estimate.cycles, each.values});
      else
        ++same_kernel_;
    }
  }

  void choose(const Values& plain) {
    std::set<Values> chosen;
    std::map<std::array<int64_t, 4>, size_t> families;
    for (const Ranked& each : ranked_) {
      if (chosen.size() >= kMaxRows) break;
      const std::array<int64_t, 4> family = {each.values[0], each.values[1], each.values[2], each.values[3]};
      if (++families[family] <= kMaxOfFamily) chosen.insert(each.values);
    }
    const size_t front = chosen.size();
    add_fenced(chosen);
    if (!ranked_.empty()) add_path(ranked_.begin()->values, plain, chosen);
    chosen.insert(to_values(library_mapping(problem_, model_.machine), problem_, dim_));
    chosen.erase(plain);
    catalog_.rows.push_back(mapping(plain));
    for (const Values& values : chosen) catalog_.rows.push_back(mapping(values));
    write_notes(front);
  }

  // For memories that answer out of order.
  void add_fenced(std::set<Values>& chosen) const {
    size_t fenced = 0;
    for (const Ranked& each : ranked_) {
      if (mapping(each.values).ordering != Ordering::kFence) continue;
      if (++fenced > kMaxOfFamily) return;
      chosen.insert(each.values);
    }
  }

  // Back from `at`, each time the single change with the lowest estimate.
  void add_path(Values at, const Values& goal, std::set<Values>& chosen) const {
    for (size_t step = 0; step < kKnobs && at != goal; ++step) {
      std::optional<Ranked> best;
      for (size_t knob = 0; knob < kKnobs; ++knob) {
        Values changed = at;
        changed[knob] = goal[knob];
        if (changed == at || !legal(changed)) continue;
        const Ranked ranked{residual::forecast(problem_, mapping(changed), model_).estimate.cycles, changed};
        if (!best || ranked < *best) best = ranked;
      }
      if (!best) return;
      at = best->values;
      chosen.insert(at);
    }
  }

  void write_notes(size_t front) {
    auto& notes = catalog_.notes;
    notes.push_back(
        fmt::format("tiles: balanced cuts of rows and columns into 1, 2, 4, ... parts; {} legal mappings",
                    legal_.size()));
    if (replayed_ < legal_.size())
      notes.push_back(fmt::format("moves: {} mappings of fewer and wider moves looked at", replayed_));
    if (same_kernel_ > 0)
      notes.push_back(
          fmt::format("same_kernel: {} mappings left out, another one makes the same kernel", same_kernel_));
    if (ranked_.size() > front)
      notes.push_back(
          fmt::format("estimate: {} of {} kernels kept, those of the lowest estimated latency, at most {} of "
                      "one tile and interface",
                      front, ranked_.size(), kMaxOfFamily));
    notes.push_back(
        fmt::format("{} rows, among them Candidate-0, one block at a time, and the library's choice",
                    catalog_.rows.size()));
  }

  const Problem& problem_;
  const MachineModel& model_;
  const Domains& domains_;
  uint32_t dim_;
  Catalog catalog_;
  std::vector<Ranked> legal_;  // by rough cost
  std::set<Ranked> ranked_;    // by estimate
  size_t replayed_ = 0, same_kernel_ = 0;
};

}  // namespace

Catalog make_catalog(const Problem& problem, const MachineModel& model, const Domains& domains) {
  return CatalogMaker(problem, model, domains).run();
}

}  // namespace zomboss::gemmini::residual
