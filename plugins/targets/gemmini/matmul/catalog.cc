#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "plugins/targets/gemmini/matmul/estimate.h"
#include "plugins/targets/gemmini/matmul/surface.h"

namespace zomboss::gemmini {
namespace {

// So many rows are offered at most; beyond, the estimate decides.
constexpr size_t kMaxRows = 256;
// A tile shape is only looked at more closely when its best estimate is within this factor of the best of
// all.
constexpr double kTileFactor = 1.6;

struct Ranked {
  double cycles = 0;
  std::vector<int64_t> values;
  bool operator<(const Ranked& other) const {
    return cycles != other.cycles ? cycles < other.cycles : values < other.values;
  }
};

class CatalogMaker {
 public:
  CatalogMaker(const Problem& problem, const MachineModel& model, const Domains& domains)
      : problem_(problem), model_(model), domains_(domains), dim_(model.machine.dim) {}

  Catalog run() {
    const std::vector<std::vector<int64_t>> shapes = promising_shapes();
    std::vector<Ranked> ranked;
    for (const auto& shape : shapes)
      expand(shape, [&](const std::vector<int64_t>& values) { consider(values, ranked); });
    std::sort(ranked.begin(), ranked.end());
    choose(ranked);
    return std::move(catalog_);
  }

 private:
  size_t domain_size(Knob knob) const { return domains_[static_cast<size_t>(knob)].size(); }

  std::vector<int64_t> plain() const {
    std::vector<int64_t> values;
    for (const auto& domain : domains_) values.push_back(domain.front());
    return values;
  }

  // All assignments of the knobs from `first` to before `last`, on top of `values`.
  template <typename Visit>
  void each(std::vector<int64_t> values, size_t first, size_t last, Visit visit) const {
    if (first == last) return visit(values);
    for (int64_t value : domains_[first]) {
      values[first] = value;
      each(values, first + 1, last, visit);
    }
  }
  template <typename Visit>
  void expand(const std::vector<int64_t>& shape, Visit visit) const {
    each(shape, static_cast<size_t>(Knob::kBankPlacement), kKnobs, visit);
  }

  // Orientation, regions and tiles whose estimate under a few typical settings is near the best.
  std::vector<std::vector<int64_t>> promising_shapes() {
    std::vector<Ranked> shapes;
    each(plain(), 0, static_cast<size_t>(Knob::kBankPlacement), [&](const std::vector<int64_t>& values) {
      const Mapping shape = from_values(values, dim_);
      ++shapes_;
      if (!is_legal(problem_, model_.machine, shape)) return;
      double best = 0;
      for (Buffering buffering : {Buffering::kSingle, Buffering::kDouble, Buffering::kResident}) {
        for (uint32_t copies : {2u, 1u}) {
          Mapping typical = shape;
          typical.buffering = buffering;
          typical.acc_buffers = copies;
          typical.store_schedule = StoreSchedule::kRow;
          typical.load_width_a = typical.load_width_b = 4;
          if (!check_capacity(typical, problem_.forms[shape.orientation], model_.machine).ok()) continue;
          const double cycles = estimate(problem_, typical, model_).cycles;
          if (best == 0 || cycles < best) best = cycles;
        }
      }
      shapes.push_back({best, values});
    });
    std::sort(shapes.begin(), shapes.end());
    std::vector<std::vector<int64_t>> result = {plain()};
    for (const Ranked& each : shapes)
      if (each.cycles <= kTileFactor * shapes.front().cycles && each.values != plain())
        result.push_back(each.values);
    far_shapes_ = shapes.size() - result.size();
    return result;
  }

  void consider(const std::vector<int64_t>& values, std::vector<Ranked>& ranked) {
    const Mapping mapping = from_values(values, dim_);
    if (!is_legal(problem_, model_.machine, mapping)) return;
    if (values != plain()) {
      if (const auto rule = redundant_by(problem_, model_.machine, mapping); !rule.empty()) {
        ++redundant_[std::string(rule)];
        return;
      }
    }
    ranked.push_back({estimate(problem_, mapping, model_).cycles, values});
  }

  // The front of the ranking; Candidate-0; and a path of single decisions from it to the front.
  void choose(const std::vector<Ranked>& ranked) {
    std::set<std::vector<int64_t>> chosen;
    for (size_t i = 0; i < std::min(kMaxRows, ranked.size()); ++i) chosen.insert(ranked[i].values);
    const size_t front = chosen.size();
    if (!ranked.empty()) add_path(ranked, chosen);
    chosen.insert(plain());
    for (const auto& values : chosen) catalog_.rows.push_back(from_values(values, dim_));
    write_notes(ranked.size(), front, chosen.size());
  }

  // From the best row back to Candidate-0, each time the single change with the lowest estimate among ranked
  // rows.
  void add_path(const std::vector<Ranked>& ranked, std::set<std::vector<int64_t>>& chosen) const {
    std::map<std::vector<int64_t>, double> cycles;
    for (const Ranked& each : ranked) cycles[each.values] = each.cycles;
    std::vector<int64_t> at = ranked.front().values;
    const std::vector<int64_t> goal = plain();
    for (size_t step = 0; step < kKnobs && at != goal; ++step) {
      const std::vector<int64_t>* next = nullptr;
      std::vector<int64_t> best;
      for (size_t knob = 0; knob < kKnobs; ++knob) {
        if (at[knob] == goal[knob]) continue;
        std::vector<int64_t> changed = at;
        changed[knob] = goal[knob];
        const auto found = cycles.find(changed);
        if (found == cycles.end()) continue;
        if (next == nullptr || found->second < cycles.at(best)) {
          best = changed;
          next = &best;
        }
      }
      if (next == nullptr) return;
      at = best;
      chosen.insert(at);
    }
  }

  void write_notes(size_t considered, size_t front, size_t rows) {
    catalog_.notes.push_back(
        fmt::format("tiles are balanced cuts of the axes into 1, 2, 4, ... parts: {} tile shapes", shapes_));
    if (far_shapes_ > 0)
      catalog_.notes.push_back(
          fmt::format("estimate: {} tile shapes left out, their estimate is over {} times the best",
                      far_shapes_, kTileFactor));
    for (const auto& [rule, count] : redundant_)
      catalog_.notes.push_back(
          fmt::format("{}: {} mappings left out that another one does as well", rule, count));
    if (considered > front)
      catalog_.notes.push_back(fmt::format(
          "estimate: {} of {} mappings kept, those of the lowest estimated latency", front, considered));
    catalog_.notes.push_back(
        fmt::format("{} rows, among them Candidate-0, the plain primitive schedule", rows));
  }

  const Problem& problem_;
  const MachineModel& model_;
  const Domains& domains_;
  uint32_t dim_;
  Catalog catalog_;
  std::map<std::string, size_t> redundant_;
  size_t shapes_ = 0, far_shapes_ = 0;
};

}  // namespace

Catalog make_catalog(const Problem& problem, const MachineModel& model, const Domains& domains) {
  return CatalogMaker(problem, model, domains).run();
}

}  // namespace zomboss::gemmini
