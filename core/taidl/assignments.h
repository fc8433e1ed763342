// The values for which an instruction's expressions are tried: all of them when few, otherwise chosen ones.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/taidl/model.h"

namespace zomboss::taidl {

// A condition that holds (or does not) on a branch; without `holds` it limits nothing, but the numbers in it
// are edges that are worth a try.
struct Condition {
  const Expr* expr;
  std::optional<bool> holds;
};

// Whether the known conditions agree with an assignment. Conditions without a value there do not exclude it.
bool admits(const std::vector<Condition>& conditions, const Env& env);

// Of an operand or an integer state; null for every other name.
const Domain* variable_domain(const Model& model, const Instr& instr, std::string_view name);

// Numbers written in an expression; the edges of conditions are tried with their neighbours.
void collect_numbers(const Expr& expr, std::vector<int64_t>& numbers);

class Assignments {
 public:
  // `names` without a domain are ignored. All combinations when there are at most `limit`. Otherwise small
  // domains in full as far as they fit, and of the others the ends, the middle and the numbers in
  // `conditions` with their neighbours; then limit/16 (at most 256) pseudo-random combinations, always the
  // same. Values that a condition on one variable alone excludes are left out. Unbounded integers stand for
  // +-2^40.
  Assignments(const Model& model, const Instr& instr, const std::vector<std::string>& names,
              const std::vector<Condition>& conditions, uint64_t limit);

  // Every combination of values that the conditions allow is visited.
  bool exhaustive() const { return exhaustive_; }
  // Until `visit` returns false. `env` holds a value of each variable and contradicts no condition. A
  // condition with a name that is not among `names` limits nothing, except for the parts of a conjunction
  // without it.
  void for_each(const std::function<bool(const Env& env)>& visit) const;

 private:
  struct Variable {
    std::string name;
    const Domain* domain;
    std::vector<int64_t> points;
  };
  bool visit_grid(Env& env, size_t index, const std::function<bool(const Env&)>& visit) const;
  bool visit_lines(const std::function<bool(const Env&)>& visit) const;
  void keep(const Condition& condition, const std::vector<std::string>& names);
  void choose(uint64_t limit, const std::vector<Condition>& conditions);

  bool try_visit(const Env& env, bool points_only, const std::function<bool(const Env&)>& visit) const;

  std::vector<Variable> variables_;
  std::vector<Condition> single_, joint_;  // conditions on one variable and on several
  bool exhaustive_ = true;
  bool grid_ = true;    // the product of the points is small enough
  bool empty_ = false;  // some variable has no admissible value
  int random_combinations_ = 0;
};

// "n=1, cols=17" of the variables that `names` lists; "" for none.
std::string show_assignment(const Env& env, const std::vector<std::string>& names);

}  // namespace zomboss::taidl
