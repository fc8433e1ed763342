// Declarations of a Spec to numbers.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/base/hash.h"
#include "core/base/text.h"
#include "core/taidl/checker.h"
#include "core/taidl/constants.h"
#include "core/taidl/lexer.h"
#include "core/taidl/message.h"
#include "core/taidl/model.h"
#include "core/taidl/parser.h"
#include "core/taidl/printer.h"
#include "core/taidl/scope.h"

namespace zomboss::taidl {
namespace {

constexpr int64_t kMaxBits = 63;  // of an immediate
constexpr size_t kMaxOperands = 64, kMaxStates = 512;

class Instantiation {
 public:
  Instantiation(const Spec& spec, std::span<const std::pair<std::string, int64_t>> overrides,
                Diagnostics& diagnostics)
      : spec_(spec), overrides_(overrides), diagnostics_(diagnostics), constants_(diagnostics) {}

  Result<Model> run() {
    model_.target = spec_.target.text;
    model_.title = spec_.title;
    model_.where = spec_.target.where;
    storage();
    check_overrides();
    choose_profile();
    params();
    profiles();
    constraints();
    formats();
    for (const Name& engine : spec_.engines)
      if (declare(engine, Symbol::kEngine)) model_.engines.push_back(engine.text);
    for (const MemoryDecl& decl : spec_.memories) memory(decl);
    for (const RegfileDecl& decl : spec_.regfiles) regfile(decl);
    for (const StateDecl& decl : spec_.states) state(decl);
    if (spec_.states.size() > kMaxStates)
      error(spec_.states[kMaxStates].name.where, fmt::format("more than {} states", kMaxStates));
    unique(spec_.instrs, "instruction");
    for (const InstrDecl& decl : spec_.instrs) instr(decl);
    unique(spec_.hwloops, "hardware loop");
    for (const HwloopDecl& decl : spec_.hwloops) hwloop(decl);
    unique(spec_.rules, "rule");
    for (const RuleDecl& decl : spec_.rules) rule(decl);
    ZB_TRY(diagnostics_.status());
    model_.hash = hash_bytes(print_spec(with_values())).hex();
    return std::move(model_);
  }

 private:
  void error(Location where, std::string message, std::string hint = {}) {
    if (!too_many(diagnostics_)) diagnostics_.error(where, std::move(message), std::move(hint));
  }

