// Inside of the instantiation: the values of the parameters, from what the file says, the profile in force
// and the overrides, each stronger than the one before.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/taidl/constants.h"
#include "core/taidl/model.h"
#include "core/taidl/scope.h"

namespace zomboss::taidl {

// Refers to everything it is made from.
class Parameters {
 public:
  Parameters(const Spec& spec, std::span<const std::pair<std::string, int64_t>> overrides,
             Constants& constants, Diagnostics& diagnostics);

  // Fills model.params and model.profile, defines the parameters in the constants and checks the requirements
  // between declarations. Reports every error.
  void resolve(Model& model);

  // After resolve(): the truth of a condition over parameters, or nothing after an error. `what` begins the
  // message.
  std::optional<bool> condition(const Expr& expr, std::string_view what) const;
  // The spec whose parameters have these values without profiles and overrides.
  Spec with_values() const;

 private:
  void error(Location where, std::string message, std::string hint = {});
  const int64_t* override_of(std::string_view name) const;
  const Setting* setting_of(std::string_view param) const;
  void check_overrides();
  void choose_profile();
  void values(Model& model);
  void check_domain(const ParamDecl& decl, Location written, std::optional<int64_t> value, bool overridden);
  void check_profiles();
  void check_constraints();

  const Spec& spec_;
  std::span<const std::pair<std::string, int64_t>> overrides_;
  Constants& constants_;
  Diagnostics& diagnostics_;
  Scope scope_;                           // the parameters alone
  const ProfileDecl* profile_ = nullptr;  // the one in force
};

}  // namespace zomboss::taidl
