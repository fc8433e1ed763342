#include "plugins/targets/gemmini/chain/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "plugins/targets/gemmini/chain/link.h"
#include "plugins/targets/gemmini/matmul/estimate.h"

namespace zomboss::gemmini::chain {
namespace {

using Row = std::vector<StageMapping>;

constexpr double kCombined = 144;  // rows of all combinations, about
constexpr size_t kAlone = 96;      // rows in which one stage varies, of all stages together
constexpr size_t kMaxLinks = 4;    // whose results stay on chip in all combinations; more: all or one
constexpr size_t kReaders = 8;     // mappings of a stage that finds its operand on chip

class CatalogMaker {
 public:
  CatalogMaker(const Problem& problem, const MachineModel& model, const std::vector<Domains>& domains)
      : problem_(problem), model_(model), domains_(domains) {}

  Catalog run() {
    Row plain(problem_.stages.size()), library(problem_.stages.size());
    bool has_library = true;
    for (size_t s = 0; s < plain.size(); ++s) {
      rank_stage(s);
      has_library = has_library && domains_[s].library.has_value();
      if (domains_[s].library) library[s].matmul = *domains_[s].library;
    }
    add(plain);
    if (has_library) add(library);
    add_path(plain);
    add_combinations();
    add_alone();
    const size_t through_dram = catalog_.rows.size();
    add_on_chip();
    write_notes(through_dram, has_library);
    return std::move(catalog_);
  }

 private:
  Row best() const {
    Row row(ranked_.size());
    for (size_t s = 0; s < row.size(); ++s) row[s].matmul = ranked_[s].front();
    return row;
  }

  void rank_stage(size_t s) {
    const gemmini::Problem& stage = problem_.stages[s].problem;
    const std::vector<gemmini::Mapping> rows = gemmini::make_catalog(stage, model_, domains_[s]).rows;
    looked_at_ += rows.size();
    ranked_.push_back(by_estimate(s, rows));
  }

  std::vector<gemmini::Mapping> by_estimate(size_t s, const std::vector<gemmini::Mapping>& rows) const {
    std::vector<std::tuple<double, std::vector<int64_t>>> order;
    for (const gemmini::Mapping& row : rows)
      order.emplace_back(forecast(problem_.stages[s].problem, row, model_).estimate.cycles,
                         to_values(row, model_.machine.dim));
    std::sort(order.begin(), order.end());
    std::vector<gemmini::Mapping> result;
    for (const auto& [cycles, values] : order) result.push_back(from_values(values, model_.machine.dim));
    return result;
  }

  void add(const Row& row) {
    std::vector<int64_t> values;
    for (const StageMapping& stage : row) {
      const std::vector<int64_t> matmul = to_values(stage.matmul, model_.machine.dim);
      values.insert(values.end(), matmul.begin(), matmul.end());
      values.push_back(static_cast<int64_t>(stage.output));
    }
    if (seen_.insert(std::move(values)).second) catalog_.rows.push_back(row);
  }

  void add_path(Row row) {
    const Row goal = best();
    for (size_t s = 0; s < row.size(); ++s) {
      row[s] = goal[s];
      add(row);
    }
  }

  void add_combinations() {
    const auto stages = static_cast<double>(ranked_.size());
    const auto each = std::max<size_t>(1, static_cast<size_t>(std::pow(kCombined, 1 / stages) + 1e-9));
    combined_ = each;
    Row row = best();
    combine(0, each, row);
  }
  void combine(size_t s, size_t each, Row& row) {
    if (s == row.size()) return add(row);
    for (size_t i = 0; i < std::min(each, ranked_[s].size()); ++i) {
      row[s].matmul = ranked_[s][i];
      combine(s + 1, each, row);
    }
  }

  void add_alone() {
    for (size_t s = 0; s < ranked_.size(); ++s) {
      Row row = best();
      for (size_t i = 0; i < std::min(kAlone / ranked_.size(), ranked_[s].size()); ++i) {
        row[s].matmul = ranked_[s][i];
        add(row);
      }
    }
  }

  void add_on_chip() {
    std::vector<size_t> links;
    for (size_t s = 0; s < problem_.stages.size(); ++s)
      if (problem_.stages[s].link) links.push_back(s);
    if (links.empty()) return;
    if (links.size() <= kMaxLinks) {
      for (size_t set = 1; set < size_t{1} << links.size(); ++set) {
        std::vector<bool> on_chip(problem_.stages.size());
        for (size_t i = 0; i < links.size(); ++i) on_chip[links[i]] = (set >> i & 1) != 0;
        add_on_chip(on_chip);
      }
      return;
    }
    std::vector<bool> all(problem_.stages.size());
    for (const size_t s : links) {
      std::vector<bool> one(problem_.stages.size());
      one[s] = all[s] = true;
      add_on_chip(one);
    }
    add_on_chip(all);
  }

