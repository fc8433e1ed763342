#include <fmt/format.h>

#include <algorithm>

#include "plugins/targets/gemmini/conv/loop.h"
#include "plugins/targets/gemmini/conv/surface.h"

namespace zomboss::gemmini::conv {
namespace {

// SMT-LIB terms over the knobs; the same formulas as footprint and loop_rows.
class Terms {
 public:
  Terms(const Problem& problem, const Machine& machine) : problem_(problem), dim_(machine.dim) {}

  std::string by_form(int64_t (Form::*channels)() const) const {
    const auto of = [&](size_t form) { return (problem_.forms[form].*channels)(); };
    if (problem_.forms.size() == 1 || of(0) == of(1)) return std::to_string(of(0));
    return fmt::format("(ite (= depthwise 0) {} {})", of(0), of(1));
  }
  static std::string cut(const std::string& extent, const std::string& tile) {  // rounded up
    return fmt::format("(div (+ {0} (- {1} 1)) {1})", extent, tile);
  }
  std::string blocks(const char* knob) const { return cut(knob, std::to_string(dim_)); }

  std::string pixel_tiles() const {
    return fmt::format("(* {} {} {})", cut(std::to_string(problem_.batch), "tile_batch"),
                       cut(std::to_string(problem_.rows.out), "tile_rows"),
                       cut(std::to_string(problem_.cols.out), "tile_cols"));
  }
  std::string n_tiles() const { return cut(by_form(&Form::most_out_channels), "tile_n"); }
  std::string k_tiles() const {
    return fmt::format("(* {} {} {})", cut(by_form(&Form::most_in_channels), "tile_k"),
                       cut(std::to_string(problem_.rows.kernel), "tile_kernel_rows"),
                       cut(std::to_string(problem_.cols.kernel), "tile_kernel_cols"));
  }

  std::string pixel_blocks() const {
    const std::string flat =
        fmt::format("(div (+ (* tile_batch tile_rows tile_cols) {}) {})", dim_ - 1, dim_);
    if (crosses_lines(problem_, Interface::kDirect)) return flat;
    // Lines of one block; the guard keeps the divisor positive in the branch that is not taken.
    const std::string each = fmt::format("(div {0} (ite (> tile_cols {0}) {0} tile_cols))", dim_);
    return fmt::format(
        "(ite (= interface 0) {} (ite (> (* 2 tile_cols) {}) (* tile_batch tile_rows (div (+ tile_cols {}) "
        "{})) "
        "(div (+ (* tile_batch tile_rows) (- {} 1)) {})))",
        flat, dim_, dim_ - 1, dim_, each, each);
  }

  static std::string patch(const Axis& axis, const char* outputs, const char* taps) {
    if (axis.decimates()) return outputs;
    return fmt::format("(+ (* (- {} 1) {}) (* (- {} 1) {}) 1)", outputs, axis.stride, taps, axis.dilation);
  }
  std::string a_bytes() const { return fmt::format("(* {} {} {})", dim_, a_slots(), a_rows()); }
  std::string a_block_rows() const {
    return fmt::format("(ite (= interface 0) {} (* tile_batch {} {}))", dim_,
                       patch(problem_.rows, "tile_rows", "tile_kernel_rows"),
                       patch(problem_.cols, "tile_cols", "tile_kernel_cols"));
  }
  std::string a_rows() const {
    return fmt::format(
        "(ite (= interface 0) (* {} tile_kernel_rows tile_kernel_cols {} {}) (+ (* tile_batch {} {} {}) "
        "(- taps_per_step 1)))",
        pixel_blocks(), blocks("tile_k"), dim_, patch(problem_.rows, "tile_rows", "tile_kernel_rows"),
        patch(problem_.cols, "tile_cols", "tile_kernel_cols"), blocks("tile_k"));
  }
  std::string b_rows() const {
    const std::string groups =
        fmt::format("(ite (> (* taps_per_step {}) {}) tile_kernel_cols {})", by_form(&Form::most_in_channels),
                    dim_, cut("tile_kernel_cols", "taps_per_step"));
    return fmt::format("(* tile_kernel_rows {} {} {} {})", groups, blocks("tile_k"), blocks("tile_n"), dim_);
  }
  std::string slots(const char* knob, const std::string& tiles) const {
    return fmt::format("(ite (= {0} 2) {1} (+ 1 {0}))", knob, tiles);
  }
  std::string a_slots() const {
    return slots("buffering_a", fmt::format("(* {} {})", pixel_tiles(), k_tiles()));
  }
  std::string b_slots() const { return slots("buffering_b", fmt::format("(* {} {})", n_tiles(), k_tiles())); }

