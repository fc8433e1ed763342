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
#include "core/taidl/parameters.h"
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
      : spec_(spec),
        diagnostics_(diagnostics),
        constants_(diagnostics),
        parameters_(spec, overrides, constants_, diagnostics) {}

  Result<Model> run() {
    model_.target = spec_.target.text;
    model_.title = spec_.title;
    model_.where = spec_.target.where;
    storage();
    unique(spec_.profiles, "profile");
    parameters_.resolve(model_);
    for (const ParamDecl& decl : spec_.params) declare(decl.name, Symbol::kParam);
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
    model_.hash = hash_bytes(print_spec(parameters_.with_values())).hex();
    return std::move(model_);
  }

 private:
  void error(Location where, std::string message, std::string hint = {}) {
    if (!too_many(diagnostics_)) diagnostics_.error(where, std::move(message), std::move(hint));
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
    if (decl.condition && !parameters_.condition(*decl.condition, "the 'when' of a state").value_or(true))
      return;
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
    if (decl.condition &&
        !parameters_.condition(*decl.condition, "the 'when' of an instruction").value_or(true))
      return;
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
  Diagnostics& diagnostics_;
  Model model_;
  Scope scope_;
  Constants constants_;
  Parameters parameters_;
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
