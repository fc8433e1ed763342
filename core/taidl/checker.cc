#include "core/taidl/checker.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/taidl/check_context.h"
#include "core/taidl/message.h"

namespace zomboss::taidl {

void InstrContext::use_names(const Expr& expr) {
  std::vector<std::string> names;
  collect_names(expr, names);
  for (const std::string& name : names) {
    if (model.find_state(name) == nullptr) continue;
    flow.state_uses.insert(name);
    flow.first_use.emplace(name, expr.where);
  }
}

namespace {

class NameCheck {
 public:
  explicit NameCheck(InstrContext& context) : c_(context) {}

  bool run() {
    const size_t errors = c_.diagnostics.errors();
    clauses(c_.instr.clauses);
    return c_.diagnostics.errors() == errors;
  }

 private:
  void clauses(const std::vector<Clause>& list) {
    for (size_t i = 0; i < list.size(); ++i) {
      const Clause& clause = list[i];
      const bool after_when = i > 0 && list[i - 1].kind == ClauseKind::kWhen;
      if (clause.kind == ClauseKind::kElse && !after_when)
        c_.error(clause.where, "'else' without a 'when' directly before it");
      check(clause);
      clauses(clause.body);
    }
  }

  void check(const Clause& clause) {
    switch (clause.kind) {
      case ClauseKind::kRead:
        return read(clause);
      case ClauseKind::kWrite:
      case ClauseKind::kUpdate:
        return target(clause);
      case ClauseKind::kRequires:
        if (condition(*clause.expr, "a requirement")) c_.use_names(*clause.expr);
        return check_message(clause.text, clause.text_where, c_.scope, c_.diagnostics);
      case ClauseKind::kSets:
        return sets(clause);
      case ClauseKind::kWhen:
        if (condition(*clause.expr, "a 'when' condition")) c_.use_names(*clause.expr);
        return;
      case ClauseKind::kCost:
        return cost(clause);
      case ClauseKind::kEmit:
        return emit(clause);
      case ClauseKind::kEncode:
        return encode(clause);
      case ClauseKind::kClobbers:
        return clobbers(clause);
      case ClauseKind::kElse:
      case ClauseKind::kSem:
        return;
    }
  }

  bool condition(const Expr& expr, std::string_view what) {
    return require_type(expr, ExprType::kCondition, what, c_.scope, c_.diagnostics);
  }
  bool integer(const Expr& expr, std::string_view what) {
    if (!require_type(expr, ExprType::kInteger, what, c_.scope, c_.diagnostics)) return false;
    c_.use_names(expr);
    return true;
  }

  void read(const Clause& clause) {
    if (const Symbol* symbol = c_.scope.find(clause.name.text))
      c_.error(clause.name.where,
               fmt::format("the name '{}' is already {}", clause.name.text, symbol_text(*symbol)));
    slice(clause.slice, false);
  }

  void target(const Clause& clause) { slice(clause.slice, true); }

  // Memory or register file; also a tensor state when the slice is updated.
  void slice(const Slice& slice, bool is_target) {
    const Symbol* symbol = c_.scope.find(slice.base.text);
    if (symbol == nullptr) {
      c_.error(slice.base.where, fmt::format("no memory '{}'", slice.base.text),
               c_.scope.hint(slice.base.text, {Symbol::kMemory, Symbol::kRegfile, Symbol::kTensorState}));
      return;
    }
    if (*symbol == Symbol::kMemory) {
      memory_slice(slice);
    } else if (*symbol == Symbol::kRegfile) {
      if (!slice.start || !slice.counts.empty() || slice.stride || slice.transposed || slice.mask)
        c_.error(slice.base.where, "a register is written FILE[index]");
    } else if (*symbol == Symbol::kTensorState && is_target) {
      if (slice.start || slice.stride || slice.transposed)
        c_.error(slice.base.where, "a state is updated as a whole, without '[...]'");
    } else {
      c_.error(slice.base.where,
               fmt::format("expected a memory, '{}' is {}", slice.base.text, symbol_text(*symbol)),
               *symbol == Symbol::kTensorState ? "semantics read states by their name" : "");
    }
    if (slice.start) integer(*slice.start, "the start of a slice");
    for (const Expr& count : slice.counts) integer(count, "the count of a slice");
    if (slice.stride) integer(*slice.stride, "the stride of a slice");
  }

