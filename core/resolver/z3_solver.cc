#include "core/resolver/z3_solver.h"

#include <z3++.h>

#include <algorithm>
#include <new>
#include <optional>

#include "core/mapping/term.h"

namespace zomboss::resolver {
namespace {

using mapping::Op;
using mapping::Term;
using mapping::TermNode;

constexpr unsigned kGuardMs = 30'000;

// A translated term and where it is defined (nothing: everywhere). `value` is arbitrary where it is
// undefined.
struct Translated {
  z3::expr value;
  std::optional<z3::expr> defined;
};

using MaybeExpr = std::optional<z3::expr>;

MaybeExpr both(const MaybeExpr& a, const MaybeExpr& b) {
  if (!a) return b;
  return b ? *a && *b : a;
}
z3::expr or_true(const MaybeExpr& defined, z3::context& context) {
  return defined ? *defined : context.bool_val(true);
}

class Translator {
 public:
  Translator(z3::context& context, const std::vector<z3::expr>& knobs) : context_(context), knobs_(knobs) {}

  // The assertion and its definedness, as one condition.
  z3::expr condition(const Term& term) {
    nodes_.clear();
    for (const TermNode& node : term.nodes) nodes_.push_back(translate(node));
    const Translated& root = nodes_.back();
    return root.defined ? root.value && *root.defined : root.value;
  }

 private:
  Translated translate(const TermNode& node) {
    switch (node.op) {
      case Op::kConstant:
        if (node.sort == mapping::Sort::kBool) return {context_.bool_val(node.value == 1), {}};
        return {context_.int_val(node.value), {}};
      case Op::kKnob:
        return {knobs_[static_cast<size_t>(node.value)], {}};
      case Op::kAbs: {
        const Translated& a = nodes_[node.a];
        return {z3::ite(a.value >= 0, a.value, -a.value), a.defined};
      }
      case Op::kNot:
        return {!nodes_[node.a].value, nodes_[node.a].defined};
      case Op::kAnd:
      case Op::kOr:
        return decide(node);
      case Op::kIf:
        return choose(node);
      default:
        return strict(node);
    }
  }

  Translated strict(const TermNode& node) {
    const Translated& a = nodes_[node.a];
    const Translated& b = nodes_[node.b];
    MaybeExpr defined = both(a.defined, b.defined);
    if ((node.op == Op::kDivide || node.op == Op::kModulo) && !is_nonzero(b.value)) {
      defined = both(defined, b.value != 0);
    }
    return {strict_value(node.op, a.value, b.value), defined};
  }

  static bool is_nonzero(const z3::expr& value) {
    int64_t number = 0;
    return value.is_numeral_i64(number) && number != 0;
  }

  static z3::expr strict_value(Op op, const z3::expr& a, const z3::expr& b) {
    switch (op) {
      case Op::kAdd:
        return a + b;
      case Op::kSubtract:
        return a - b;
      case Op::kMultiply:
        return a * b;
      case Op::kDivide:
        return a / b;
      case Op::kModulo:
        return z3::mod(a, b);
      case Op::kLess:
        return a < b;
      case Op::kLessEqual:
        return a <= b;
      default:
        return a == b;
    }
  }

  // and, or: defined when both are, or when a defined one decides alone.
  Translated decide(const TermNode& node) {
    const Translated& a = nodes_[node.a];
    const Translated& b = nodes_[node.b];
    const bool is_and = node.op == Op::kAnd;
    const z3::expr value = is_and ? a.value && b.value : a.value || b.value;
    if (!a.defined && !b.defined) return {value, {}};
    const z3::expr da = or_true(a.defined, context_), db = or_true(b.defined, context_);
    const z3::expr a_decides = is_and ? !a.value : a.value;
    const z3::expr b_decides = is_and ? !b.value : b.value;
    const z3::expr defined = (da && db) || (da && a_decides) || (db && b_decides);
    // An undefined operand must not spoil a decided value.
    const z3::expr safe =
        is_and ? !(da && a_decides) && !(db && b_decides) : (da && a_decides) || (db && b_decides);
    return {safe, defined};
  }

  Translated choose(const TermNode& node) {
    const Translated& condition = nodes_[node.a];
    const Translated& yes = nodes_[node.b];
    const Translated& no = nodes_[node.c];
    MaybeExpr defined = condition.defined;
    if (yes.defined || no.defined) {
      defined = both(defined,
                     z3::ite(condition.value, or_true(yes.defined, context_), or_true(no.defined, context_)));
    }
    return {z3::ite(condition.value, yes.value, no.value), defined};
  }

  z3::context& context_;
  const std::vector<z3::expr>& knobs_;
  std::vector<Translated> nodes_;
};

}  // namespace

class Z3Solver::Impl {
 public:
  Impl(const mapping::Surface& surface, unsigned resources)
      : surface_(surface), solver_(context_), catalog_(context_.bool_const("catalog")) {
    z3::params params(context_);
    params.set("rlimit", resources);
    params.set("timeout", kGuardMs);
    params.set("random_seed", 0u);
    solver_.set(params);
    for (size_t k = 0; k < surface.knobs().size(); ++k) {
      knobs_.push_back(context_.int_const(("k" + std::to_string(k)).c_str()));
      z3::expr_vector options(context_);
      for (int64_t value : surface.knob(k).values) options.push_back(knobs_[k] == number(value));
      solver_.add(z3::mk_or(options));
    }
    Translator translator(context_, knobs_);
    for (size_t c = 0; c < surface.constraints().size(); ++c) {
      literals_.push_back(context_.bool_const(("c" + std::to_string(c)).c_str()));
      solver_.add(z3::implies(literals_[c], translator.condition(surface.constraints()[c].assertion)));
    }
    if (surface.is_catalog()) add_catalog();
  }

