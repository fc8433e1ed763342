#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "plugins/targets/gemmini/matmul/estimate.h"
#include "plugins/targets/gemmini/matmul/surface.h"

namespace zomboss::gemmini {
namespace {

using Values = std::vector<int64_t>;

// So many rows are offered at most beside those that are always there.
constexpr size_t kMaxRows = 256;
// Of mappings with the same tiles, dataflow and interface, so many: the estimate is least sure between
// families.
constexpr size_t kMaxOfFamily = 32;
// The walk ends when so many array steps were replayed, or so many mappings.
constexpr int64_t kReplayBudget = 1'000'000;
constexpr size_t kMaxWalked = 6'000;

struct Ranked {
  double cycles = 0;
  Values values;
  bool operator<(const Ranked& other) const {
    return std::tie(cycles, values) < std::tie(other.cycles, other.values);
  }
};

class CatalogMaker {
 public:
  CatalogMaker(const Problem& problem, const MachineModel& model, const Domains& domains)
      : problem_(problem), model_(model), domains_(domains), dim_(model.machine.dim) {}

  Catalog run() {
    const Values plain = plain_values();
    look_at(plain);
    if (domains_.library) look_at(to_values(*domains_.library, dim_));
    plant_seeds();
    walk();
    choose(plain);
    return std::move(catalog_);
  }

 private:
  Values plain_values() const {
    Values values;
    for (const auto& domain : domains_.values) values.push_back(domain.front());
    return values;
  }

  // Forecasts a mapping that is legal and new; one that makes a kernel that is known already is left out.
  void look_at(const Values& values) {
    if (!seen_.insert(values).second) return;
    const Mapping mapping = from_values(values, dim_);
    if (!is_legal(problem_, model_.machine, domains_, mapping)) return;
    const Forecast forecast = zomboss::gemmini::forecast(problem_, mapping, model_);
    ++looked_at_;
    replayed_ += std::min(problem_.forms[mapping.orientation].steps(), kReplayedSteps);
    if (!kernels_.insert(forecast.kernel).second) {
      ++same_kernel_;
      return;
    }
    cycles_[values] = forecast.estimate.cycles;
    ranked_.insert({forecast.estimate.cycles, values});
    open_.insert({forecast.estimate.cycles, values});
  }

  // Every tile shape with a few typical settings.
  void plant_seeds() {
    for (uint32_t orientation = 0; orientation < problem_.forms.size(); ++orientation) {
      const Domains::Cuts& cuts = domains_.cuts[orientation];
      for (int64_t regions : domains_[Knob::kBatchRegions])
        for (int64_t m : cuts.m)
          for (int64_t n : cuts.n)
            for (int64_t k : cuts.k) {
              Mapping shape;
              shape.orientation = orientation;
              shape.batch_regions = static_cast<uint32_t>(regions);
              shape.tile_m = m;
              shape.tile_n = n;
              shape.tile_k = k;
              plant(shape);
            }
    }
  }

  void plant(const Mapping& shape) {
    ++shapes_;
    const bool folds = problem_.forms[shape.orientation].fold > 1;
    look_at(to_values(as_loop(shape), dim_));
    for (Buffering buffering : {Buffering::kResident, Buffering::kDouble, Buffering::kSingle}) {
      for (BankPlacement placement : {folds ? BankPlacement::kLoads : BankPlacement::kRows,
                                      BankPlacement::kCopies, BankPlacement::kEnds}) {
        for (uint32_t sums : {2u, 1u}) {
          Mapping typical = shape;
          typical.buffering_a = typical.buffering_b = buffering;
          typical.placement = placement;
          typical.acc_buffers = sums;
          typical.load_width_a = widest(Knob::kLoadWidthA, typical);
          typical.load_width_b = widest(Knob::kLoadWidthB, typical);
          typical.store_width = widest(Knob::kStoreWidth, typical);
          const Values values = to_values(typical, dim_);
          if (!is_legal(problem_, model_.machine, domains_, typical)) continue;
          look_at(values);
          if (placement == BankPlacement::kCopies || placement == BankPlacement::kEnds) return;
          break;
        }
      }
    }
  }

