// What names mean, and the types of expressions (integer or condition).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/taidl/spec.h"

namespace zomboss::taidl {

enum class Symbol : uint8_t {
  kParam,
  kOperand,
  kIntState,  // integers
  kTensorState,
  kValue,  // tensors: states, values read or computed
  kMemory,
  kRegfile,
  kEngine,
  kDtype,
};
std::string_view symbol_text(Symbol symbol);  // "a memory"

// The names that an expression may use. A plain value.
class Scope {
 public:
  // False when the name is taken.
  bool add(const std::string& name, Symbol symbol) { return symbols_.emplace(name, symbol).second; }
  const Symbol* find(std::string_view name) const;
  // "did you mean 'x'?" over the names of the given kinds, or "".
  std::string hint(std::string_view name, std::initializer_list<Symbol> kinds) const;

  bool program_functions = false;  // rules may call live_rows, double_buffered, ...

 private:
  std::map<std::string, Symbol, std::less<>> symbols_;
};

enum class ExprType : uint8_t { kInteger, kCondition };

// The type of the expression, or nothing after its errors were reported.
std::optional<ExprType> infer(const Expr& expr, const Scope& scope, Diagnostics& diagnostics);

// infer + "`what` must be an integer/a condition".
bool require_type(const Expr& expr, ExprType wanted, std::string_view what, const Scope& scope,
                  Diagnostics& diagnostics);

}  // namespace zomboss::taidl