  // Stages whose result stays on chip with narrow and wide loads in both orders, those that read such a
  // result in the best ways.
  void add_on_chip(const std::vector<bool>& on_chip) {
    for (const bool wide : {true, false}) {
      for (const InnerOrder order : {InnerOrder::kMnk, InnerOrder::kNmk}) {
        Row row = best();
        std::vector<std::pair<size_t, std::vector<gemmini::Mapping>>> readers;
        for (size_t s = 0; s < row.size(); ++s) {
          const bool reads = s > 0 && on_chip[s - 1];
          if (on_chip[s]) {
            row[s] = {producer(s, wide, order, reads), Output::kScratchpad};
          } else if (reads) {
            readers.emplace_back(s, reader_mappings(s));
            if (readers.back().second.empty()) return;
            row[s].matmul = readers.back().second.front();
          }
        }
        add_if_legal(row);
        for (const auto& [s, mappings] : readers) {
          Row varied = row;
          for (const gemmini::Mapping& mapping : mappings) {
            varied[s].matmul = mapping;
            add_if_legal(varied);
          }
        }
      }
    }
  }

  gemmini::Mapping producer(size_t s, bool wide, InnerOrder order, bool reads) const {
    const Link& link = *problem_.stages[s].link;
    const Form& form = problem_.stages[s].problem.forms[link.form];
    gemmini::Mapping mapping;
    mapping.orientation = link.form;
    mapping.dataflow = ArrayDataflow::kOutputStationary;
    mapping.tile_m = form.m.blocks();
    mapping.tile_n = form.n.blocks();
    mapping.tile_k = form.k.blocks();
    mapping.inner_order = order;
    if (wide) {
      for (uint32_t gemmini::Mapping::*width :
           {&gemmini::Mapping::load_width_a, &gemmini::Mapping::load_width_b}) {
        const Knob knob = width == &gemmini::Mapping::load_width_a ? Knob::kLoadWidthA : Knob::kLoadWidthB;
        for (const int64_t value : domains_[s][knob]) {
          gemmini::Mapping wider = mapping;
          wider.*width = static_cast<uint32_t>(value);
          if (is_legal(problem_.stages[s].problem, model_.machine, domains_[s], wider)) mapping = wider;
        }
      }
    }
    if (reads) narrow_operand(s, mapping);
    return mapping;
  }

  // An operand that is there already is not loaded.
  void narrow_operand(size_t s, gemmini::Mapping& mapping) const {
    const bool as_a = problem_.stages[s - 1].link->operand == kA;
    (as_a ? mapping.load_width_a : mapping.load_width_b) = 1;
  }

  std::vector<gemmini::Mapping> reader_mappings(size_t s) const {
    const Link& link = *problem_.stages[s - 1].link;
    std::vector<gemmini::Mapping> suited;
    for (gemmini::Mapping mapping : ranked_[s]) {
      mapping.interface = Interface::kPrimitives;
      mapping.placement = BankPlacement::kEnds;
      mapping.orientation = link.next_form;
      (link.operand == kA ? mapping.buffering_a : mapping.buffering_b) = Buffering::kResident;
      narrow_operand(s, mapping);
      if (is_legal(problem_.stages[s].problem, model_.machine, domains_[s], mapping) &&
          std::find(suited.begin(), suited.end(), mapping) == suited.end())
        suited.push_back(mapping);
    }
    suited = by_estimate(s, suited);
    if (suited.size() > kReaders) suited.resize(kReaders);
    return suited;
  }

  void add_if_legal(const Row& row) {
    int64_t before = 0;  // rows of stages whose results stay on chip on the way to the stage at hand
    for (size_t s = 0; s < row.size(); ++s) {
      const gemmini::Problem& stage = problem_.stages[s].problem;
      if (!is_legal(stage, model_.machine, domains_[s], row[s].matmul)) return;
      const Form& form = stage.forms[row[s].matmul.orientation];
      if (before + footprint(row[s].matmul, form).scratchpad_rows > model_.machine.scratchpad_rows &&
          before > 0)
        return;
      before = row[s].output == Output::kScratchpad ? before + operand_rows(form) : 0;
      if (row[s].output == Output::kScratchpad && !suits_link(problem_, s, row)) return;
    }
    add(row);
  }

  void write_notes(size_t through_dram, bool has_library) {
    auto& notes = catalog_.notes;
    notes.push_back(
        fmt::format("stages: {} mappings of {} stages, each stage's own catalog, ranked by its own estimate",
                    looked_at_, ranked_.size()));
    notes.push_back(
        fmt::format("combinations: the first {} mappings of every stage in all combinations, {} of each "
                    "stage with the best "
                    "of the others",
                    combined_, kAlone / ranked_.size()));
    if (catalog_.rows.size() > through_dram)
      notes.push_back(fmt::format("on chip: {} rows with results that stay in the scratchpad",
                                  catalog_.rows.size() - through_dram));
    notes.push_back(
        fmt::format("{} rows, among them Candidate-0, the plain primitive schedule of each stage{}",
                    catalog_.rows.size(), has_library ? ", and the library's calls" : ""));
  }

  const Problem& problem_;
  const MachineModel& model_;
  const std::vector<Domains>& domains_;
  std::vector<std::vector<gemmini::Mapping>> ranked_;  // of each stage, the best first
  Catalog catalog_;
  std::set<std::vector<int64_t>> seen_;
  size_t looked_at_ = 0, combined_ = 0;
};

}  // namespace

Catalog make_catalog(const Problem& problem, const MachineModel& model, const std::vector<Domains>& domains) {
  return CatalogMaker(problem, model, domains).run();
}

}  // namespace zomboss::gemmini::chain
