#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "plugins/targets/gemmini/conv/estimate.h"
#include "plugins/targets/gemmini/conv/library.h"
#include "plugins/targets/gemmini/conv/lower.h"
#include "plugins/targets/gemmini/conv/surface.h"

namespace zomboss::gemmini::conv {
namespace {

// So many rows are offered at most, beside loops and the path to the best.
constexpr size_t kMaxRows = 224;
constexpr size_t kMaxLoops = 12, kLoopsLookedAt = 36;
// Tile shapes that are looked at closely, at most, in all and of each interface.
constexpr size_t kShapes = 20, kShapesEach = 6;
// And only those whose rough estimate is within this factor of the best.
constexpr double kShapeFactor = 1.8;
// Of the best ones all knobs are varied, tiles too.
constexpr size_t kRefined = 3;

constexpr std::array kShapeKnobs = {Knob::kDepthwise, Knob::kInterface, Knob::kTapsPerStep,
                                    Knob::kTileBatch, Knob::kTileCols,  Knob::kTileK,
                                    Knob::kTileN,     Knob::kTileRows,  Knob::kLoopOrder};
constexpr std::array kOtherKnobs = {Knob::kBankPlacement, Knob::kAccBuffering, Knob::kBufferingA,
                                    Knob::kBufferingB,    Knob::kLoadWidthA,   Knob::kLoadWidthB,
                                    Knob::kStoreSchedule, Knob::kStoreWidth,   Knob::kInnerOrder};

struct Ranked {
  double cycles = 0;
  Values values{};
  bool operator<(const Ranked& other) const {
    return cycles != other.cycles ? cycles < other.cycles : values < other.values;
  }
};

class CatalogMaker {
 public:
  CatalogMaker(const Problem& problem, const MachineModel& model, const Domains& domains)
      : problem_(problem), model_(model), domains_(domains) {
    for (size_t i = 0; i < kKnobs; ++i) plain_[i] = domains_[i].front();
    // Kernels are whole and channels come in blocks: what the library cuts otherwise is for loops.
    for (const Knob knob : {Knob::kTileK, Knob::kTileN})
      at(plain_, knob) = *std::find_if(domain(knob).begin(), domain(knob).end(),
                                       [&](int64_t value) { return value % model.machine.dim == 0; });
    at(plain_, Knob::kTileKernelRows) = problem.rows.kernel;
    at(plain_, Knob::kTileKernelCols) = problem.cols.kernel;
  }

  Catalog run() {
    for (const Values& shape : promising_shapes()) descend(shape, false);
    const std::vector<Ranked> front = ranking();
    for (size_t i = 0; i < std::min(kRefined, front.size()); ++i) descend(front[i].values, true);
    choose();
    return std::move(catalog_);
  }

 private:
  static int64_t& at(Values& values, Knob knob) { return values[static_cast<size_t>(knob)]; }
  static int64_t at(const Values& values, Knob knob) { return values[static_cast<size_t>(knob)]; }
  const std::vector<int64_t>& domain(Knob knob) const { return domains_[static_cast<size_t>(knob)]; }

  bool is_legal(const Values& values) const {
    return check_mapping(problem_, from_values(values), model_.machine).ok();
  }

  template <typename Visit>
  void each(Values values, std::span<const Knob> knobs, Visit&& visit) const {
    if (knobs.empty()) return visit(values);
    for (const int64_t value : domain(knobs.front())) {
      at(values, knobs.front()) = value;
      each(values, knobs.subspan(1), visit);
    }
  }

  // The shape with the rest chosen as a rule: wide moves, as many copies as fit.
  std::optional<Ranked> typical(Values values) const {
    for (const Knob knob : {Knob::kLoadWidthA, Knob::kLoadWidthB, Knob::kStoreWidth})
      at(values, knob) = domain(knob).back();
    std::optional<Ranked> best;
    for (const int64_t copies : {2, 1}) {
      for (const int64_t a : {2, 1, 0}) {
        for (const int64_t b : {2, 1, 0}) {
          at(values, Knob::kAccBuffering) = copies;
          at(values, Knob::kBufferingA) = a;
          at(values, Knob::kBufferingB) = b;
          if (!is_legal(values)) continue;
          const double cycles = rough_estimate(problem_, from_values(values), model_).cycles;
          if (!best || cycles < best->cycles) best = {cycles, values};
        }
      }
      if (best) break;  // one accumulator tile only where two never fit
    }
    return best;
  }

  std::vector<Values> promising_shapes() {
    std::vector<Ranked> shapes;
    each(plain_, kShapeKnobs, [&](const Values& values) {
      if (at(values, Knob::kInterface) == static_cast<int64_t>(Interface::kLoop)) return add_loop(values);
      ++shapes_;
      if (const auto best = typical(values)) shapes.push_back(*best);
    });
    std::sort(shapes.begin(), shapes.end());
    std::vector<Values> result;
    std::map<int64_t, size_t> of_interface;
    for (const Ranked& shape : shapes) {
      if (shape.cycles > kShapeFactor * shapes.front().cycles) break;
      size_t& count = of_interface[at(shape.values, Knob::kInterface)];
      if (result.size() >= kShapes && count >= kShapesEach) continue;
      result.push_back(shape.values);
      ++count;
    }
    looked_at_ = result.size();
    return result;
  }

