#include "core/taidl/scope.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/taidl/expr.h"
#include "core/taidl/lexer.h"

namespace zomboss::taidl {

std::string_view symbol_text(Symbol symbol) {
  constexpr std::string_view kTexts[] = {"a parameter",     "an operand",     "an integer state",
                                         "a tensor state",  "a tensor value", "a memory",
                                         "a register file", "an engine",      "a number format"};
  return kTexts[static_cast<size_t>(symbol)];
}

const Symbol* Scope::find(std::string_view name) const {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : &found->second;
}

std::string Scope::hint(std::string_view name, std::initializer_list<Symbol> kinds) const {
  std::vector<std::string> candidates;
  for (const auto& [candidate, symbol] : symbols_)
    if (std::find(kinds.begin(), kinds.end(), symbol) != kinds.end()) candidates.push_back(candidate);
  const std::string near = nearest_name(name, candidates);
  return near.empty() ? "" : fmt::format("did you mean '{}'?", near);
}

namespace {

struct Function {
  std::string_view name;
  size_t least, most;              // arguments
  std::optional<Symbol> argument;  // kind of name that it takes; integers when empty
  ExprType result = ExprType::kInteger;
};

constexpr size_t kMany = 64;
constexpr Function kFunctions[] = {
    {"min", 2, kMany, {}},
    {"max", 2, kMany, {}},
    {"ceildiv", 2, 2, {}},
    {"log2", 1, 1, {}},
    {"abs", 1, 1, {}},
    {"live_rows", 1, 1, Symbol::kMemory},
    {"live", 1, 1, Symbol::kRegfile},
    {"double_buffered", 1, 1, Symbol::kMemory, ExprType::kCondition},
    {"in_order", 1, 1, Symbol::kEngine, ExprType::kCondition},
};

class Inference {
 public:
  Inference(const Scope& scope, Diagnostics& diagnostics) : scope_(scope), diagnostics_(diagnostics) {}

  std::optional<ExprType> infer(const Expr& expr) {
    if (too_many(diagnostics_)) return std::nullopt;  // spares the search for near names
    switch (expr.op) {
      case Op::kInt:
        return ExprType::kInteger;
      case Op::kName:
        return infer_name(expr);
      case Op::kIndex:
        return infer_index(expr);
      case Op::kCall:
        return infer_call(expr);
      default:
        return infer_operator(expr);
    }
  }

 private:
  std::optional<ExprType> error(const Expr& at, std::string message, std::string hint = {}) {
    if (!too_many(diagnostics_)) diagnostics_.error(at.where, std::move(message), std::move(hint));
    return std::nullopt;
  }

  std::optional<ExprType> infer_name(const Expr& expr) {
    const Symbol* symbol = scope_.find(expr.name);
    if (symbol == nullptr)
      return error(expr, fmt::format("unknown name '{}'", expr.name),
                   scope_.hint(expr.name, {Symbol::kParam, Symbol::kOperand, Symbol::kIntState}));
    if (*symbol == Symbol::kParam || *symbol == Symbol::kOperand || *symbol == Symbol::kIntState)
      return ExprType::kInteger;
    return error(expr, fmt::format("expected an integer, '{}' is {}", expr.name, symbol_text(*symbol)));
  }

  std::optional<ExprType> infer_index(const Expr& expr) {
    const Symbol* symbol = scope_.find(expr.name);
    if (symbol == nullptr)
      return error(expr, fmt::format("unknown register file '{}'", expr.name),
                   scope_.hint(expr.name, {Symbol::kRegfile}));
    if (*symbol != Symbol::kRegfile)
      return error(expr, fmt::format("expected a register file before '[', '{}' is {}", expr.name,
                                     symbol_text(*symbol)));
    return wants(expr.args[0], ExprType::kInteger, "a register index");
  }

  std::optional<ExprType> infer_call(const Expr& expr) {
    const auto* function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                        [&](const Function& f) { return f.name == expr.name; });
    if (function == std::end(kFunctions) || (function->argument && !scope_.program_functions)) {
      std::vector<std::string> names;
      for (const Function& f : kFunctions)
        if (!f.argument || scope_.program_functions) names.emplace_back(f.name);
      const std::string near = nearest_name(expr.name, names);
      if (function != std::end(kFunctions))
        return error(expr, fmt::format("'{}' is a property of a whole program", expr.name),
                     "use it in a rule");
      return error(expr, fmt::format("unknown function '{}'", expr.name),
                   near.empty() ? "" : fmt::format("did you mean '{}'?", near));
    }
    if (expr.args.size() < function->least || expr.args.size() > function->most)
      return error(expr, fmt::format("{} takes {}{} argument{}, found {}", expr.name, function->least,
                                     function->most > function->least ? " or more" : "",
                                     function->most == 1 ? "" : "s", expr.args.size()));
    if (function->argument) return infer_property(expr, *function);
    bool ok = true;
    for (const Expr& arg : expr.args) ok &= wants(arg, ExprType::kInteger, "an argument").has_value();
    return ok ? std::optional(function->result) : std::nullopt;
  }

  std::optional<ExprType> infer_property(const Expr& expr, const Function& function) {
    const Expr& arg = expr.args[0];
    const Symbol* symbol = arg.op == Op::kName ? scope_.find(arg.name) : nullptr;
    if (symbol != nullptr && *symbol == *function.argument) return function.result;
    return error(arg,
                 fmt::format("{} takes the name of {}, found '{}'", expr.name,
                             symbol_text(*function.argument), shown(arg)),
                 arg.op == Op::kName ? scope_.hint(arg.name, {*function.argument}) : "");
  }

  std::optional<ExprType> infer_operator(const Expr& expr) {
    const bool logical =
        expr.op == Op::kAnd || expr.op == Op::kOr || expr.op == Op::kImplies || expr.op == Op::kNot;
    const bool comparison = expr.op >= Op::kLess && expr.op <= Op::kNotEqual;
    const ExprType wanted = logical ? ExprType::kCondition : ExprType::kInteger;
    const std::string what = fmt::format("an operand of '{}'", op_text(expr.op));
    bool ok = true;
    for (const Expr& arg : expr.args) ok &= wants(arg, wanted, what).has_value();
    if (!ok) return std::nullopt;
    return logical || comparison ? ExprType::kCondition : ExprType::kInteger;
  }

 public:
  std::optional<ExprType> wants(const Expr& expr, ExprType wanted, std::string_view what) {
    const auto type = infer(expr);
    if (!type || *type == wanted) return type;
    if (wanted == ExprType::kInteger)
      return error(expr, fmt::format("{} must be an integer, '{}' is a condition", what, shown(expr)));
    return error(expr, fmt::format("{} must be a condition, '{}' is an integer", what, shown(expr)),
                 "compare it, for example with '!= 0'");
  }

 private:
  const Scope& scope_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::optional<ExprType> infer(const Expr& expr, const Scope& scope, Diagnostics& diagnostics) {
  return Inference(scope, diagnostics).infer(expr);
}

bool require_type(const Expr& expr, ExprType wanted, std::string_view what, const Scope& scope,
                  Diagnostics& diagnostics) {
  return Inference(scope, diagnostics).wants(expr, wanted, what).has_value();
}

}  // namespace zomboss::taidl
