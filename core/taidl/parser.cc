#include "core/taidl/parser.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

#include "core/base/text.h"
#include "core/taidl/parse_clauses.h"
#include "core/taidl/parse_state.h"

namespace zomboss::taidl {
namespace {

const std::vector<std::string>& declaration_words();

class SpecParser {
 public:
  explicit SpecParser(ParseState& state) : s_(state) {}

  void run() {
    if (!s_.expect_word("target", "at the beginning of the file")) return;
    if (!s_.expect_name(spec.target, "the target's name")) return;
    Where where;
    if (s_.peek().kind == TokenKind::kString) s_.expect_string(spec.title, where, "a title");
    if (!s_.expect_punct("{", "after the target's name")) return;
    while (!s_.at_end() && !s_.is_punct("}") && !too_many(s_.diagnostics())) {
      const size_t before = s_.position();
      if (!parse_declaration()) recover(before);
    }
    if (too_many(s_.diagnostics())) return;
    if (s_.expect_punct("}", "at the end of the target") && !s_.at_end()) s_.fail("the end of the file");
  }

  Spec spec;

 private:
  // Goes on behind the next ';' or block at the nesting of a declaration, or before a '}' that closes the
  // target.
  void recover(size_t before) {
    if (s_.position() == before && !s_.is_punct("}")) s_.take();
    int depth = 0;
    while (!s_.at_end()) {
      if (s_.is_punct("{")) ++depth;
      if (s_.is_punct("}")) {
        if (depth == 0) return;
        s_.take();
        if (--depth == 0) return;
        continue;
      }
      const bool semicolon = s_.is_punct(";");
      if (depth == 0 && is_declaration_start()) return;
      s_.take();
      if (semicolon && depth == 0) return;
    }
  }

  bool is_declaration_start() const {
    return (s_.is_word("instr") || s_.is_word("memory") || s_.is_word("rule") || s_.is_word("state")) &&
           s_.peek(1).kind == TokenKind::kIdent && (s_.is_punct("(", 2) || s_.is_punct(":", 2));
  }

  bool parse_declaration();
  bool parse_param();
  bool parse_constraint();
  bool parse_profile();
  bool parse_default(const Token& word);
  bool parse_once(const Token& word, std::optional<Name>& out, std::string_view what);
  bool parse_dtype();
  bool parse_engine();
  bool parse_memory();
  bool parse_state();
  bool parse_regfile();
  bool parse_hwloop();
  bool parse_rule();
  bool parse_type(TypeExpr& out);
  bool parse_initial(StateDecl& out);
  bool key_value(std::string_view key, std::optional<Expr>& out, bool& matched);
  bool semicolon() { return s_.expect_punct(";", "at the end of the declaration"); }