  Verdict check(const Question& question, uint64_t& left, std::string* reason) {
    if (left == 0) {
      *reason = "the allowance is spent";
      return Verdict::kUnknown;
    }
    solver_.push();
    const Verdict verdict = check_inside(question, reason);
    left -= std::min<uint64_t>(left, last_cost());
    solver_.pop();
    return verdict;
  }

  Verdict first(const Question& question, Positions* found, uint64_t& left, std::string* reason) {
    Question narrowed = question;
    Verdict verdict = check(narrowed, left, reason);
    if (verdict != Verdict::kLegal) return verdict;
    for (size_t k = 0; k < narrowed.fixed.size(); ++k) {
      if (narrowed.fixed[k] != Question::kFree) continue;
      // The last model proves its own position possible; earlier ones must be asked for.
      const int32_t possible = model_[k];
      narrowed.fixed[k] = 0;
      while (narrowed.fixed[k] < possible) {
        verdict = check(narrowed, left, reason);
        if (verdict == Verdict::kUnknown) return verdict;
        if (verdict == Verdict::kLegal) break;
        ++narrowed.fixed[k];
      }
    }
    found->clear();
    for (int32_t position : narrowed.fixed) found->push_back(static_cast<uint16_t>(position));
    return Verdict::kLegal;
  }

 private:
  z3::expr number(int64_t value) { return context_.int_val(value); }

  void add_catalog() {
    z3::expr_vector rows(context_);
    for (size_t r = 0; r < surface_.row_count(); ++r) {
      z3::expr_vector cells(context_);
      for (size_t k = 0; k < knobs_.size(); ++k) {
        cells.push_back(knobs_[k] == number(surface_.knob(k).values[surface_.row(r)[k]]));
      }
      rows.push_back(z3::mk_and(cells));
    }
    solver_.add(z3::implies(catalog_, z3::mk_or(rows)));
  }

  Verdict check_inside(const Question& question, std::string* reason) {
    for (size_t k = 0; k < knobs_.size(); ++k) {
      if (question.fixed[k] == Question::kFree) continue;
      solver_.add(knobs_[k] == number(surface_.knob(k).values[static_cast<size_t>(question.fixed[k])]));
    }
    z3::expr_vector assumptions(context_);
    for (size_t c = 0; c < literals_.size(); ++c) {
      if (question.constraints[c] != 0) assumptions.push_back(literals_[c]);
    }
    if (question.catalog) assumptions.push_back(catalog_);
    const z3::check_result result = solver_.check(assumptions);
    if (result == z3::unsat) return Verdict::kIllegal;
    if (result == z3::unknown) {
      *reason = solver_.reason_unknown();
      return Verdict::kUnknown;
    }
    read_model();
    return Verdict::kLegal;
  }

  // Of the last check, in resource units. At least 1, so that a series of checks always ends.
  uint64_t last_cost() {
    uint64_t count = 0;
    const z3::stats statistics = solver_.statistics();
    for (unsigned i = 0; i < statistics.size(); ++i) {
      if (statistics.key(i) == "rlimit count" && statistics.is_uint(i)) count = statistics.uint_value(i);
    }
    const uint64_t cost = count >= counted_ ? count - counted_ : count;
    counted_ = count;
    return std::max<uint64_t>(cost, 1);
  }

  void read_model() {
    const z3::model model = solver_.get_model();
    model_.clear();
    for (size_t k = 0; k < knobs_.size(); ++k) {
      int64_t value = 0;
      const bool numeral = model.eval(knobs_[k], true).is_numeral_i64(value);
      const auto position = surface_.knob(k).index_of(value);
      if (!numeral || !position) throw z3::exception("a model outside the domains");
      model_.push_back(static_cast<uint16_t>(*position));
    }
  }

  const mapping::Surface& surface_;
  z3::context context_;
  z3::solver solver_;
  z3::expr catalog_;
  std::vector<z3::expr> knobs_;
  std::vector<z3::expr> literals_;
  Positions model_;  // of the last kLegal
  uint64_t counted_ = 0;
};

Z3Solver::Z3Solver(const mapping::Surface& surface, unsigned resources)
    : surface_(surface), resources_(resources) {}
Z3Solver::~Z3Solver() = default;

// Builds the solver when it is first needed. After an exception its assertion stack is in doubt, so it is
// thrown away.
template <typename F>
Verdict Z3Solver::guarded(F ask) {
  try {
    if (impl_ == nullptr) impl_ = std::make_unique<Impl>(surface_, resources_);
    return ask(*impl_);
  } catch (const z3::exception& exception) {
    reason_ = exception.msg();
  } catch (const std::bad_alloc&) {
    reason_ = "out of memory";
  }
  impl_.reset();
  return Verdict::kUnknown;
}

Verdict Z3Solver::first(const Question& question, Positions* found, uint64_t& left) {
  return guarded([&](Impl& impl) { return impl.first(question, found, left, &reason_); });
}

}  // namespace zomboss::resolver