  std::string scratchpad_bytes() const {
    return fmt::format("(* {} (+ (* {} {}) (* {} {})))", dim_, a_slots(), a_rows(), b_slots(), b_rows());
  }
  std::string quarter_bytes(const std::string& slots, const std::string& rows) const {
    return fmt::format("(* {} (div (+ {} 1) 2) {})", dim_, slots, rows);
  }
  std::string accumulator_bytes() const {
    return fmt::format("(* {} acc_buffering {} {})", 4 * dim_ * dim_, pixel_blocks(), blocks("tile_n"));
  }

  // As the hardware's loop lays tiles out.
  std::string loop_scratchpad_bytes() const {
    const int64_t down = loop_downsamples(problem_) ? 2 : 1;
    const auto span = [&](const Axis& axis, const char* outputs, const char* taps) {
      return fmt::format("(div (+ (* {} {}) (* (- {} 1) {})) {})", outputs, axis.stride, taps, axis.dilation,
                         down);
    };
    const std::string in = by_form(&Form::most_in_channels);
    return fmt::format("(* {} (+ (* {} tile_batch {} {}) (* {} tile_kernel_rows tile_kernel_cols {})))", dim_,
                       blocks("tile_k"), span(problem_.rows, "tile_rows", "tile_kernel_rows"),
                       span(problem_.cols, "tile_cols", "tile_kernel_cols"), blocks("tile_n"),
                       fmt::format("(ite (> tile_k {0}) {0} tile_k)", in));
  }
  std::string loop_accumulator_bytes() const {
    return fmt::format("(* {} {} tile_batch tile_rows tile_cols)", 4 * dim_, blocks("tile_n"));
  }

