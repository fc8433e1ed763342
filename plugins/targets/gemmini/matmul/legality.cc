#include <fmt/format.h>

#include "plugins/targets/gemmini/matmul/surface.h"

namespace zomboss::gemmini {
namespace {

// SMT-LIB terms for one form, joined over the forms at the end.
class Terms {
 public:
  Terms(const Form& form, const Machine& machine) : form_(form), dim_(machine.dim) {}

  std::string a_slots() const { return slots("tile_m", form_.m, "tile_k", form_.k); }
  std::string b_slots() const { return slots("tile_k", form_.k, "tile_n", form_.n); }

  std::string scratchpad_bytes() const {
    return fmt::format("(* batch_regions (+ (* {} tile_m tile_k) (* {} tile_k tile_n)))", a_slots(),
                       b_slots());
  }
  // Of the fuller bank: half of the block rows, rounded up.
  std::string a_quarter_bytes() const {
    return quarter(a_slots(), form_.a_transposed ? "tile_k" : "tile_m",
                   form_.a_transposed ? "tile_m" : "tile_k");
  }
  std::string b_quarter_bytes() const {
    return quarter(b_slots(), form_.b_transposed ? "tile_n" : "tile_k",
                   form_.b_transposed ? "tile_k" : "tile_n");
  }
  // A wider load than the tile or a run has would be the same as the next narrower one.
  std::string width(const char* knob, const char* tile, const Axis& columns) const {
    return fmt::format("(or (= {0} 1) (and (< (* (div {0} 2) {1}) {2}) (< (div {0} 2) {3})))", knob, dim_,
                       tile, columns.blocks_per_run());
  }
  std::string width_a() const {
    return width("load_width_a", form_.a_transposed ? "tile_m" : "tile_k",
                 form_.a_transposed ? form_.m : form_.k);
  }
  std::string width_b() const {
    return width("load_width_b", form_.b_transposed ? "tile_k" : "tile_n",
                 form_.b_transposed ? form_.k : form_.n);
  }
  // The tile is one of the cuts of this form.
  std::string tile(const char* knob, const Axis& axis, const std::vector<int64_t>& domain) const {
    std::string result = "(or false";
    for (int64_t value : domain) {
      bool cut = false;
      for (int64_t size = axis.blocks();; size = ceil_div(size, 2)) {
        cut = cut || size * dim_ == value;
        if (size == 1) break;
      }
      if (cut) result += fmt::format(" (= {} {})", knob, value);
    }
    return result + ")";
  }

 private:
  std::string tiles(const char* knob, const Axis& axis) const {
    return fmt::format("(div (+ {} (- {} 1)) {})", axis.blocks() * dim_, knob, knob);
  }
  std::string slots(const char* x, const Axis& along_x, const char* y, const Axis& along_y) const {
    return fmt::format("(ite (= buffering 2) (* {} {}) (+ 1 buffering))", tiles(x, along_x),
                       tiles(y, along_y));
  }
  std::string quarter(const std::string& slots, const char* rows, const char* cols) const {
    return fmt::format(
        "(ite (= bank_placement 2) (* (div (+ (* batch_regions {0}) 1) 2) {1} {2}) "
        "(* batch_regions {0} {3} (div (+ {1} {3}) {4}) {2}))",
        slots, rows, cols, dim_, 2 * dim_);
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

}  // namespace

std::vector<LegalityRule> legality_rules(const Problem& problem, const Machine& machine,
                                         const Domains& domains) {
  const auto form_term = [&](auto term) { return by_form(problem, machine, term); };
  const int64_t scratchpad = int64_t{machine.scratchpad_rows} * machine.dim;
  std::vector<LegalityRule> rules;
  rules.push_back(capacity("scratchpad_capacity", "",
                           form_term([](const Terms& t, const Form&) { return t.scratchpad_bytes(); }),
                           scratchpad,
                           "scratchpad needs {needs:bytes}, has {available:bytes}: A tiles of {tile_m} x "
                           "{tile_k} and B tiles of {tile_k} x "
                           "{tile_n}, buffering {buffering}, {batch_regions} batch regions"));
  rules.push_back(capacity(
      "accumulator_capacity", "", "(* 4 batch_regions acc_buffering tile_m tile_n)",
      int64_t{machine.accumulator_rows} * machine.dim * 4,
      "accumulator needs {needs:bytes}, has {available:bytes}: tile_m={tile_m} x tile_n={tile_n} x 4 "
      "bytes, {acc_buffering} of them in each of {batch_regions} batch regions"));
  if (domains[static_cast<size_t>(Knob::kBankPlacement)].size() > 1) {
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
  add("deferred_store", wire::ConstraintKind::Dependency, "(=> (= store_schedule 3) (= acc_buffering 2))",
      "store_schedule=deferred keeps a finished tile while the next one is summed up: it needs "
      "acc_buffering=2");
  if (problem.forms.size() > 1) {
    for (Knob knob : {Knob::kTileK, Knob::kTileM, Knob::kTileN}) {
      const std::string name(knob_name(knob));
      add(name + "_cut", wire::ConstraintKind::Shape, form_term([&](const Terms& t, const Form& form) {
            return t.tile(name.c_str(),
                          knob == Knob::kTileM   ? form.m
                          : knob == Knob::kTileN ? form.n
                                                 : form.k,
                          domains[static_cast<size_t>(knob)]);
          }),
          fmt::format("{0}={{{0}}} is no balanced cut in this orientation", name));
    }
  }
  return rules;
}

bool is_legal(const Problem& problem, const Machine& machine, const Mapping& mapping) {
  const Form& form = problem.forms[mapping.orientation];
  const auto is_cut = [](int64_t tile, const Axis& axis) {
    for (int64_t size = axis.blocks(); size > 1; size = ceil_div(size, 2))
      if (size == tile) return true;
    return tile == 1;
  };
  if (!is_cut(mapping.tile_m, form.m) || !is_cut(mapping.tile_n, form.n) || !is_cut(mapping.tile_k, form.k))
    return false;
  const auto useful = [](uint32_t width, int64_t tile, const Axis& columns) {
    return width == 1 || (width / 2 < tile && width / 2 < columns.blocks_per_run());
  };
  if (!useful(mapping.load_width_a, form.a_transposed ? mapping.tile_m : mapping.tile_k,
              form.a_transposed ? form.m : form.k) ||
      !useful(mapping.load_width_b, form.b_transposed ? mapping.tile_k : mapping.tile_n,
              form.b_transposed ? form.k : form.n))
    return false;
  if (mapping.store_schedule == StoreSchedule::kDeferred && mapping.acc_buffers != 2) return false;
  return check_capacity(mapping, form, machine).ok();
}

}  // namespace zomboss::gemmini
