#include <fmt/format.h>

#include <algorithm>

#include "plugins/targets/gemmini/matmul/surface.h"

namespace zomboss::gemmini {
namespace {

// SMT-LIB terms for one form, joined over the forms at the end.
class Terms {
 public:
  Terms(const Form& form, const Machine& machine) : form_(form), dim_(machine.dim) {}

  std::string a_tiles() const { return tiles("tile_m", form_.m, "tile_k", form_.k); }
  std::string b_tiles() const { return tiles("tile_k", form_.k, "tile_n", form_.n); }
  std::string a_slots() const { return slots("buffering_a", a_tiles()); }
  std::string b_slots() const { return slots("buffering_b", b_tiles()); }

  std::string scratchpad_bytes() const {
    return fmt::format("(* batch_regions (+ (* {} tile_m tile_k) (* {} tile_k tile_n)))", a_slots(),
                       b_slots());
  }
  // Of the fuller quarter.
  std::string a_quarter_bytes() const {
    return quarter(a_slots(), form_.a_transposed ? "tile_k" : "tile_m",
                   form_.a_transposed ? "tile_m" : "tile_k", "load_width_a");
  }
  std::string b_quarter_bytes() const {
    return quarter(b_slots(), form_.b_transposed ? "tile_n" : "tile_k",
                   form_.b_transposed ? "tile_k" : "tile_n", "load_width_b");
  }
  // A wider move than the tile or a run has would be the same as the next narrower one. Folded rows count
  // together.
  std::string width(const char* knob, const char* tile, const Axis& columns, int64_t fold) const {
    return fmt::format("(or (= {0} 1) (and (< (* (div {0} 2) {1}) (* {4} {2})) (< (div {0} 2) {3})))", knob,
                       dim_, tile, fold * columns.blocks_per_run(), fold);
  }
  std::string width_a() const {
    return width("load_width_a", form_.a_transposed ? "tile_m" : "tile_k",
                 form_.a_transposed ? form_.m : form_.k, form_.fold);
  }
  std::string store_width() const { return width("store_width", "tile_n", form_.n, form_.fold); }
  std::string width_b() const {
    return width("load_width_b", form_.b_transposed ? "tile_k" : "tile_n",
                 form_.b_transposed ? form_.k : form_.n, 1);
  }
  // The tile is one of the cuts of this form.
  std::string tile(Knob knob, const std::vector<int64_t>& cuts) const {
    std::string result = "(or false";
    for (int64_t blocks : cuts) result += fmt::format(" (= {} {})", knob_name(knob), blocks * dim_);
    return result + ")";
  }

 private:
  static std::string cuts(const char* knob, const Axis& axis) {
    return fmt::format("(div (+ {} (- {} 1)) {})", axis.blocks() * axis.dim, knob, knob);
  }
  static std::string tiles(const char* x, const Axis& along_x, const char* y, const Axis& along_y) {
    return fmt::format("(* {} {})", cuts(x, along_x), cuts(y, along_y));
  }
  static std::string slots(const char* buffering, const std::string& tiles) {
    return fmt::format("(ite (= {0} 2) {1} (+ 1 {0}))", buffering, tiles);
  }
  // By bank_placement: copies, loads, rows.
  std::string quarter(const std::string& slots, const char* rows, const char* cols, const char* width) const {
    return fmt::format(
        "(ite (= bank_placement 3) (* (div (+ (* batch_regions {0}) 1) 2) {1} {2}) (ite (= bank_placement 2) "
        "(* batch_regions {0} {6} {5} (div (+ (div (+ (* (div {1} {3}) (div {2} {3})) (- {5} 1)) {5}) 1) 2)) "
        "(* batch_regions {0} {3} (div (+ {1} {3}) {4}) {2})))",
        slots, rows, cols, dim_, 2 * dim_, width, dim_ * dim_);
  }