  // The spec whose parameters have these values without profiles and overrides.
  Spec with_values() const {
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

  const int64_t* override_of(std::string_view name) const {
    const int64_t* value = nullptr;
    for (const auto& item : overrides_)
      if (item.first == name) value = &item.second;  // the last one wins, as on a command line
    return value;
  }

  void check_overrides() {
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

  // Enters a name into the one namespace of declarations.
  bool declare(const Name& name, Symbol symbol) {
    if (hlo::dtype_from_name(name.text)) {
      error(name.where, fmt::format("'{}' is a number format and cannot be declared", name.text));
      return false;
    }
    if (scope_.add(name.text, symbol)) return true;
    error(name.where,
          fmt::format("the name '{}' is already {}", name.text, symbol_text(*scope_.find(name.text))));
    return false;
  }

  template <typename Decl>
  void unique(const std::vector<Decl>& decls, std::string_view what) {
    for (size_t i = 0; i < decls.size(); ++i)
      if (!unique_names_.insert(std::string(what) + "/" + decls[i].name.text).second)
        error(decls[i].name.where, fmt::format("duplicate {} '{}'", what, decls[i].name.text));
  }

  void storage() {
    if (!spec_.storage) return;
    const std::vector<std::string> formats = {"exact", "mxfp8"};  // those that contracts know
    model_.storage = spec_.storage->text;
    if (std::find(formats.begin(), formats.end(), model_.storage) != formats.end()) return;
    const std::string near = nearest_name(model_.storage, formats);
    error(spec_.storage->where, fmt::format("unknown storage format '{}'", model_.storage),
          near.empty() ? fmt::format("the storage formats are {}", fmt::join(formats, ", "))
                       : fmt::format("did you mean '{}'?", near));
  }

  void choose_profile() {
    unique(spec_.profiles, "profile");
    if (!spec_.profile) return;
    std::vector<std::string> names;
    for (const ProfileDecl& profile : spec_.profiles) {
      names.push_back(profile.name.text);
      if (profile_ == nullptr && profile.name.text == spec_.profile->text) profile_ = &profile;
    }
    model_.profile = spec_.profile->text;
    if (profile_ != nullptr) return;
    const std::string near = nearest_name(spec_.profile->text, names);
    error(spec_.profile->where, fmt::format("no profile '{}'", spec_.profile->text),
          !near.empty()   ? fmt::format("did you mean '{}'?", near)
          : names.empty() ? "write it as: profile NAME { PARAMETER = VALUE; }"
                          : fmt::format("the profiles are {}", fmt::join(names, ", ")));
  }

  const Setting* setting_of(std::string_view param) const {
    if (profile_ == nullptr) return nullptr;
    for (const Setting& setting : profile_->settings)
      if (setting.param.text == param) return &setting;
    return nullptr;
  }

  // Every setting names a parameter, once; the values of the profiles that do not hold are numbers too.
  void profiles() {
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

  void constraints() {
    for (const ConstraintDecl& decl : spec_.constraints) {
      check_message(decl.message, decl.message_where, scope_, diagnostics_);
      const auto holds = condition(decl.condition, "a requirement");
      if (holds && !*holds) error(decl.condition.where, fold_message(decl.message, constants_.env()));
    }
  }

  // The truth of a condition over parameters, or nothing after an error.
  std::optional<bool> condition(const Expr& expr, std::string_view what) {
    Scope scope;
    for (const ParamDecl& param : spec_.params) scope.add(param.name.text, Symbol::kParam);
    if (!require_type(expr, ExprType::kCondition, what, scope, diagnostics_)) return std::nullopt;
    const Value value = evaluate(expr, constants_.env());
    if (value.known()) return value.number != 0;
    error(value.failed() ? value.where : Location(expr.where),
          value.failed() ? value.message : "this is not known before a program runs");
    return std::nullopt;
  }

  void params() {
    for (const ParamDecl& decl : spec_.params) {
      const Setting* setting = setting_of(decl.name.text);
      const Expr& written = setting != nullptr ? setting->value : decl.value;
      auto value = constants_.number(written, "the value of a parameter");
      const int64_t* override_value = override_of(decl.name.text);
      if (override_value != nullptr) value = *override_value;
      if (decl.domain) check_param_domain(decl, written.where, value, override_value != nullptr);
      declare(decl.name, Symbol::kParam);
      // After an error any value serves to find further errors.
      constants_.define(decl.name.text, value.value_or(1));
      model_.params.push_back({decl.name.text, value.value_or(1), override_value != nullptr});
    }
  }

  void check_param_domain(const ParamDecl& decl, Location written, std::optional<int64_t> value,
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

  void formats() {
    for (const DtypeDecl& decl : spec_.dtypes) {
      Format format{decl.name.text, hlo::DType::Invalid, 0, hlo::DType::Invalid};
      const auto block = constants_.number_in(decl.block, "the block size", 1, 65536);
      const auto elem = constants_.element_type(decl.elem), scale = constants_.element_type(decl.scale);
      if (elem && elem->block == 0) format.dtype = elem->dtype;
      if (scale && scale->block == 0) format.scale = scale->dtype;
      if ((elem && elem->block != 0) || (scale && scale->block != 0))
        error(decl.name.where, "the element and scale of a block-scaled format are plain types");
      format.block = block.value_or(1);
      if (declare(decl.name, Symbol::kDtype)) constants_.define(format);
    }
  }

  static int64_t unit_bytes(const Format& format, std::span<const int64_t> unit_dims) {
    int64_t elements = 1;
    for (const int64_t dim : unit_dims) elements *= dim;
    int64_t bits = elements * hlo::dtype_bits(format.dtype);
    if (format.block != 0)
      bits += (elements + format.block - 1) / format.block * hlo::dtype_bits(format.scale);
    return (bits + 7) / 8;
  }

  void memory(const MemoryDecl& decl) {
    Memory out;
    out.name = decl.name.text;
    out.where = decl.name.where;
    out.offchip = decl.offchip;
    if (const auto format = constants_.element_type(decl.type.dtype)) out.format = *format;
    if (decl.type.unbounded && !decl.offchip)
      error(decl.type.dtype.where, fmt::format("memory {} has no size", decl.name.text),
            "'*' is for off-chip memories");
    if (!decl.type.unbounded && decl.type.dims.empty())
      error(decl.type.dtype.where, fmt::format("memory {} has no size", decl.name.text),
            "write the number of units, for example s8[256][16]");
    if (const auto numbers = constants_.dims(decl.type.dims, "a dimension")) {
      const size_t first = decl.type.unbounded || numbers->empty() ? 0 : 1;
      if (first == 1) out.rows = numbers->front();
      out.unit_dims.assign(numbers->begin() + static_cast<ptrdiff_t>(first), numbers->end());
      out.unit_bytes = unit_bytes(out.format, out.unit_dims);
    }
    if (decl.banks)
      out.banks = constants_.number_in(*decl.banks, "the number of banks", 1, kMaxUnits).value_or(1);
    if (decl.align) out.align = constants_.number_in(*decl.align, "the alignment", 1, kMaxUnits).value_or(1);
    if (decl.banks && out.rows % out.banks != 0)
      error(decl.banks->where, fmt::format("memory {} has {} units, not a multiple of {} banks",
                                           decl.name.text, out.rows, out.banks));
    if (declare(decl.name, Symbol::kMemory)) model_.memories.push_back(std::move(out));
  }

  void regfile(const RegfileDecl& decl) {
    Regfile out;
    out.name = decl.name.text;
    out.where = decl.name.where;
    if (const auto format = constants_.element_type(decl.dtype)) out.format = *format;
    out.count = constants_.number_in(decl.count, "the number of registers", 1, 65536).value_or(1);
    if (decl.zero)
      out.zero = constants_.number_in(*decl.zero, "the zero register", 0, out.count - 1).value_or(0);
    if (declare(decl.name, Symbol::kRegfile)) model_.regfiles.push_back(std::move(out));
  }

  void state(const StateDecl& decl) {
    if (decl.condition && !condition(*decl.condition, "the 'when' of a state").value_or(true)) return;
    State out;
    out.name = decl.name.text;
    out.where = decl.name.where;
    out.role = decl.role;
    if (decl.type) {
      tensor_state(decl, out);
    } else if (const auto domain =
                   constants_.domain(decl.domain, fmt::format("the domain of state {}", out.name))) {
      out.domain = *domain;
      if (!decl.initial) {
        error(decl.initial_where, "the initial value of an integer state must be an integer");
      } else if (const auto initial = constants_.number(*decl.initial, "the initial value")) {
        out.initial = static_cast<double>(*initial);
        if (!domain->contains(*initial))
          error(decl.initial_where,
                fmt::format("the initial value {} is outside of the domain of state {}", *initial, out.name));
      }
    }
    const Symbol symbol = decl.type ? Symbol::kTensorState : Symbol::kIntState;
    if (declare(decl.name, symbol)) model_.states.push_back(std::move(out));
  }

  void tensor_state(const StateDecl& decl, State& out) {
    out.shape.emplace();
    if (decl.type->unbounded) error(decl.type->dtype.where, "a state has a fixed size");
    if (const auto format = constants_.element_type(decl.type->dtype))
      out.shape->dtype = format->value_dtype();
    if (const auto numbers = constants_.dims(decl.type->dims, "a dimension")) out.shape->dims = *numbers;
    out.initial = decl.initial_float;
    if (decl.initial) {
      const auto initial = constants_.number(*decl.initial, "the initial value");
      out.initial = static_cast<double>(initial.value_or(0));
    } else if (hlo::is_integer(out.shape->dtype)) {
      error(decl.initial_where,
            fmt::format("the initial value of {} must be an integer", hlo::dtype_name(out.shape->dtype)));
    }
  }

  void instr(const InstrDecl& decl) {
    if (decl.condition && !condition(*decl.condition, "the 'when' of an instruction").value_or(true)) return;
    Instr out;
    out.name = decl.name.text;
    out.where = decl.name.where;
    if (decl.engine) {
      const Symbol* symbol = scope_.find(decl.engine->text);
      if (symbol == nullptr || *symbol != Symbol::kEngine)
        error(decl.engine->where, fmt::format("no engine '{}'", decl.engine->text),
              scope_.hint(decl.engine->text, {Symbol::kEngine}));
      out.engine = decl.engine->text;
    }
    if (decl.operands.size() > kMaxOperands)
      error(decl.operands[kMaxOperands].name.where, fmt::format("more than {} operands", kMaxOperands));
    for (const OperandDecl& operand_decl : decl.operands) {
      if (const Symbol* symbol = scope_.find(operand_decl.name.text)) {
        error(operand_decl.name.where,
              fmt::format("the name '{}' is already {}", operand_decl.name.text, symbol_text(*symbol)));
      } else if (!unique_names_
                      .insert(fmt::format("operand/{}/{}", model_.instrs.size(), operand_decl.name.text))
                      .second) {
        error(operand_decl.name.where,
              fmt::format("duplicate operand '{}' of {}", operand_decl.name.text, out.name));
      } else {
        out.operands.push_back(operand(operand_decl));
      }
    }
    out.clauses = decl.clauses;
    for (Clause& clause : out.clauses) fold_clause(clause);
    model_.instrs.push_back(std::move(out));
  }

  Operand operand(const OperandDecl& decl) {
    Operand out;
    out.name = decl.name.text;
    out.kind = decl.kind;
    out.base = decl.base.text;
    if (decl.kind == OperandKind::kInteger) {
      if (const auto domain =
              constants_.domain(decl.domain, fmt::format("the domain of operand {}", out.name)))
        out.domain = *domain;
    } else if (decl.kind == OperandKind::kImmediate) {
      out.bits = constants_.number_in(*decl.bits, "the width of an immediate", 1, kMaxBits).value_or(1);
      out.domain.high = static_cast<int64_t>((uint64_t{1} << out.bits) - 1);
    } else if (decl.kind == OperandKind::kRegister) {
      const Regfile* file = model_.find_regfile(decl.base.text);
      if (file == nullptr)
        error(decl.base.where, fmt::format("no register file '{}'", decl.base.text),
              scope_.hint(decl.base.text, {Symbol::kRegfile}));
      out.domain.high = file != nullptr ? file->count - 1 : 0;
    } else {
      address(decl, out);
    }
    return out;
  }

  void address(const OperandDecl& decl, Operand& out) {
    const Memory* memory = model_.find_memory(decl.base.text);
    if (memory == nullptr) {
      error(decl.base.where, fmt::format("no memory '{}'", decl.base.text),
            scope_.hint(decl.base.text, {Symbol::kMemory}));
      return;
    }
    out.align = memory->align;
    if (decl.align) out.align = constants_.number_in(*decl.align, "the alignment", 1, kMaxUnits).value_or(1);
    out.domain.high = memory->rows == 0 ? std::numeric_limits<int64_t>::max() : memory->rows - 1;
    out.domain.step = out.align;
  }

  // Replaces parameters by their values, also in messages.
  void fold_clause(Clause& clause) {
    const auto fold_in = [&](Expr& expr) { expr = fold(expr, constants_.env()); };
    if (clause.expr) fold_in(*clause.expr);
    if (clause.slice.start) fold_in(*clause.slice.start);
    for (Expr& count : clause.slice.counts) fold_in(count);
    if (clause.slice.stride) fold_in(*clause.slice.stride);
    for (Field& field : clause.fields) {
      fold_in(field.high);
      fold_in(field.low);
      fold_in(field.value);
    }
    if (clause.kind == ClauseKind::kRequires) clause.text = fold_message(clause.text, constants_.env());
    for (Clause& inner : clause.body) fold_clause(inner);
  }

  void hwloop(const HwloopDecl& decl) {
    Hwloop out{decl.name.text, decl.begin, decl.end, 0, "", 0, {}};
    if (decl.counter && model_.find_regfile(decl.counter->text) == nullptr)
      error(decl.counter->where, fmt::format("no register file '{}'", decl.counter->text),
            scope_.hint(decl.counter->text, {Symbol::kRegfile}));
    if (decl.counter) out.counter = decl.counter->text;
    if (decl.body)
      out.body = constants_.number_in(*decl.body, "the limit of a loop body", 1, kMaxUnits).value_or(1);
    out.depth = constants_.number_in(decl.depth, "the depth of a hardware loop", 1, 1024).value_or(1);
    if (const auto count =
            constants_.domain(decl.count, fmt::format("the count of hardware loop {}", out.name)))
      out.count = *count;
    model_.hwloops.push_back(std::move(out));
  }

  void rule(const RuleDecl& decl) {
    Rule out{decl.name.text, fold(decl.condition, constants_.env()),
             fold_message(decl.message, constants_.env()), decl.name.where, decl.message_where};
    Scope scope = scope_;
    scope.program_functions = true;
    require_type(decl.condition, ExprType::kCondition, "a rule", scope, diagnostics_);
    check_message(decl.message, decl.message_where, scope, diagnostics_);
    model_.rules.push_back(std::move(out));
  }

  const Spec& spec_;
  std::span<const std::pair<std::string, int64_t>> overrides_;
  Diagnostics& diagnostics_;
  Model model_;
  const ProfileDecl* profile_ = nullptr;  // the one that holds
  Scope scope_;
  Constants constants_;
  std::set<std::string> unique_names_;
};

}  // namespace

Result<Model> instantiate(const Spec& spec, std::span<const std::pair<std::string, int64_t>> overrides,
                          Diagnostics& diagnostics) {
  return Instantiation(spec, overrides, diagnostics).run();
}

Result<Model> load_model(const Source& source, std::span<const std::pair<std::string, int64_t>> overrides,
                         Diagnostics& diagnostics) {
  ZB_ASSIGN(const Spec spec, parse_spec(source, diagnostics));
  ZB_ASSIGN(Model model, instantiate(spec, overrides, diagnostics));
  check_model(model, diagnostics);
  ZB_TRY(diagnostics.status());
  return model;
}

}  // namespace zomboss::taidl
