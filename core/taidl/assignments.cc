#include "core/taidl/assignments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "zomboss/sdk/random.h"

namespace zomboss::taidl {
namespace {

constexpr int64_t kUnboundedSample = int64_t{1} << 40;
constexpr uint64_t kMostRandom = 256;
constexpr uint64_t kMostComplete = 65536;  // size of a domain that is looked through
constexpr uint64_t kSeed = 0x7A1D1;

int64_t sample_low(const Domain& domain) {
  return domain.any ? -kUnboundedSample : domain.low;
}

// The largest value that is tried: an address of an unbounded memory or an unbounded integer is cut.
int64_t sample_high(const Domain& domain) {
  if (domain.any) return kUnboundedSample;
  const bool unbounded = domain.values.empty() && domain.high == std::numeric_limits<int64_t>::max();
  if (!unbounded || domain.low > kUnboundedSample) return domain.last();
  return domain.at(static_cast<uint64_t>(kUnboundedSample - domain.low) / static_cast<uint64_t>(domain.step));
}

// Whether the conditions on `name` alone allow the value.
class Filter {
 public:
  Filter(const std::string& name, const std::vector<Condition>& conditions) : value_(&env_[name]) {
    for (const Condition& condition : conditions) {
      std::vector<std::string> names;
      collect_value_names(*condition.expr, names);
      if (names.size() == 1 && names[0] == name) own_.push_back(condition);
    }
  }
  bool allows(int64_t value) const {
    if (own_.empty()) return true;
    *value_ = value;
    return admits(own_, env_);
  }
  std::vector<int64_t> numbers() const {
    std::vector<int64_t> out;
    for (const Condition& condition : own_) collect_numbers(*condition.expr, out);
    return out;
  }

  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