  const Form& form_;
  int64_t dim_;
};

// The term of the form that the plan chooses.
template <typename Function>
std::string by_form(const Problem& problem, const Machine& machine, Function term) {
  std::string result = term(Terms(problem.forms.back(), machine), problem.forms.back());
  for (size_t i = problem.forms.size() - 1; i-- > 0;)
    result = fmt::format("(ite (= orientation {}) {} {})", i,
                         term(Terms(problem.forms[i], machine), problem.forms[i]), result);
  return result;
}

LegalityRule capacity(std::string name, std::string condition, std::string needs, int64_t available,
                      std::string message) {
  LegalityRule rule{std::move(name),  wire::ConstraintKind::Capacity, "", std::move(message),
                    std::move(needs), std::to_string(available)};
  rule.assertion = fmt::format("(<= {} {})", rule.needs, rule.available);
  if (!condition.empty()) rule.assertion = fmt::format("(=> {} {})", condition, rule.assertion);
  return rule;
}

// What loop_ws leaves open: tiles, orders, fences, and whether an operand stays on chip from run to run.
void add_loop_rules(const Problem& problem, const Machine& machine, std::vector<LegalityRule>& rules) {
  const auto form_term = [&](auto term) { return by_form(problem, machine, term); };
  const auto add = [&](std::string name, std::string needed, std::string message) {
    rules.push_back({std::move(name), wire::ConstraintKind::Dependency,
                     fmt::format("(=> (= interface 1) {})", needed), std::move(message), "", ""});
  };
  add("loop_form", form_term([](const Terms&, const Form& form) {
        return std::string(form.suits_loops() ? "true" : "false");
      }),
      "interface=loop_ws walks each dimension with one stride; this orientation needs several");
  add("loop_choices",
      "(and (= dataflow 0) (= batch_regions 1) (= bank_placement 0) (= acc_buffering 2) (>= buffering_a 1) "
      "(>= buffering_b 1) (= load_order 0) (= load_width_a 1) (= load_width_b 1) (= store_schedule 0) "
      "(= store_width 1) (= inner_order 0))",
      "with interface=loop_ws the hardware places, orders and widens moves itself: it goes with "
      "dataflow=weight_stationary, batch_regions=1, bank_placement=ends, acc_buffering=2, buffering double "
      "or "
      "resident, and the first value of load_order, load_width_a, load_width_b, store_schedule, store_width "
      "and "
      "inner_order");
  const int64_t half = int64_t{machine.loop_scratchpad_rows()} * machine.dim;
  rules.push_back(
      capacity("loop_scratchpad", "(= interface 1)", "(* tile_k (+ tile_m tile_n))", half,
               "one loop_ws run needs {needs:bytes} of scratchpad, half of it has {available:bytes}"));
  rules.push_back(
      capacity("loop_accumulator", "(= interface 1)", "(* 4 tile_m tile_n)",
               int64_t{machine.loop_accumulator_rows()} * machine.dim * 4,
               "one loop_ws run needs {needs:bytes} of accumulator, half of it has {available:bytes}"));
  add("loop_resident_a", form_term([](const Terms& t, const Form&) {
        return fmt::format("(=> (= buffering_a 2) (<= {} 2))", t.a_tiles());
      }),
      "loop_ws keeps at most two tiles of A on chip: buffering_a=resident needs larger tiles");
  add("loop_resident_b", form_term([](const Terms& t, const Form&) {
        return fmt::format("(=> (= buffering_b 2) (<= {} 2))", t.b_tiles());
      }),
      "loop_ws keeps at most two tiles of B on chip: buffering_b=resident needs larger tiles");
  if (problem.forms.front().batches.size() > 1) {
    add("loop_batches", "(=> (or (= buffering_a 2) (= buffering_b 2)) (= fence 1))",
        "loop_ws runs that force the same half of the scratchpad need a fence between them: a resident "
        "operand "
        "needs fence=batch");
  }
}

}  // namespace

namespace {

bool is_legal_loop(const Mapping& mapping, const Form& form) {
  Mapping open = as_loop(mapping);
  open.buffering_a = mapping.buffering_a;
  open.buffering_b = mapping.buffering_b;
  if (!form.suits_loops() || mapping != open) return false;
  const Footprint needs = footprint(mapping, form);
  const bool a = mapping.buffering_a == Buffering::kResident, b = mapping.buffering_b == Buffering::kResident;
  if (mapping.buffering_a == Buffering::kSingle || mapping.buffering_b == Buffering::kSingle) return false;
  if (a && needs.tiles_m * needs.tiles_k > 2) return false;
  if (b && needs.tiles_n * needs.tiles_k > 2) return false;
  return !((a || b) && form.batches.size() > 1 && mapping.fence == FencePolicy::kOnce);
}

}  // namespace

bool allows_output_stationary(const Form& form) {
  // One step of the longest contraction with the largest products must stay below 2^19.
  return !form.b_transposed && int64_t{form.k.dim} * 128 * 128 < (int64_t{1} << 19);
}

std::vector<LegalityRule> legality_rules(const Problem& problem, const Machine& machine,
                                         const Domains& domains) {
  const auto form_term = [&](auto term) { return by_form(problem, machine, term); };
  const int64_t scratchpad = int64_t{machine.scratchpad_rows} * machine.dim;
  std::vector<LegalityRule> rules;
  rules.push_back(
      capacity("scratchpad_capacity", "",
               form_term([](const Terms& t, const Form&) { return t.scratchpad_bytes(); }), scratchpad,
               "scratchpad needs {needs:bytes}, has {available:bytes}: A tiles of {tile_m} x "
               "{tile_k} and B tiles of {tile_k} x "
               "{tile_n}, buffering {buffering_a} and {buffering_b}, {batch_regions} batch regions"));
  rules.push_back(capacity(
      "accumulator_capacity", "", "(* 4 batch_regions acc_buffering tile_m tile_n)",
      int64_t{machine.accumulator_rows} * machine.dim * 4,
      "accumulator needs {needs:bytes}, has {available:bytes}: tile_m={tile_m} x tile_n={tile_n} x 4 "
      "bytes, {acc_buffering} of them in each of {batch_regions} batch regions"));
  const auto has = [&](Knob knob) { return domains[knob].size() > 1; };
  if (has(Knob::kBankPlacement)) {
    const std::string banks = "(not (= bank_placement 0))";
    rules.push_back(
        capacity("a_bank_capacity", banks,
                 form_term([](const Terms& t, const Form&) { return t.a_quarter_bytes(); }), scratchpad / 4,
                 "with this bank_placement each half of A needs {needs:bytes} in its quarter of the "
                 "scratchpad of {available:bytes}: tiles of {tile_m} x {tile_k}"));
    rules.push_back(
        capacity("b_bank_capacity", banks,
                 form_term([](const Terms& t, const Form&) { return t.b_quarter_bytes(); }), scratchpad / 4,
                 "with this bank_placement each half of B needs {needs:bytes} in its quarter of the "
                 "scratchpad of {available:bytes}: tiles of {tile_k} x {tile_n}"));
  }
  const auto add = [&](std::string name, wire::ConstraintKind kind, std::string assertion,
                       std::string message) {
    rules.push_back({std::move(name), kind, std::move(assertion), std::move(message), "", ""});
  };
  add("load_width_a", wire::ConstraintKind::Shape,
      form_term([](const Terms& t, const Form&) { return t.width_a(); }),
      "load_width_a={load_width_a} blocks is wider than the tile of A has, {tile_m} x {tile_k}; take a "
      "narrower load");
  add("load_width_b", wire::ConstraintKind::Shape,
      form_term([](const Terms& t, const Form&) { return t.width_b(); }),
      "load_width_b={load_width_b} blocks is wider than the tile of B has, {tile_k} x {tile_n}; take a "
      "narrower load");
  add("store_width", wire::ConstraintKind::Shape,
      form_term([](const Terms& t, const Form&) { return t.store_width(); }),
      "store_width={store_width} blocks is wider than the tile of C has, {tile_m} x {tile_n}; take a "
      "narrower store");
  add("deferred_store", wire::ConstraintKind::Dependency, "(=> (= store_schedule 2) (= acc_buffering 2))",
      "store_schedule=deferred keeps a finished tile while the next one is summed up: it needs "
      "acc_buffering=2");
  if (has(Knob::kDataflow)) {
    add("output_stationary", wire::ConstraintKind::Dependency, form_term([](const Terms&, const Form& form) {
          return std::string(allows_output_stationary(form) ? "true" : "(= dataflow 0)");
        }),
        "with dataflow=output_stationary the array takes no transposed B; use the other orientation");
  }
  if (has(Knob::kFence)) {
    add("batch_fence", wire::ConstraintKind::Dependency, "(=> (= fence 1) (= batch_regions 1))",
        "fence=batch waits after each batch: it needs batch_regions=1");
  }
  if (has(Knob::kInterface)) add_loop_rules(problem, machine, rules);
  if (problem.forms.size() > 1) {
    for (Knob knob : {Knob::kTileK, Knob::kTileM, Knob::kTileN}) {
      add(fmt::format("{}_cut", knob_name(knob)), wire::ConstraintKind::Shape,
          form_term([&](const Terms& t, const Form& form) {
            const Domains::Cuts& cuts = domains.cuts[static_cast<size_t>(&form - problem.forms.data())];
            return t.tile(knob, knob == Knob::kTileM ? cuts.m : knob == Knob::kTileN ? cuts.n : cuts.k);
          }),
          fmt::format("{0}={{{0}}} is no balanced cut in this orientation", knob_name(knob)));
    }
  }
  return rules;
}

bool is_legal(const Problem& problem, const Machine& machine, const Domains& domains,
              const Mapping& mapping) {
  const Form& form = problem.forms[mapping.orientation];
  const Domains::Cuts& cuts = domains.cuts[mapping.orientation];
  const auto is_cut = [](int64_t tile, const std::vector<int64_t>& sizes) {
    return std::binary_search(sizes.begin(), sizes.end(), tile);
  };
  if (!is_cut(mapping.tile_m, cuts.m) || !is_cut(mapping.tile_n, cuts.n) || !is_cut(mapping.tile_k, cuts.k))
    return false;
  const auto useful = [](uint32_t width, int64_t tile, const Axis& columns, int64_t fold) {
    return width == 1 || (width / 2 < fold * tile && width / 2 < fold * columns.blocks_per_run());
  };
  if (!useful(mapping.load_width_a, form.a_transposed ? mapping.tile_m : mapping.tile_k,
              form.a_transposed ? form.m : form.k, form.fold) ||
      !useful(mapping.load_width_b, form.b_transposed ? mapping.tile_k : mapping.tile_n,
              form.b_transposed ? form.k : form.n, 1) ||
      !useful(mapping.store_width, mapping.tile_n, form.n, form.fold))
    return false;
  if (mapping.store_schedule == StoreSchedule::kDeferred && mapping.acc_buffers != 2) return false;
  if (mapping.dataflow == ArrayDataflow::kOutputStationary && !allows_output_stationary(form)) return false;
  if (mapping.fence == FencePolicy::kBatch && (mapping.batch_regions != 1 || form.batches.size() == 1))
    return false;
  if (mapping.interface == Interface::kLoopWs && !is_legal_loop(mapping, form)) return false;
  return check_capacity(mapping, form, machine).ok();
}

}  // namespace zomboss::gemmini
