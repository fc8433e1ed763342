#include <fmt/format.h>

#include <algorithm>

#include "core/taidl/check_context.h"

namespace zomboss::taidl {
namespace {

constexpr uint64_t kLimit = 4096;

class BranchCheck {
 public:
  explicit BranchCheck(InstrContext& context) : c_(context) {}

  void run(const std::vector<Clause>& clauses, std::vector<Condition> conditions) {
    add_requirements(clauses, conditions);
    for (size_t i = 0; i < clauses.size();) {
      if (clauses[i].kind != ClauseKind::kWhen) {
        ++i;
        continue;
      }
      const BranchGroup group = branch_group(clauses, i);
      check(group, conditions);
      nested(group, conditions);
      i = group.end;
    }
  }

 private:
  void nested(const BranchGroup& group, const std::vector<Condition>& outer) {
    std::vector<const Clause*> branches = group.whens;
    if (group.otherwise != nullptr) branches.push_back(group.otherwise);
    for (const Clause* branch : branches) {
      std::vector<Condition> conditions = outer;
      for (const Condition& condition : branch_conditions(group, *branch)) conditions.push_back(condition);
      run(branch->body, std::move(conditions));
    }
  }

  void check(const BranchGroup& group, const std::vector<Condition>& outer) {
    std::vector<std::string> names;
    for (const Clause* when : group.whens) collect_value_names(*when->expr, names);
    const std::vector<std::string> shown_names = names;
    std::vector<Condition> limits;
    for (const Condition& condition : outer) {
      if (!shares_name(*condition.expr, shown_names)) continue;
      collect_value_names(*condition.expr, names);
      limits.push_back(condition);
    }
    const Assignments assignments(c_.model, c_.instr, names, with_edges(group, limits), kLimit);
    std::vector<bool> taken(group.whens.size(), false);
    bool otherwise_taken = false;
    const size_t errors = c_.diagnostics.errors();
    assignments.for_each(
        [&](const Env& env) { return check_one(group, env, shown_names, taken, otherwise_taken); });
    if (!assignments.exhaustive() || c_.diagnostics.errors() != errors) return;
    for (size_t i = 0; i < taken.size(); ++i)
      if (!taken[i]) c_.warning(group.whens[i]->where, "this branch is never taken");
    if (group.otherwise != nullptr && !otherwise_taken)
      c_.warning(group.otherwise->where, "this branch is never taken",
                 "the branches before it cover everything");
  }

  // The limits, and the branch conditions as such that exclude nothing but whose numbers are worth a try.
  static std::vector<Condition> with_edges(const BranchGroup& group, const std::vector<Condition>& limits) {
    std::vector<Condition> out = limits;
    for (const Clause* when : group.whens) out.push_back({&*when->expr, std::nullopt});
    return out;
  }

  static bool shares_name(const Expr& expr, const std::vector<std::string>& names) {
    std::vector<std::string> own;
    collect_value_names(expr, own);
    for (const std::string& name : own)
      if (std::find(names.begin(), names.end(), name) != names.end()) return true;
    return false;
  }

  // False after an error.
  bool check_one(const BranchGroup& group, const Env& env, const std::vector<std::string>& names,
                 std::vector<bool>& taken, bool& otherwise_taken) {
    const Clause* chosen = nullptr;
    for (size_t i = 0; i < group.whens.size(); ++i) {
      const Clause* when = group.whens[i];
      const Value value = evaluate(*when->expr, env);
      if (value.failed()) return report(value.where, value.message, env, names);
      if (!value.known()) return undecidable(group, taken, otherwise_taken);
      if (value.number == 0) continue;
      if (chosen != nullptr)
        return report(when->where,
                      fmt::format("this branch and the one on line {} both apply", chosen->where.line), env,
                      names);
      chosen = when;
      taken[i] = true;
    }
    if (chosen == nullptr && group.otherwise == nullptr)
      return report(group.whens[0]->where, "no branch applies", env, names, "add an 'else' branch");
    otherwise_taken |= chosen == nullptr;
    return true;
  }

  // A condition on the content of a register: fine for `when` with `else`, which need no proof.
  bool undecidable(const BranchGroup& group, std::vector<bool>& taken, bool& otherwise_taken) {
    if (group.whens.size() == 1 && group.otherwise != nullptr) {
      taken[0] = otherwise_taken = true;
      return false;
    }
    c_.error(group.whens[0]->where,
             "these branches depend on the content of a register and cannot be checked",
             "write one 'when' with an 'else'");
    return false;
  }

  bool report(Location where, std::string message, const Env& env, const std::vector<std::string>& names,
              std::string hint = {}) {
    const std::string example = show_assignment(env, names);
    if (!example.empty()) message += fmt::format(" for {}", example);
    c_.error(where, std::move(message), std::move(hint));
    return false;
  }

  InstrContext& c_;
};

}  // namespace

void add_requirements(const std::vector<Clause>& clauses, std::vector<Condition>& conditions) {
  for (const Clause& clause : clauses)
    if (clause.kind == ClauseKind::kRequires) conditions.push_back({&*clause.expr, true});
}

BranchGroup branch_group(const std::vector<Clause>& clauses, size_t first) {
  BranchGroup group;
  group.end = first;
  while (group.end < clauses.size() && clauses[group.end].kind == ClauseKind::kWhen)
    group.whens.push_back(&clauses[group.end++]);
  if (group.end < clauses.size() && clauses[group.end].kind == ClauseKind::kElse)
    group.otherwise = &clauses[group.end++];
  return group;
}

std::vector<Condition> branch_conditions(const BranchGroup& group, const Clause& branch) {
  if (branch.kind == ClauseKind::kWhen) return {{&*branch.expr, true}};
  std::vector<Condition> conditions;
  for (const Clause* when : group.whens) conditions.push_back({&*when->expr, false});
  return conditions;
}

std::optional<std::vector<Path>> expand_paths(const std::vector<Clause>& clauses) {
  std::vector<Path> paths(1);
  for (size_t i = 0; i < clauses.size();) {
    if (clauses[i].kind != ClauseKind::kWhen) {
      for (Path& path : paths) {
        path.clauses.push_back(&clauses[i]);
        if (clauses[i].kind == ClauseKind::kRequires) path.conditions.push_back({&*clauses[i].expr, true});
      }
      ++i;
      continue;
    }
    const BranchGroup group = branch_group(clauses, i);
    std::vector<Path> longer;
    for (; i < group.end; ++i) {
      const auto inner = expand_paths(clauses[i].body);
      if (!inner || paths.size() * inner->size() + longer.size() > kMaxPaths) return std::nullopt;
      for (const Path& path : paths)
        for (const Path& tail : *inner) {
          Path& joined = longer.emplace_back(path);
          for (const Condition& condition : branch_conditions(group, clauses[i]))
            joined.conditions.push_back(condition);
          joined.branches.push_back(&clauses[i]);
          joined.branches.insert(joined.branches.end(), tail.branches.begin(), tail.branches.end());
          joined.clauses.insert(joined.clauses.end(), tail.clauses.begin(), tail.clauses.end());
          joined.conditions.insert(joined.conditions.end(), tail.conditions.begin(), tail.conditions.end());
        }
    }
    paths = std::move(longer);
  }
  return paths;
}

void check_branches(InstrContext& context) {
  BranchCheck(context).run(context.instr.clauses, {});
}

}  // namespace zomboss::taidl
