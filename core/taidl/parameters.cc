#include "core/taidl/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/base/text.h"
#include "core/taidl/lexer.h"
#include "core/taidl/message.h"
#include "core/taidl/parser.h"
#include "core/taidl/printer.h"

namespace zomboss::taidl {

Parameters::Parameters(const Spec& spec, std::span<const std::pair<std::string, int64_t>> overrides,
                       Constants& constants, Diagnostics& diagnostics)
    : spec_(spec), overrides_(overrides), constants_(constants), diagnostics_(diagnostics) {
  for (const ParamDecl& param : spec_.params) scope_.add(param.name.text, Symbol::kParam);
}

void Parameters::resolve(Model& model) {
  check_overrides();
  choose_profile();
  if (spec_.profile) model.profile = spec_.profile->text;
  values(model);
  check_profiles();
  check_constraints();
}

void Parameters::error(Location where, std::string message, std::string hint) {
  if (!too_many(diagnostics_)) diagnostics_.error(where, std::move(message), std::move(hint));
}

const int64_t* Parameters::override_of(std::string_view name) const {
  const int64_t* value = nullptr;
  for (const auto& item : overrides_)
    if (item.first == name) value = &item.second;  // the last one wins, as on a command line
  return value;
}

const Setting* Parameters::setting_of(std::string_view param) const {
  if (profile_ == nullptr) return nullptr;
  for (const Setting& setting : profile_->settings)
    if (setting.param.text == param) return &setting;
  return nullptr;
}

void Parameters::check_overrides() {
  std::vector<std::string> names;
  for (const ParamDecl& param : spec_.params) names.push_back(param.name.text);
  for (const auto& item : overrides_)
    if (std::find(names.begin(), names.end(), item.first) == names.end()) {
      const std::string near = nearest_name(item.first, names);
      error({}, fmt::format("no parameter '{}' in target {}", item.first, spec_.target.text),
            near.empty() ? fmt::format("the parameters are {}", fmt::join(names, ", "))
                         : fmt::format("did you mean '{}'?", near));
    }
}

void Parameters::choose_profile() {
  if (!spec_.profile) return;
  std::vector<std::string> names;
  for (const ProfileDecl& profile : spec_.profiles) {
    names.push_back(profile.name.text);
    if (profile_ == nullptr && profile.name.text == spec_.profile->text) profile_ = &profile;
  }
  if (profile_ != nullptr) return;
  const std::string near = nearest_name(spec_.profile->text, names);
  error(spec_.profile->where, fmt::format("no profile '{}'", spec_.profile->text),
        !near.empty()   ? fmt::format("did you mean '{}'?", near)
        : names.empty() ? "write it as: profile NAME { PARAMETER = VALUE; }"
                        : fmt::format("the profiles are {}", fmt::join(names, ", ")));
}

// After an error any value serves to find further errors.
void Parameters::values(Model& model) {
  for (const ParamDecl& decl : spec_.params) {
    const Setting* setting = setting_of(decl.name.text);
    const Expr& written = setting != nullptr ? setting->value : decl.value;
    auto value = constants_.number(written, "the value of a parameter");
    const int64_t* override_value = override_of(decl.name.text);
    if (override_value != nullptr) value = *override_value;
    if (decl.domain) check_domain(decl, written.where, value, override_value != nullptr);
    constants_.define(decl.name.text, value.value_or(1));
    model.params.push_back({decl.name.text, value.value_or(1), override_value != nullptr});
  }
}

void Parameters::check_domain(const ParamDecl& decl, Location written, std::optional<int64_t> value,
                              bool overridden) {
  const auto domain =
      constants_.domain(*decl.domain, fmt::format("the domain of parameter {}", decl.name.text));
  if (!domain || !value || domain->contains(*value)) return;
  DomainExpr folded = *decl.domain;
  for (Expr& expr : folded.values) expr = fold(expr, constants_.env());
  error(overridden ? Location(decl.domain->where) : written,
        fmt::format("parameter {} is {}{}, outside of its domain {}", decl.name.text, *value,
                    overridden ? " by override" : "", print_domain(folded)));
}

// Every setting names a parameter, once; the values of the profiles that are not in force are numbers too.
void Parameters::check_profiles() {
  for (const ProfileDecl& profile : spec_.profiles) {
    std::set<std::string> seen;
    for (const Setting& setting : profile.settings) {
      const Symbol* symbol = scope_.find(setting.param.text);
      if (symbol == nullptr)
        error(setting.param.where, fmt::format("no parameter '{}'", setting.param.text),
              scope_.hint(setting.param.text, {Symbol::kParam}));
      if (!seen.insert(setting.param.text).second)
        error(setting.param.where,
              fmt::format("profile {} sets '{}' twice", profile.name.text, setting.param.text));
      if (&profile != profile_) constants_.number(setting.value, "the value of a parameter");
    }
  }
}

void Parameters::check_constraints() {
  for (const ConstraintDecl& decl : spec_.constraints) {
    check_message(decl.message, decl.message_where, scope_, diagnostics_);
    const auto holds = condition(decl.condition, "a requirement");
    if (holds && !*holds) error(decl.condition.where, fold_message(decl.message, constants_.env()));
  }
}

std::optional<bool> Parameters::condition(const Expr& expr, std::string_view what) const {
  if (!require_type(expr, ExprType::kCondition, what, scope_, diagnostics_)) return std::nullopt;
  const Value value = evaluate(expr, constants_.env());
  if (value.known()) return value.number != 0;
  if (!too_many(diagnostics_))
    diagnostics_.error(value.failed() ? value.where : Location(expr.where),
                       value.failed() ? value.message : "this is not known before a program runs");
  return std::nullopt;
}

Spec Parameters::with_values() const {
  Spec spec = spec_;
  for (ParamDecl& param : spec.params) {
    if (const Setting* setting = setting_of(param.name.text)) param.value = setting->value;
    if (const int64_t* value = override_of(param.name.text))
      param.value = make_int(*value, param.value.where);
  }
  spec.profiles.clear();
  spec.profile.reset();
  return spec;
}

}  // namespace zomboss::taidl