  void memory_slice(const Slice& slice) {
    if (!slice.start || slice.counts.empty()) {
      c_.error(slice.base.where,
               fmt::format("a slice of a memory is written {}[start +: count]", slice.base.text));
      return;
    }
    std::vector<std::string> names;
    collect_names(*slice.start, names);
    for (const Operand& operand : c_.instr.operands)
      if (operand.kind == OperandKind::kAddress && operand.base != slice.base.text &&
          std::find(names.begin(), names.end(), operand.name) != names.end())
        c_.error(slice.start->where, fmt::format("'{}' is an address of {}, the slice is of {}", operand.name,
                                                 operand.base, slice.base.text));
  }

  void sets(const Clause& clause) {
    const State* state = c_.model.find_state(clause.name.text);
    if (state == nullptr) {
      const Symbol* symbol = c_.scope.find(clause.name.text);
      c_.error(clause.name.where,
               symbol == nullptr
                   ? fmt::format("no state '{}'", clause.name.text)
                   : fmt::format("expected a state, '{}' is {}", clause.name.text, symbol_text(*symbol)),
               c_.scope.hint(clause.name.text, {Symbol::kIntState, Symbol::kTensorState}));
      return;
    }
    c_.flow.state_changes.insert(state->name);
    if (!state->shape) {
      integer(*clause.expr, fmt::format("the value of state {}", state->name));
    } else if (clause.expr->op != Op::kName && clause.expr->op != Op::kInt) {
      c_.error(
          clause.expr->where,
          fmt::format("the value of tensor state {} must be the name of a value or a number", state->name));
    }
  }

  void cost(const Clause& clause) {
    if (!costs_.insert(clause.name.text).second)
      c_.error(clause.name.where, fmt::format("duplicate cost '{}'", clause.name.text));
    integer(*clause.expr, "a cost");
  }

  void emit(const Clause& clause) {
    std::vector<MessagePart> parts;
    if (!split_message(clause.text, parts)) {
      c_.error(clause.text_where, "unmatched brace in a text", "write {{ or }} for a brace itself");
      return;
    }
    std::vector<std::string> names;
    for (const Operand& operand : c_.instr.operands) names.push_back(operand.name);
    for (const MessagePart& part : parts) {
      if (!part.placeholder || std::find(names.begin(), names.end(), part.text) != names.end()) continue;
      const std::string near = nearest_name(part.text, names);
      c_.error(clause.text_where,
               fmt::format("the placeholder '{{{}}}' names no operand of {}", part.text, c_.instr.name),
               near.empty() ? "" : fmt::format("did you mean '{}'?", near));
    }
  }

  void encode(const Clause& clause) {
    for (const Field& field : clause.fields) {
      integer(field.high, "a bit number");
      integer(field.low, "a bit number");
      integer(field.value, "the value of a field");
    }
  }

  void clobbers(const Clause& clause) {
    const Symbol* symbol = c_.scope.find(clause.name.text);
    const bool ok = symbol != nullptr && (*symbol == Symbol::kMemory || *symbol == Symbol::kIntState ||
                                          *symbol == Symbol::kTensorState || *symbol == Symbol::kRegfile);
    if (!ok)
      c_.error(clause.name.where, fmt::format("no memory or state '{}'", clause.name.text),
               c_.scope.hint(clause.name.text, {Symbol::kMemory, Symbol::kIntState, Symbol::kTensorState}));
  }

  InstrContext& c_;
  std::set<std::string> costs_;
};

Scope instr_scope(const Model& model, const Instr& instr) {
  Scope scope;
  for (const Param& param : model.params) scope.add(param.name, Symbol::kParam);
  for (const std::string& engine : model.engines) scope.add(engine, Symbol::kEngine);
  for (const Memory& memory : model.memories) scope.add(memory.name, Symbol::kMemory);
  for (const Regfile& file : model.regfiles) scope.add(file.name, Symbol::kRegfile);
  for (const State& state : model.states)
    scope.add(state.name, state.shape ? Symbol::kTensorState : Symbol::kIntState);
  for (const Operand& operand : instr.operands) scope.add(operand.name, Symbol::kOperand);
  return scope;
}

}  // namespace

bool check_clause_names(InstrContext& context) {
  return NameCheck(context).run();
}

void check_model(const Model& model, Diagnostics& diagnostics) {
  std::vector<DataFlow> flows;
  const size_t errors = diagnostics.errors();
  for (const Instr& instr : model.instrs) {
    if (too_many(diagnostics)) return;
    InstrContext context{model, instr, instr_scope(model, instr), diagnostics, {}};
    if (check_clause_names(context)) {
      check_branches(context);
      check_values(context);
      check_semantics(context);
    }
    flows.push_back(std::move(context.flow));
  }
  if (diagnostics.errors() == errors) check_program(model, flows, diagnostics);
}

}  // namespace zomboss::taidl
