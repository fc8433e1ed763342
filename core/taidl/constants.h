// Inside of the instantiation: expressions over parameters, domains, dimensions and number formats as
// numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/taidl/model.h"
#include "core/taidl/scope.h"

namespace zomboss::taidl {

inline constexpr int64_t kMaxUnits = int64_t{1} << 40;  // of one memory; also bounds every dimension

// Every function returns nothing after it has reported an error. `what` begins the message.
class Constants {
 public:
  explicit Constants(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void define(const std::string& name, int64_t value);  // a parameter; the first definition counts
  void define(Format format) { formats_.push_back(std::move(format)); }
  const Env& env() const { return env_; }

  std::optional<int64_t> number(const Expr& expr, std::string_view what);
  std::optional<int64_t> number_in(const Expr& expr, std::string_view what, int64_t low, int64_t high);
  std::optional<Domain> domain(const DomainExpr& decl, std::string_view what);
  // Each at least 1, the product at most kMaxUnits.
  std::optional<std::vector<int64_t>> dims(std::span<const Expr> exprs, std::string_view what);
  std::optional<Format> element_type(const Name& name);

 private:
  std::optional<Domain> range(const DomainExpr& decl, const std::vector<int64_t>& numbers,
                              std::string_view what);
  std::optional<Domain> list(const DomainExpr& decl, std::vector<int64_t> numbers, std::string_view what);
  void error(Location where, std::string message, std::string hint = {});

  Diagnostics& diagnostics_;
  Scope scope_;
  Env env_;
  std::vector<Format> formats_;
};

}  // namespace zomboss::taidl
