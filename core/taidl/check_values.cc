#include <fmt/format.h>

#include <algorithm>

#include "core/taidl/check_context.h"

namespace zomboss::taidl {
namespace {

constexpr uint64_t kLimit = 4096;
constexpr int64_t kWordBits = 64;

class ValueCheck {
 public:
  explicit ValueCheck(InstrContext& context) : c_(context) {}

  void run(const std::vector<Clause>& clauses, const std::vector<Condition>& outer) {
    std::vector<Condition> before =
        outer;  // requirements in the order of the text: each may rely on those above
    for (const Clause& clause : clauses) {
      if (clause.kind != ClauseKind::kRequires) continue;
      requirement(clause, before);
      before.push_back({&*clause.expr, true});
    }
    for (size_t i = 0; i < clauses.size();) {
      if (clauses[i].kind != ClauseKind::kWhen) {
        check(clauses[i++], before);
        continue;
      }
      const BranchGroup group = branch_group(clauses, i);
      for (; i < group.end; ++i) {
        std::vector<Condition> conditions = before;
        for (const Condition& condition : branch_conditions(group, clauses[i]))
          conditions.push_back(condition);
        run(clauses[i].body, conditions);
      }
    }
  }

 private:
  using Test = std::function<std::string(int64_t)>;  // "" or what is wrong with a value

  // Tries the values of `expr`; reports the first error or failed test. True when some value was nonzero.
  bool try_values(const Expr& expr, const std::vector<Condition>& conditions, const Test& test, bool* proof) {
    std::vector<std::string> names;
    collect_value_names(expr, names);
    const std::vector<std::string> own = names;
    std::vector<Condition> limits = {{&expr, std::nullopt}};
    for (const Condition& condition : conditions) {
      std::vector<std::string> others;
      collect_value_names(*condition.expr, others);
      if (std::find_first_of(others.begin(), others.end(), own.begin(), own.end()) == others.end()) continue;
      collect_value_names(*condition.expr, names);
      limits.push_back(condition);
    }
    const Assignments assignments(c_.model, c_.instr, names, limits, kLimit);
    if (proof != nullptr) *proof = assignments.exhaustive();
    bool nonzero = false;
    assignments.for_each([&](const Env& env) {
      const Value value = evaluate(expr, env);
      std::string wrong = value.failed() ? value.message : value.known() ? test(value.number) : "";
      nonzero |= !value.known() || value.number != 0;
      if (wrong.empty()) return true;
      const std::string example = show_assignment(env, own);
      c_.error(value.failed() ? value.where : expr.where,
               example.empty() ? wrong : fmt::format("{} for {}", wrong, example));
      nonzero = true;
      return false;
    });
    return nonzero;
  }

  void at_least_zero(const Expr& expr, std::string_view what, const std::vector<Condition>& conditions) {
    const Test test = [&](int64_t value) {
      return value < 0 ? fmt::format("{} is {}, expected at least 0", what, value) : std::string();
    };
    try_values(expr, conditions, test, nullptr);
  }

  void requirement(const Clause& clause, const std::vector<Condition>& before) {
    bool proof = false;
    const bool possible = try_values(
        *clause.expr, before, [](int64_t) { return std::string(); }, &proof);
    if (!possible && proof)
      c_.error(clause.expr->where, fmt::format("the requirement '{}' never holds", shown(*clause.expr)),
               "no value of the domains meets it together with those above");
  }

  void check(const Clause& clause, const std::vector<Condition>& conditions) {
    switch (clause.kind) {
      case ClauseKind::kRead:
      case ClauseKind::kWrite:
      case ClauseKind::kUpdate:
        if (clause.slice.start) at_least_zero(*clause.slice.start, "the start of the slice", conditions);
        if (clause.slice.stride) at_least_zero(*clause.slice.stride, "the stride of the slice", conditions);
        return;
      case ClauseKind::kSets:
        return sets(clause, conditions);
      case ClauseKind::kCost:
        return at_least_zero(*clause.expr, "the cost", conditions);
      case ClauseKind::kEncode:
        return encode(clause, conditions);
      default:
        return;
    }
  }

  void sets(const Clause& clause, const std::vector<Condition>& conditions) {
    const State* state = c_.model.find_state(clause.name.text);
    if (state->shape) return;
    const Test test = [&](int64_t value) {
      return state->domain.contains(value)
                 ? std::string()
                 : fmt::format("state {} becomes {}, outside of its domain", state->name, value);
    };
    try_values(*clause.expr, conditions, test, nullptr);
  }

  void encode(const Clause& clause, const std::vector<Condition>& conditions) {
    std::map<std::string, uint64_t> used;
    for (const Field& field : clause.fields) {
      const Value high = evaluate(field.high, {}), low = evaluate(field.low, {});
      if (!high.known() || !low.known()) {
        c_.error(field.high.where, "bit numbers must be constant");
        continue;
      }
      if (low.number < 0 || high.number < low.number || high.number >= kWordBits) {
        c_.error(field.high.where,
                 fmt::format("bits [{}:{}], expected 63 >= high >= low >= 0", high.number, low.number));
        continue;
      }
      const int64_t width = high.number - low.number + 1;
      const uint64_t ones = width == kWordBits ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
      const uint64_t mask = ones << low.number;
      uint64_t& taken = used[field.word.text];
      if ((taken & mask) != 0)
        c_.error(field.word.where, fmt::format("bits [{}:{}] of {} overlap an earlier field", high.number,
                                               low.number, field.word.text));
      taken |= mask;
      fits(field, ones, width, conditions);
    }
  }

  void fits(const Field& field, uint64_t ones, int64_t width, const std::vector<Condition>& conditions) {
    // A full word takes any 64-bit pattern.
    const Test test = [&](int64_t value) {
      const bool ok = width == kWordBits || (value >= 0 && static_cast<uint64_t>(value) <= ones);
      return ok ? std::string() : fmt::format("the value {} does not fit in {} bits", value, width);
    };
    try_values(field.value, conditions, test, nullptr);
  }

  InstrContext& c_;
};

}  // namespace

void check_values(InstrContext& context) {
  ValueCheck(context).run(context.instr.clauses, {});
}

}  // namespace zomboss::taidl