 private:
  Env env_;         // the name alone, so that trying a value allocates nothing
  int64_t* value_;  // in env_
  std::vector<Condition> own_;
};

// `a && b` that holds and `a || b` that does not are two conditions each.
void split(const Condition& condition, std::vector<Condition>& out) {
  const Op op = condition.expr->op;
  if (condition.holds && ((op == Op::kAnd && *condition.holds) || (op == Op::kOr && !*condition.holds))) {
    for (const Expr& arg : condition.expr->args) split({&arg, condition.holds}, out);
  } else if (op == Op::kNot && condition.holds) {
    split({&condition.expr->args[0], !*condition.holds}, out);
  } else {
    out.push_back(condition);
  }
}

// Admissible values at the ends, in the middle and around the numbers that conditions mention.
std::vector<int64_t> edge_points(const Domain& domain, const Filter& filter, std::vector<int64_t> numbers) {
  constexpr size_t kMostNumbers = 16;
  constexpr uint64_t kMostSteps = 64;  // to find an admissible value near an end
  std::vector<int64_t> points = {sample_low(domain), sample_high(domain)};
  if (!domain.any) {
    const uint64_t size = domain.size();
    for (uint64_t i = 0; i < std::min(size, kMostSteps); ++i) {
      if (i > 1 && filter.allows(points.back())) break;
      points.push_back(domain.at(i));
    }
    const int64_t middle = domain.at(size / 2);
    if (middle < points[1]) points.push_back(middle);
    for (uint64_t i = 1; i < std::min(size, kMostSteps) && !filter.allows(points.back()); ++i)
      if (domain.at(size - i) <= points[1]) points.push_back(domain.at(size - i));
  }
  if (numbers.size() > kMostNumbers) numbers.resize(kMostNumbers);
  for (const int64_t number : numbers)
    for (const int64_t offset : {-1, 0, 1}) {
      int64_t value = 0;
      if (!__builtin_add_overflow(number, offset, &value) && domain.contains(value)) points.push_back(value);
    }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  points.erase(std::remove_if(points.begin(), points.end(), [&](int64_t v) { return !filter.allows(v); }),
               points.end());
  return points;
}

bool multiply_within(uint64_t& product, uint64_t factor, uint64_t limit) {
  if (factor != 0 && product > limit / factor) return false;
  product *= factor;
  return true;
}

}  // namespace

const Domain* variable_domain(const Model& model, const Instr& instr, std::string_view name) {
  for (const Operand& operand : instr.operands)
    if (operand.name == name) return &operand.domain;
  const State* state = model.find_state(name);
  return state != nullptr && !state->shape ? &state->domain : nullptr;
}

void collect_numbers(const Expr& expr, std::vector<int64_t>& numbers) {
  if (expr.op == Op::kInt && std::find(numbers.begin(), numbers.end(), expr.value) == numbers.end())
    numbers.push_back(expr.value);
  for (const Expr& arg : expr.args) collect_numbers(arg, numbers);
}

bool admits(const std::vector<Condition>& conditions, const Env& env) {
  for (const Condition& condition : conditions) {
    if (!condition.holds) continue;
    const Value value = evaluate(*condition.expr, env);
    if (value.known() && (value.number != 0) != *condition.holds) return false;
  }
  return true;
}

Assignments::Assignments(const Model& model, const Instr& instr, const std::vector<std::string>& names,
                         const std::vector<Condition>& compound, uint64_t limit) {
  std::vector<Condition> conditions;
  for (const Condition& condition : compound) split(condition, conditions);
  std::vector<int64_t> shared;  // numbers of conditions on several variables
  for (const Condition& condition : conditions) {
    std::vector<std::string> own;
    collect_value_names(*condition.expr, own);
    if (own.size() > 1) collect_numbers(*condition.expr, shared);
  }
  constexpr size_t kMostShared = 4;
  if (shared.size() > kMostShared) shared.resize(kMostShared);
  for (const std::string& name : names) {
    const Domain* domain = variable_domain(model, instr, name);
    if (domain == nullptr) continue;
    const Filter filter(name, conditions);
    std::vector<int64_t> numbers = filter.numbers();
    numbers.insert(numbers.end(), shared.begin(), shared.end());
    variables_.push_back({name, domain, edge_points(*domain, filter, std::move(numbers))});
  }
  for (const Condition& condition : conditions) keep(condition, names);
  random_combinations_ = static_cast<int>(std::min<uint64_t>(limit / 16, kMostRandom));
  choose(limit, conditions);
}

// Notes a condition that can be decided from the variables.
void Assignments::keep(const Condition& condition, const std::vector<std::string>& names) {
  if (!condition.holds) return;
  std::vector<std::string> own;
  collect_value_names(*condition.expr, own);
  const bool decidable = std::all_of(own.begin(), own.end(), [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  });
  if (decidable) (own.size() == 1 ? single_ : joint_).push_back(condition);
}

// The points meet the conditions on one variable already.
bool Assignments::try_visit(const Env& env, bool points_only,
                            const std::function<bool(const Env&)>& visit) const {
  if (!admits(joint_, env) || (!points_only && !admits(single_, env))) return true;
  return visit(env);
}

// Makes small domains complete and decides between the grid of all points and lines through it.
void Assignments::choose(uint64_t limit, const std::vector<Condition>& conditions) {
  uint64_t product = 1;
  for (const Variable& variable : variables_)
    grid_ = grid_ && multiply_within(product, std::max<size_t>(variable.points.size(), 1), limit);
  if (!grid_) product = 1;
  std::vector<Variable*> by_size;
  for (Variable& variable : variables_) by_size.push_back(&variable);
  std::stable_sort(by_size.begin(), by_size.end(), [](const Variable* a, const Variable* b) {
    return a->domain->size() < b->domain->size();
  });
  for (Variable* variable : by_size) {
    const Domain& domain = *variable->domain;
    if (domain.size() == variable->points.size()) continue;
    if (domain.any || domain.size() > kMostComplete) {
      exhaustive_ = false;
      continue;
    }
    const size_t own = std::max<size_t>(variable->points.size(), 1);
    const uint64_t rest = grid_ ? product / own : 1;  // of the other variables; at least 1
    const uint64_t most = limit / rest;
    std::vector<int64_t> all;
    const Filter filter(variable->name, conditions);
    const uint64_t size = domain.size();
    for (uint64_t i = 0; i < size && all.size() <= most; ++i) {
      const int64_t value = domain.at(i);
      if (filter.allows(value)) all.push_back(value);
    }
    if (std::max<size_t>(all.size(), 1) > most) {
      exhaustive_ = false;
      continue;
    }
    if (grid_) product = rest * std::max<size_t>(all.size(), 1);
    variable->points = std::move(all);
  }
  exhaustive_ = exhaustive_ && grid_;
  for (const Variable& variable : variables_) empty_ |= variable.points.empty();
}

bool Assignments::visit_grid(Env& env, size_t index, const std::function<bool(const Env&)>& visit) const {
  if (index == variables_.size()) return try_visit(env, true, visit);
  int64_t& slot = env[variables_[index].name];
  for (const int64_t value : variables_[index].points) {
    slot = value;
    if (!visit_grid(env, index + 1, visit)) return false;
  }
  return true;
}

// All variables at one end, and each one moved through its points from there.
bool Assignments::visit_lines(const std::function<bool(const Env&)>& visit) const {
  for (const bool high : {false, true}) {
    Env base;
    for (const Variable& variable : variables_)
      base[variable.name] = high ? variable.points.back() : variable.points.front();
    for (const Variable& variable : variables_)
      for (const int64_t value : variable.points) {
        Env env = base;
        env[variable.name] = value;
        if (!try_visit(env, true, visit)) return false;
      }
  }
  return true;
}

void Assignments::for_each(const std::function<bool(const Env& env)>& visit) const {
  if (empty_) return;
  Env env;
  if (grid_ ? !visit_grid(env, 0, visit) : !visit_lines(visit)) return;
  if (exhaustive_) return;
  Random random(kSeed, 0);
  for (int i = 0; i < random_combinations_; ++i) {
    for (const Variable& variable : variables_) {
      const Domain& domain = *variable.domain;
      const bool any_value = i % 2 == 1 && !domain.any && sample_high(domain) == domain.last();
      env[variable.name] = any_value ? domain.at(random.below(domain.size()))
                                     : variable.points[random.below(variable.points.size())];
    }
    if (!try_visit(env, false, visit)) return;
  }
}

std::string show_assignment(const Env& env, const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    const auto found = env.find(name);
    if (found == env.end()) continue;
    if (!out.empty()) out += ", ";
    out += fmt::format("{}={}", name, found->second);
  }
  return out;
}

}  // namespace zomboss::taidl
