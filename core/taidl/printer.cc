#include "core/taidl/printer.h"

#include <fmt/format.h>

#include "core/taidl/expr.h"
#include "core/taidl/lexer.h"

namespace zomboss::taidl {

std::string print_expr(const Expr& expr) {
  const auto argument = [&](size_t index, int least) {
    const Expr& arg = expr.args[index];
    // A negative number can only come from folding; it reads as a unary minus.
    const int precedence = arg.op == Op::kInt && arg.value < 0 ? 8 : op_precedence(arg.op);
    return precedence < least ? "(" + print_expr(arg) + ")" : print_expr(arg);
  };
  const auto list = [&] {
    std::string out;
    for (const Expr& arg : expr.args) out += (out.empty() ? "" : ", ") + print_expr(arg);
    return out;
  };
  const int precedence = op_precedence(expr.op);
  switch (expr.op) {
    case Op::kInt:
      return std::to_string(expr.value);
    case Op::kName:
      return expr.name;
    case Op::kIndex:
      return fmt::format("{}[{}]", expr.name, list());
    case Op::kCall:
      return fmt::format("{}({})", expr.name, list());
    case Op::kNegate:
    case Op::kNot:
      return std::string(op_text(expr.op)) + argument(0, 8);
    case Op::kImplies:
      return argument(0, precedence + 1) + " -> " + argument(1, precedence);
    default:
      return fmt::format("{} {} {}", argument(0, precedence), op_text(expr.op), argument(1, precedence + 1));
  }
}

std::string shown(const Expr& expr) {
  constexpr size_t kShown = 60;
  std::string text = print_expr(expr);
  if (text.size() > kShown) text.replace(kShown, std::string::npos, "...");
  return text;
}

std::string print_type(const TypeExpr& type) {
  std::string out = type.dtype.text;
  if (type.unbounded) out += "[*]";
  for (const Expr& dim : type.dims) out += "[" + print_expr(dim) + "]";
  return type.unbounded || !type.dims.empty() ? out : out + "[]";
}

std::string print_domain(const DomainExpr& domain) {
  if (domain.kind == DomainExpr::Kind::kAny) return "int";
  if (domain.kind == DomainExpr::Kind::kRange) {
    std::string out = print_expr(domain.values[0]) + ".." + print_expr(domain.values[1]);
    return domain.values.size() == 3 ? out + " step " + print_expr(domain.values[2]) : out;
  }
  std::string out;
  for (const Expr& value : domain.values) out += (out.empty() ? "" : ", ") + print_expr(value);
  return "{" + out + "}";
}

std::string print_slice(const Slice& slice) {
  std::string out = slice.base.text;
  if (slice.start) {
    out += "[" + print_expr(*slice.start);
    for (size_t i = 0; i < slice.counts.size(); ++i)
      out += (i == 0 ? " +: " : ", ") + print_expr(slice.counts[i]);
    out += "]";
  }
  if (slice.stride) out += " stride " + print_expr(*slice.stride);
  if (slice.transposed) out += " transposed";
  if (slice.mask) out += " mask " + slice.mask->text;
  return out;
}

namespace {

class Printer {
 public:
  std::string run(const Spec& spec) {
    out_ = "target " + spec.target.text;
    if (!spec.title.empty()) out_ += " " + quote(spec.title);
    out_ += " {\n";
    for (const ParamDecl& param : spec.params)
      line(1, fmt::format("param {} = {}{};", param.name.text, print_expr(param.value),
                          param.domain ? " in " + print_domain(*param.domain) : ""));
    for (const ConstraintDecl& constraint : spec.constraints)
      line(1, fmt::format("requires {} : {};", print_expr(constraint.condition), quote(constraint.message)));
    print_profiles(spec);
    for (const DtypeDecl& dtype : spec.dtypes)
      line(1, fmt::format("dtype {} = mx(elem={}, block={}, scale={});", dtype.name.text, dtype.elem.text,
                          print_expr(dtype.block), dtype.scale.text));
    if (spec.storage) line(1, fmt::format("storage {};", spec.storage->text));
    print_engines(spec);
    for (const MemoryDecl& memory : spec.memories) print_memory(memory);
    for (const RegfileDecl& file : spec.regfiles)
      line(1, fmt::format("regfile {} : {}[{}]{};", file.name.text, file.dtype.text, print_expr(file.count),
                          file.zero ? " zero=" + print_expr(*file.zero) : ""));
    for (const StateDecl& state : spec.states) print_state(state);
    for (const InstrDecl& instr : spec.instrs) print_instr(instr);
    for (const HwloopDecl& loop : spec.hwloops)
      line(1, fmt::format("hwloop {} begin {} end {} depth={}{}{} count in {};", loop.name.text,
                          quote(loop.begin), quote(loop.end), print_expr(loop.depth),
                          loop.counter ? " counter=" + loop.counter->text : "",
                          loop.body ? " body=" + print_expr(*loop.body) : "", print_domain(loop.count)));
    for (const RuleDecl& rule : spec.rules)
      line(1, fmt::format("rule {} : {} : {};", rule.name.text, print_expr(rule.condition),
                          quote(rule.message)));
    return std::move(out_) + "}\n";
  }