  // The widest move that is legal when all else is as in `mapping`.
  uint32_t widest(Knob knob, Mapping mapping) const {
    const auto& domain = domains_[knob];
    for (size_t i = domain.size(); i-- > 0;) {
      Values values = to_values(mapping, dim_);
      values[static_cast<size_t>(knob)] = domain[i];
      if (is_legal(problem_, model_.machine, domains_, from_values(values, dim_)))
        return static_cast<uint32_t>(domain[i]);
    }
    return 1;
  }

  // Best first: the neighbours, by one decision, of the best mapping whose neighbours were not looked at.
  void walk() {
    while (!open_.empty() && replayed_ < kReplayBudget && looked_at_ < kMaxWalked) {
      const Values values = open_.begin()->values;
      open_.erase(open_.begin());
      for (size_t knob = 0; knob < kKnobs; ++knob) {
        for (int64_t value : domains_.values[knob]) {
          Values next = values;
          next[knob] = value;
          look_at(next);
        }
      }
    }
  }

  // The front of the ranking, Candidate-0, the library's choice, and a path of single decisions from
  // Candidate-0 to the front.
  void choose(const Values& plain) {
    std::set<Values> chosen;
    std::map<Values, size_t> families;
    for (const Ranked& each : ranked_) {
      if (chosen.size() >= kMaxRows) break;
      const Values family(each.values.begin(), each.values.begin() + static_cast<size_t>(Knob::kTileN) + 1);
      if (++families[family] <= kMaxOfFamily) chosen.insert(each.values);
    }
    const size_t front = chosen.size();
    if (!ranked_.empty()) add_path(ranked_.begin()->values, plain, chosen);
    if (domains_.library) chosen.insert(to_values(*domains_.library, dim_));
    chosen.erase(plain);
    catalog_.rows.push_back(from_values(plain, dim_));
    for (const Values& values : chosen) catalog_.rows.push_back(from_values(values, dim_));
    write_notes(front);
  }

  // Back from `at`, each time the single change with the lowest estimate.
  void add_path(Values at, const Values& goal, std::set<Values>& chosen) {
    for (size_t step = 0; step < kKnobs && at != goal; ++step) {
      std::optional<Ranked> best;
      for (size_t knob = 0; knob < kKnobs; ++knob) {
        Values changed = at;
        changed[knob] = goal[knob];
        if (changed == at || !is_legal(problem_, model_.machine, domains_, from_values(changed, dim_)))
          continue;
        const Ranked ranked{forecast(problem_, from_values(changed, dim_), model_).estimate.cycles, changed};
        if (!best || ranked < *best) best = ranked;
      }
      if (!best) return;
      at = best->values;
      chosen.insert(at);
    }
  }

  void write_notes(size_t front) {
    auto& notes = catalog_.notes;
    notes.push_back(fmt::format(
        "tiles: balanced cuts of the axes into 1, 2, 4, ... parts and the library's sizes, {} shapes",
        shapes_));
    notes.push_back(
        fmt::format("estimate: {} mappings looked at, from typical settings of each shape along single "
                    "decisions, the fastest "
                    "first",
                    looked_at_));
    if (same_kernel_ > 0)
      notes.push_back(
          fmt::format("same_kernel: {} mappings left out, another one makes the same kernel", same_kernel_));
    if (ranked_.size() > front)
      notes.push_back(
          fmt::format("estimate: {} of {} kernels kept, those of the lowest estimated latency, at most {} of "
                      "one tile shape "
                      "and interface",
                      front, ranked_.size(), kMaxOfFamily));
    notes.push_back(fmt::format("{} rows, among them Candidate-0, the plain primitive schedule{}",
                                catalog_.rows.size(), domains_.library ? ", and the library's choice" : ""));
  }

  const Problem& problem_;
  const MachineModel& model_;
  const Domains& domains_;
  uint32_t dim_;
  Catalog catalog_;
  std::set<Values> seen_;
  std::unordered_set<uint64_t> kernels_;
  std::map<Values, double> cycles_;
  std::set<Ranked> ranked_, open_;
  size_t shapes_ = 0, looked_at_ = 0, same_kernel_ = 0;
  int64_t replayed_ = 0;
};

}  // namespace

Catalog make_catalog(const Problem& problem, const MachineModel& model, const Domains& domains) {
  return CatalogMaker(problem, model, domains).run();
}

}  // namespace zomboss::gemmini