  ParseState& s_;
};

const std::vector<std::string>& declaration_words() {
  static const std::vector<std::string> kWords = {"param",   "requires", "profile", "default", "dtype",
                                                  "storage", "engine",   "memory",  "state",   "regfile",
                                                  "instr",   "hwloop",   "rule"};
  return kWords;
}

bool SpecParser::parse_declaration() {
  const Token word = s_.peek();
  if (word.kind == TokenKind::kIdent) {
    if (s_.accept_word("param")) return parse_param();
    if (s_.accept_word("requires")) return parse_constraint();
    if (s_.accept_word("profile")) return parse_profile();
    if (s_.accept_word("default")) return parse_default(word);
    if (s_.accept_word("storage")) return parse_once(word, spec.storage, "a storage format");
    if (s_.accept_word("dtype")) return parse_dtype();
    if (s_.accept_word("engine")) return parse_engine();
    if (s_.accept_word("memory")) return parse_memory();
    if (s_.accept_word("state")) return parse_state();
    if (s_.accept_word("regfile")) return parse_regfile();
    if (s_.accept_word("hwloop")) return parse_hwloop();
    if (s_.accept_word("rule")) return parse_rule();
    if (s_.accept_word("instr")) return parse_instr(s_, spec.instrs.emplace_back());
  }
  const std::string near = nearest_name(word.text, declaration_words());
  return s_.fail("a declaration", near.empty()
                                      ? fmt::format("one of {}", fmt::join(declaration_words(), ", "))
                                      : fmt::format("did you mean '{}'?", near));
}

bool SpecParser::parse_param() {
  ParamDecl& param = spec.params.emplace_back();
  if (!s_.expect_name(param.name, "the parameter's name")) return false;
  if (!s_.expect_punct("=", "and the parameter's value") || !s_.parse_expr(param.value)) return false;
  if (s_.accept_word("in") && !s_.parse_domain(param.domain.emplace())) return false;
  return semicolon();
}

bool SpecParser::parse_constraint() {
  ConstraintDecl& constraint = spec.constraints.emplace_back();
  return s_.parse_expr(constraint.condition) && s_.expect_punct(":", "and the requirement's message") &&
         s_.expect_string(constraint.message, constraint.message_where, "the requirement's message") &&
         semicolon();
}

bool SpecParser::parse_profile() {
  ProfileDecl& profile = spec.profiles.emplace_back();
  if (!s_.expect_name(profile.name, "the profile's name") ||
      !s_.expect_punct("{", "and the profile's parameters"))
    return false;
  while (!s_.at_end() && !s_.is_punct("}")) {
    Setting& setting = profile.settings.emplace_back();
    const bool ok = s_.expect_name(setting.param, "a parameter") &&
                    s_.expect_punct("=", "and the parameter's value") && s_.parse_expr(setting.value) &&
                    semicolon();
    // After an error, the rest of the profile is left out.
    while (!ok && !s_.at_end() && !s_.is_punct("}")) s_.take();
  }
  return s_.expect_punct("}", "at the end of the profile");
}

bool SpecParser::parse_default(const Token& word) {
  return s_.expect_word("profile", "after 'default'") && parse_once(word, spec.profile, "a profile");
}

// The name of a declaration that may stand once.
bool SpecParser::parse_once(const Token& word, std::optional<Name>& out, std::string_view what) {
  Name name;
  if (!s_.expect_name(name, what) || !semicolon()) return false;
  if (out) s_.diagnostics().error(word.where, fmt::format("'{}' stands twice", word.text));
  out = std::move(name);
  return true;
}

bool SpecParser::parse_dtype() {
  DtypeDecl& dtype = spec.dtypes.emplace_back();
  if (!s_.expect_name(dtype.name, "the format's name") || !s_.expect_punct("=") ||
      !s_.expect_word("mx", "(block-scaled, the only kind of format)") || !s_.expect_punct("("))
    return false;
  if (!s_.expect_word("elem", "in mx(elem=, block=, scale=)") || !s_.expect_punct("=") ||
      !s_.expect_name(dtype.elem, "an element type") || !s_.expect_punct(","))
    return false;
  if (!s_.expect_word("block", "in mx(elem=, block=, scale=)") || !s_.expect_punct("=") ||
      !s_.parse_expr(dtype.block) || !s_.expect_punct(","))
    return false;
  if (!s_.expect_word("scale", "in mx(elem=, block=, scale=)") || !s_.expect_punct("=") ||
      !s_.expect_name(dtype.scale, "an element type") || !s_.expect_punct(")"))
    return false;
  return semicolon();
}

bool SpecParser::parse_engine() {
  do {
    if (!s_.expect_name(spec.engines.emplace_back(), "an engine's name")) return false;
  } while (s_.accept_punct(","));
  return semicolon();
}

bool SpecParser::parse_type(TypeExpr& out) {
  if (!s_.expect_name(out.dtype, "an element type")) return false;
  if (!s_.expect_punct("[", "after the element type")) return false;
  if (s_.accept_punct("]")) return true;  // scalar
  if (s_.accept_punct("*")) {
    out.unbounded = true;
  } else if (!s_.parse_expr(out.dims.emplace_back())) {
    return false;
  }
  if (!s_.expect_punct("]", "after the dimension")) return false;
  while (s_.accept_punct("["))
    if (!s_.parse_expr(out.dims.emplace_back()) || !s_.expect_punct("]", "after the dimension")) return false;
  return true;
}

// key=expr, once.
bool SpecParser::key_value(std::string_view key, std::optional<Expr>& out, bool& matched) {
  if (out || !s_.accept_word(key)) return true;
  matched = true;
  return s_.expect_punct("=") && s_.parse_optional_expr(out);
}

bool SpecParser::parse_memory() {
  MemoryDecl& memory = spec.memories.emplace_back();
  if (!s_.expect_name(memory.name, "the memory's name") || !s_.expect_punct(":", "and the memory's type") ||
      !parse_type(memory.type))
    return false;
  for (bool matched = true; matched;) {
    matched = false;
    if (!key_value("banks", memory.banks, matched) || !key_value("align", memory.align, matched))
      return false;
    if (!memory.offchip && s_.accept_word("offchip")) memory.offchip = matched = true;
  }
  if (!s_.is_punct(";")) return s_.fail("'banks=', 'align=', 'offchip' or ';'");
  return semicolon();
}

bool SpecParser::parse_state() {
  StateDecl& state = spec.states.emplace_back();
  if (!s_.expect_name(state.name, "the state's name") ||
      !s_.expect_punct(":", "and the state's type or domain"))
    return false;
  // The one place with two tokens of lookahead: `s8[..` is a type, `DIM..` a domain.
  if (s_.peek().kind == TokenKind::kIdent && s_.is_punct("[", 1)) {
    if (!parse_type(state.type.emplace())) return false;
  } else if (!s_.parse_domain(state.domain)) {
    return false;
  }
  if (!s_.expect_punct("=", "and the state's initial value") || !parse_initial(state)) return false;
  if (s_.accept_word("config")) {
    state.role = StateRole::kConfig;
  } else if (s_.accept_word("hidden")) {
    state.role = StateRole::kHidden;
  }
  if (s_.accept_word("when") && !s_.parse_optional_expr(state.condition)) return false;
  if (!s_.is_punct(";"))
    return s_.fail(state.condition ? "an operator or ';'" : "'config', 'hidden', 'when' or ';'");
  return semicolon();
}

bool SpecParser::parse_initial(StateDecl& out) {
  out.initial_where = s_.peek().where;
  const bool negative = s_.is_punct("-") && s_.peek(1).kind == TokenKind::kFloat;
  if (!negative && s_.peek().kind != TokenKind::kFloat) return s_.parse_optional_expr(out.initial);
  if (negative) s_.take();
  const std::string text(s_.take().text);
  out.initial_float = std::strtod(text.c_str(), nullptr) * (negative ? -1 : 1);
  if (out.initial_float > 1.7e308 || out.initial_float < -1.7e308) {
    s_.diagnostics().error(out.initial_where, fmt::format("the number {} is too large", text));
    return false;
  }
  return true;
}

bool SpecParser::parse_regfile() {
  RegfileDecl& file = spec.regfiles.emplace_back();
  if (!s_.expect_name(file.name, "the register file's name") ||
      !s_.expect_punct(":", "and the registers' type") || !s_.expect_name(file.dtype, "an element type") ||
      !s_.expect_punct("[", "and the number of registers") || !s_.parse_expr(file.count) ||
      !s_.expect_punct("]", "after the number of registers"))
    return false;
  bool matched = false;
  return key_value("zero", file.zero, matched) && semicolon();
}

bool SpecParser::parse_hwloop() {
  HwloopDecl& loop = spec.hwloops.emplace_back();
  Where where;
  bool matched = false;
  const bool head =
      s_.expect_name(loop.name, "the loop's name") && s_.expect_word("begin", "in a hardware loop") &&
      s_.expect_string(loop.begin, where, "the text that begins the loop") &&
      s_.expect_word("end", "in a hardware loop") &&
      s_.expect_string(loop.end, where, "the text that ends the loop") &&
      s_.expect_word("depth", "in a hardware loop") && s_.expect_punct("=") && s_.parse_expr(loop.depth);
  if (!head) return false;
  if (s_.accept_word("counter") &&
      (!s_.expect_punct("=") || !s_.expect_name(loop.counter.emplace(), "a register file")))
    return false;
  return key_value("body", loop.body, matched) && s_.expect_word("count", "in a hardware loop") &&
         s_.expect_word("in", "and the loop's domain") && s_.parse_domain(loop.count) && semicolon();
}

bool SpecParser::parse_rule() {
  RuleDecl& rule = spec.rules.emplace_back();
  return s_.expect_name(rule.name, "the rule's name") && s_.expect_punct(":", "and the rule's condition") &&
         s_.parse_expr(rule.condition) && s_.expect_punct(":", "and the rule's message") &&
         s_.expect_string(rule.message, rule.message_where, "the rule's message") && semicolon();
}

}  // namespace

bool Clause::operator==(const Clause& other) const {
  return kind == other.kind && name == other.name && slice == other.slice && expr == other.expr &&
         maximum == other.maximum && text == other.text && body == other.body && fields == other.fields;
}

std::optional<Expr> parse_expression(const Source& source, size_t begin, size_t end,
                                     Diagnostics& diagnostics) {
  const size_t errors = diagnostics.errors();
  ParseState state(tokenize(source, begin, end, diagnostics), diagnostics);
  Expr expr;
  if (!state.parse_expr(expr)) return std::nullopt;
  if (!state.at_end()) state.fail("an operator");
  if (diagnostics.errors() != errors) return std::nullopt;
  return expr;
}

Result<Spec> parse_spec(const Source& source, Diagnostics& diagnostics) {
  ParseState state(tokenize(source, diagnostics), diagnostics);
  SpecParser parser(state);
  parser.run();
  ZB_TRY(diagnostics.status());
  return std::move(parser.spec);
}

}  // namespace zomboss::taidl