 private:
  void line(int depth, std::string_view text) {
    out_.append(static_cast<size_t>(depth) * 2, ' ').append(text).append("\n");
  }

  void print_profiles(const Spec& spec) {
    for (const ProfileDecl& profile : spec.profiles) {
      line(1, fmt::format("profile {} {{", profile.name.text));
      for (const Setting& setting : profile.settings)
        line(2, fmt::format("{} = {};", setting.param.text, print_expr(setting.value)));
      line(1, "}");
    }
    if (spec.profile) line(1, fmt::format("default profile {};", spec.profile->text));
  }

  void print_engines(const Spec& spec) {
    if (spec.engines.empty()) return;
    std::string names;
    for (const Name& engine : spec.engines) names += (names.empty() ? "" : ", ") + engine.text;
    line(1, fmt::format("engine {};", names));
  }

  void print_memory(const MemoryDecl& memory) {
    std::string text = fmt::format("memory {} : {}", memory.name.text, print_type(memory.type));
    if (memory.offchip) text += " offchip";
    if (memory.banks) text += " banks=" + print_expr(*memory.banks);
    if (memory.align) text += " align=" + print_expr(*memory.align);
    line(1, text + ";");
  }

  void print_state(const StateDecl& state) {
    const char* role = state.role == StateRole::kConfig   ? " config"
                       : state.role == StateRole::kHidden ? " hidden"
                                                          : "";
    line(1, fmt::format("state {} : {} = {}{}{};", state.name.text,
                        state.type ? print_type(*state.type) : print_domain(state.domain),
                        state.initial ? print_expr(*state.initial) : print_float(state.initial_float), role,
                        state.condition ? " when " + print_expr(*state.condition) : ""));
  }

  // Always with a point or an exponent, so that it reads back as a float literal.
  static std::string print_float(double value) {
    std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }

  static std::string print_operand(const OperandDecl& operand) {
    const std::string name = operand.name.text + ": ";
    switch (operand.kind) {
      case OperandKind::kAddress:
        return name + "addr " + operand.base.text +
               (operand.align ? " align " + print_expr(*operand.align) : "");
      case OperandKind::kInteger:
        return name + "int in " + print_domain(operand.domain);
      case OperandKind::kRegister:
        return name + "reg " + operand.base.text;
      case OperandKind::kImmediate:
        break;
    }
    return name + "imm " + print_expr(*operand.bits);
  }

  void print_instr(const InstrDecl& instr) {
    std::string operands;
    for (const OperandDecl& operand : instr.operands)
      operands += (operands.empty() ? "" : ", ") + print_operand(operand);
    line(1, fmt::format("instr {}({}){}{} {{", instr.name.text, operands,
                        instr.engine ? " engine " + instr.engine->text : "",
                        instr.condition ? " when " + print_expr(*instr.condition) : ""));
    for (const Clause& clause : instr.clauses) print_clause(clause, 2);
    line(1, "}");
  }

  void print_clause(const Clause& clause, int depth) {
    const std::string& name = clause.name.text;
    switch (clause.kind) {
      case ClauseKind::kRead:
        return line(depth, fmt::format("read {} = {};", name, print_slice(clause.slice)));
      case ClauseKind::kWrite:
        return line(depth, fmt::format("write {} = {};", print_slice(clause.slice), name));
      case ClauseKind::kUpdate:
        return line(depth, fmt::format("update {} {} {};", print_slice(clause.slice),
                                       clause.maximum ? "max=" : "+=", name));
      case ClauseKind::kRequires:
        return line(depth, fmt::format("requires {}{};", print_expr(*clause.expr),
                                       clause.text.empty() ? "" : " : " + quote(clause.text)));
      case ClauseKind::kSets:
        return line(depth, fmt::format("sets {} = {};", name, print_expr(*clause.expr)));
      case ClauseKind::kWhen:
        return print_block(fmt::format("when {} {{", print_expr(*clause.expr)), clause.body, depth);
      case ClauseKind::kElse:
        return print_block("else {", clause.body, depth);
      case ClauseKind::kSem:
        return print_sem(clause.text, depth);
      case ClauseKind::kCost:
        return line(depth, fmt::format("cost {} = {};", name, print_expr(*clause.expr)));
      case ClauseKind::kEmit:
        return line(depth, fmt::format("emit {};", quote(clause.text)));
      case ClauseKind::kClobbers:
        return line(depth, fmt::format("clobbers {};", name));
      case ClauseKind::kEncode:
        break;
    }
    line(depth, "encode {");
    for (const Field& field : clause.fields)
      line(depth + 1, fmt::format("{}[{}:{}] = {};", field.word.text, print_expr(field.high),
                                  print_expr(field.low), print_expr(field.value)));
    line(depth, "}");
  }

  void print_block(std::string_view head, const std::vector<Clause>& body, int depth) {
    line(depth, head);
    for (const Clause& clause : body) print_clause(clause, depth + 1);
    line(depth, "}");
  }

  void print_sem(std::string_view text, int depth) {
    line(depth, "sem {");
    while (!text.empty()) {
      const size_t end = text.find('\n');
      line(depth + 1, text.substr(0, end));
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    line(depth, "}");
  }

  std::string out_;
};

}  // namespace

std::string print_spec(const Spec& spec) {
  return Printer().run(spec);
}

}  // namespace zomboss::taidl
