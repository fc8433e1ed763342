// Inside of the checker: what the checks of one instruction share.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/taidl/assignments.h"
#include "core/taidl/lexer.h"
#include "core/taidl/model.h"
#include "core/taidl/scope.h"

namespace zomboss::taidl {

// What an instruction does with memories and states, over all of its branches.
struct DataFlow {
  std::set<std::string> reads, writes;              // memories and tensor states whose content flows
  std::set<std::string> state_uses, state_changes;  // any state
  std::map<std::string, Location> first_use;        // of a state
  bool computes = false;                            // some operation is not mere data movement
};

struct InstrContext {
  const Model& model;
  const Instr& instr;
  Scope scope;  // parameters, declarations, operands
  Diagnostics& diagnostics;
  DataFlow flow;

  void error(Location where, std::string message, std::string hint = {}) {
    if (!too_many(diagnostics)) diagnostics.error(where, std::move(message), std::move(hint));
  }
  void warning(Location where, std::string message, std::string hint = {}) {
    if (!too_many(diagnostics)) diagnostics.warning(where, std::move(message), std::move(hint));
  }
  void use_names(const Expr& expr);  // notes integer states in flow.state_uses
};

// Names, kinds and expression types of all clauses. False when something was reported.
bool check_clause_names(InstrContext& context);
// Adjacent when/else clauses cover their domain and exclude each other.
void check_branches(InstrContext& context);
// Values of expressions: overflow, division by zero, requirements, state domains, encodings, costs.
void check_values(InstrContext& context);
// Types of the semantics against slices and states, on each path through the branches.
void check_semantics(InstrContext& context);
// Engines, data paths, hidden state, over the whole target.
void check_program(const Model& model, const std::vector<DataFlow>& flows, Diagnostics& diagnostics);

// The requirements among `clauses` (not inside of branches).
void add_requirements(const std::vector<Clause>& clauses, std::vector<Condition>& conditions);

// A maximal run of `when` clauses with an optional `else`, starting at clauses[first].
struct BranchGroup {
  std::vector<const Clause*> whens;
  const Clause* otherwise = nullptr;
  size_t end = 0;  // index behind the group
};
BranchGroup branch_group(const std::vector<Clause>& clauses, size_t first);
// The conditions under which a branch of the group is taken.
std::vector<Condition> branch_conditions(const BranchGroup& group, const Clause& branch);

inline constexpr size_t kMaxPaths = 64;

// One choice of a branch in every case distinction.
struct Path {
  std::vector<const Clause*> clauses;  // in the order of the text
  std::vector<Condition> conditions;
  std::vector<const Clause*> branches;  // that it takes
};

// Every path through the branches, or nothing when there are more than kMaxPaths.
std::optional<std::vector<Path>> expand_paths(const std::vector<Clause>& clauses);

}  // namespace zomboss::taidl