 private:
  const Problem& problem_;
  const int64_t dim_;
};

LegalityRule capacity(std::string name, const std::string& condition, std::string needs, int64_t available,
                      std::string message) {
  LegalityRule rule{std::move(name),  wire::ConstraintKind::Capacity, "", std::move(message),
                    std::move(needs), std::to_string(available)};
  rule.assertion = fmt::format("(=> {} (<= {} {}))", condition, rule.needs, rule.available);
  return rule;
}

}  // namespace

std::vector<LegalityRule> legality_rules(const Problem& problem, const Machine& machine,
                                         const Domains& domains) {
  const Terms terms(problem, machine);
  const int64_t dim = machine.dim, scratchpad = int64_t{machine.scratchpad_rows} * dim,
                accumulator = int64_t{machine.accumulator_rows} * dim * 4;
  const auto values_of = [&](Knob knob) -> const std::vector<int64_t>& {
    return domains[static_cast<size_t>(knob)];
  };
  const std::string primitives = "(not (= interface 2))", loop = "(= interface 2)";
  std::vector<LegalityRule> rules;
  rules.push_back(
      capacity("scratchpad_capacity", primitives, terms.scratchpad_bytes(), scratchpad,
               "scratchpad needs {needs:bytes}, has {available:bytes}: input of {tile_batch} x {tile_rows} "
               "x {tile_cols} outputs and {tile_k} channels, weights of {tile_k} x {tile_n} channels, "
               "buffering {buffering_a} and {buffering_b}"));
  rules.push_back(capacity("accumulator_capacity", primitives, terms.accumulator_bytes(), accumulator,
                           "accumulator needs {needs:bytes}, has {available:bytes}: {acc_buffering} tiles of "
                           "{tile_batch} x {tile_rows} x {tile_cols} pixels and {tile_n} channels"));
  if (values_of(Knob::kBankPlacement).size() > 1) {
    const std::string banks = "(= bank_placement 3)";
    rules.push_back(capacity(
        "a_bank_capacity", banks, terms.quarter_bytes(terms.a_slots(), terms.a_rows()), scratchpad / 4,
        "with bank_placement=copies half of the input's copies need {needs:bytes} in a quarter of "
        "the scratchpad of {available:bytes}"));
    rules.push_back(capacity(
        "b_bank_capacity", banks, terms.quarter_bytes(terms.b_slots(), terms.b_rows()), scratchpad / 4,
        "with bank_placement=copies half of the weights' copies need {needs:bytes} in a quarter "
        "of the scratchpad of {available:bytes}"));
  }
  const auto add = [&](std::string name, wire::ConstraintKind kind, std::string assertion,
                       std::string message) {
    rules.push_back({std::move(name), kind, std::move(assertion), std::move(message), "", ""});
  };
  add("deferred_store", wire::ConstraintKind::Dependency, "(=> (= store_schedule 2) (= acc_buffering 2))",
      "store_schedule=deferred keeps a finished tile while the next one is summed up: it needs "
      "acc_buffering=2");
  if (values_of(Knob::kTapsPerStep).size() > 1)
    add("taps_per_step", wire::ConstraintKind::Dependency,
        fmt::format("(=> (> taps_per_step 1) (and (= interface 1) (<= tile_k {})))", dim),
        "several taps of a step are neighbouring pixels of a patch: taps_per_step={taps_per_step} needs "
        "interface=direct and one block of channels in a tile, tile_k={tile_k}");
  if (values_of(Knob::kTapsPerStep).size() > 1)
    rules.push_back(
        capacity("repeated_pixels", "(> taps_per_step 1)", terms.a_bytes(), scratchpad / 2,
                 "loads that repeat pixels stay in one half: the input's copies need {needs:bytes}, half of "
                 "the scratchpad has {available:bytes}"));
  rules.push_back(
      capacity("block_stride", fmt::format("(and {} (> tile_k {}))", primitives, dim), terms.a_block_rows(),
               kMaxBlockStride,
               "blocks of input channels lie {needs} rows apart on chip, a load reaches {available}: "
               "{tile_batch} x {tile_rows} x {tile_cols} outputs"));
  const auto whole = [&](Knob knob, int64_t size) {
    if (values_of(knob).size() < 2) return;
    const std::string name(knob_name(knob));
    add(name, wire::ConstraintKind::Shape, fmt::format("(=> {} (= {} {}))", primitives, name, size),
        fmt::format("{0}={{{0}}} cuts the kernel, which loop_conv_ws alone can", name));
  };
  whole(Knob::kTileKernelCols, problem.cols.kernel);
  whole(Knob::kTileKernelRows, problem.rows.kernel);
  const auto blocks = [&](Knob knob) {
    const auto& values = values_of(knob);
    if (std::all_of(values.begin(), values.end(), [&](int64_t value) { return value % dim == 0; })) return;
    const std::string name(knob_name(knob));
    add(name + "_blocks", wire::ConstraintKind::Shape,
        fmt::format("(=> {} (= (mod {} {}) 0))", primitives, name, dim),
        fmt::format("{0}={{{0}}} is no multiple of {1} channels, which loop_conv_ws alone takes", name, dim));
  };
  blocks(Knob::kTileK);
  blocks(Knob::kTileN);
  if (values_of(Knob::kInterface).size() > 2) {
    rules.push_back(
        capacity("loop_scratchpad", loop, terms.loop_scratchpad_bytes(), scratchpad / 2,
                 "a loop_conv_ws tile needs {needs:bytes} in half of the scratchpad of {available:bytes}"));
    rules.push_back(
        capacity("loop_accumulator", loop, terms.loop_accumulator_bytes(), accumulator / 2,
                 "a loop_conv_ws tile needs {needs:bytes} in half of the accumulator of {available:bytes}"));
    std::string fixed = "(and";
    const Values first = to_values(Mapping{});
    for (const Knob knob :
         {Knob::kTapsPerStep, Knob::kBankPlacement, Knob::kAccBuffering, Knob::kBufferingA, Knob::kBufferingB,
          Knob::kLoadWidthA, Knob::kLoadWidthB, Knob::kStoreSchedule, Knob::kStoreWidth, Knob::kInnerOrder})
      fixed += fmt::format(" (= {} {})", knob_name(knob), first[static_cast<size_t>(knob)]);
    add("loop_decides", wire::ConstraintKind::Dependency, fmt::format("(=> {} {}))", loop, fixed),
        "loop_conv_ws places, moves and orders by itself: with interface=loop those knobs keep their first "
        "value");
  }
  return rules;
}

}  // namespace zomboss::gemmini::conv