  void add_loop(const Values& values) {
    const Mapping mapping = as_loop(from_values(values));
    if (!check_mapping(problem_, mapping, model_.machine).ok()) return;
    loops_.insert({rough_estimate(problem_, mapping, model_).cycles, to_values(mapping)});
    if (loops_.size() > kLoopsLookedAt) loops_.erase(std::prev(loops_.end()));
  }

  double cycles_of(const Values& values) {
    const auto found = known_.find(values);
    if (found != known_.end()) return found->second;
    const Forecast each = forecast(problem_, from_values(values), model_);
    known_[values] = each.estimate.cycles;
    if (each.kernel != 0) kernels_[values] = each.kernel;
    return each.estimate.cycles;
  }

  // Changes one knob after the other to the value with the lowest estimate, until nothing gets better.
  void descend(Values values, bool all_knobs) {
    double best = cycles_of(values);
    for (int round = 0; round < 2; ++round) {
      const double before = best;
      const auto vary = [&](Knob knob) {
        Values start = values;
        for (const int64_t value : domain(knob)) {
          Values changed = start;
          at(changed, knob) = value;
          if (changed == start || at(changed, Knob::kInterface) == static_cast<int64_t>(Interface::kLoop) ||
              !is_legal(changed))
            continue;
          const double cycles = cycles_of(changed);
          if (cycles >= best) continue;
          best = cycles;
          values = changed;
        }
      };
      for (const Knob knob : kOtherKnobs) vary(knob);
      if (all_knobs)
        for (const Knob knob : kShapeKnobs) vary(knob);
      if (best >= before) return;
    }
  }

  std::vector<Ranked> ranking() const {
    std::vector<Ranked> result;
    for (const auto& [values, cycles] : known_) result.push_back({cycles, values});
    std::sort(result.begin(), result.end());
    return result;
  }

  void choose() {
    std::vector<Ranked> ranked = ranking();
    std::set<Values> chosen;
    drop_equal_kernels(ranked);
    for (size_t i = 0; i < std::min(kMaxRows, ranked.size()); ++i) chosen.insert(ranked[i].values);
    if (is_legal(plain_)) chosen.insert(plain_);
    if (!ranked.empty()) add_path(ranked.front().values, chosen);
    add_loops(chosen);
    for (uint32_t form = 0; form < problem_.forms.size(); ++form)
      if (const auto library = library_mapping(problem_, form, model_.machine))
        chosen.insert(to_values(*library));
    catalog_.rows.assign(chosen.begin(), chosen.end());
    const auto note = [&](std::string text) { catalog_.notes.push_back(std::move(text)); };
    note(fmt::format(
        "tiles are balanced cuts into 1, 2, 4, ... parts: {} tile shapes, {} looked at closely, by "
        "their rough estimate",
        shapes_, looked_at_));
    note(
        fmt::format("estimate: of {} mappings that changes of single decisions lead to, the {} of the lowest "
                    "estimated latency",
                    known_.size(), std::min(kMaxRows, ranked.size())));
    if (equal_ > 0)
      note(fmt::format("equal: {} of them are left out that become the kernel of another one", equal_));
    note(fmt::format("{} tilings through loop_conv_ws, beside the library's",
                     std::min(kMaxLoops, loops_.size())));
    note(fmt::format("{} rows, among them Candidate-0, the plain primitive kernel", catalog_.rows.size()));
  }

  // Those of the lowest estimate, replayed.
  void add_loops(std::set<Values>& chosen) {
    std::vector<Ranked> ranked;
    for (const Ranked& loop : loops_) {
      const Forecast each = forecast(problem_, from_values(loop.values), model_);
      ranked.push_back({each.estimate.cycles, loop.values});
      if (each.kernel != 0) kernels_[loop.values] = each.kernel;
    }
    std::sort(ranked.begin(), ranked.end());
    drop_equal_kernels(ranked);
    for (size_t i = 0; i < std::min(kMaxLoops, ranked.size()); ++i) chosen.insert(ranked[i].values);
  }

  // Of mappings that become the same kernel the first in knob order is enough.
  void drop_equal_kernels(std::vector<Ranked>& ranked) {
    std::set<uint64_t> seen;
    const size_t before = ranked.size();
    std::erase_if(ranked, [&](const Ranked& each) {
      const auto kernel = kernels_.find(each.values);
      return kernel != kernels_.end() && each.values != plain_ && !seen.insert(kernel->second).second;
    });
    equal_ += before - ranked.size();
  }

  // From the best back to Candidate-0, each time the single legal change with the lowest estimate.
  void add_path(Values values, std::set<Values>& chosen) {
    while (values != plain_) {
      std::optional<Ranked> next;
      for (size_t i = 0; i < kKnobs; ++i) {
        if (values[i] == plain_[i]) continue;
        Values changed = values;
        changed[i] = plain_[i];
        if (!is_legal(changed)) continue;
        const Ranked candidate{cycles_of(changed), changed};
        if (!next || candidate < *next) next = candidate;
      }
      if (!next) return;
      values = next->values;
      chosen.insert(values);
    }
  }

  const Problem& problem_;
  const MachineModel& model_;
  const Domains& domains_;
  Values plain_{};
  Catalog catalog_;
  std::map<Values, double> known_;
  std::map<Values, uint64_t> kernels_;
  size_t equal_ = 0;
  std::set<Ranked> loops_;
  size_t shapes_ = 0, looked_at_ = 0;
};

}  // namespace

Catalog make_catalog(const Problem& problem, const MachineModel& model, const Domains& domains) {
  return CatalogMaker(problem, model, domains).run();
}

}  // namespace zomboss::gemmini::conv
