#include "core/taidl/parse_clauses.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"

namespace zomboss::taidl {
namespace {

class ClauseParser {
 public:
  explicit ClauseParser(ParseState& state) : s_(state) {}

  bool parse_instr(InstrDecl& out) {
    if (!s_.expect_name(out.name, "the instruction's name") ||
        !s_.expect_punct("(", "and the instruction's operands"))
      return false;
    if (!s_.accept_punct(")")) {
      do {
        if (!parse_operand(out.operands.emplace_back())) return false;
      } while (s_.accept_punct(","));
      if (!s_.expect_punct(")", "or ',' after the operand")) return false;
    }
    if (s_.accept_word("engine") && !s_.expect_name(out.engine.emplace(), "an engine's name")) return false;
    if (s_.accept_word("when") && !s_.parse_optional_expr(out.condition)) return false;
    return s_.expect_punct("{", "and the instruction's clauses") && parse_block(out.clauses);
  }

 private:
  // Clauses up to and with the closing brace.
  bool parse_block(std::vector<Clause>& out) {
    while (!s_.at_end() && !s_.is_punct("}") && !too_many(s_.diagnostics())) {
      const size_t before = s_.position();
      if (!parse_clause(out.emplace_back())) recover(before);
    }
    return s_.expect_punct("}", "at the end of the block");
  }

  // Goes on behind the next ';' or nested block of this block, or before its '}'.
  void recover(size_t before) {
    if (s_.position() == before && !s_.is_punct("}")) s_.take();
    int depth = 0;
    while (!s_.at_end()) {
      if (depth == 0 && s_.is_punct("}")) return;
      const Token token = s_.take();
      if (token.kind == TokenKind::kSem && depth == 0) return;
      if (token.kind != TokenKind::kPunct) continue;
      if (token.text == "{") ++depth;
      if (token.text == ";" && depth == 0) return;
      if (token.text == "}" && --depth == 0) return;
    }
  }

  bool parse_operand(OperandDecl& out);
  bool parse_clause(Clause& out);
  bool parse_named_clause(Clause& out, const Token& word);
  bool parse_slice(Slice& out);
  bool parse_fields(std::vector<Field>& out);
  bool nested(Clause& out, const Token& word);
  bool take_sem(Clause& out);
  bool semicolon() { return s_.expect_punct(";", "at the end of the clause"); }

  ParseState& s_;
};

bool ClauseParser::parse_operand(OperandDecl& out) {
  if (!s_.expect_name(out.name, "an operand's name") || !s_.expect_punct(":", "and the operand's kind"))
    return false;
  if (s_.accept_word("addr")) {
    out.kind = OperandKind::kAddress;
    if (!s_.expect_name(out.base, "the memory of the address")) return false;
    return !s_.accept_word("align") || s_.parse_optional_expr(out.align);
  }
  if (s_.accept_word("int")) {
    out.kind = OperandKind::kInteger;
    return s_.expect_word("in", "and the operand's domain") && s_.parse_domain(out.domain);
  }
  if (s_.accept_word("reg")) {
    out.kind = OperandKind::kRegister;
    return s_.expect_name(out.base, "the register file of the operand");
  }
  if (s_.accept_word("imm")) {
    out.kind = OperandKind::kImmediate;
    return s_.parse_optional_expr(out.bits);
  }
  return s_.fail("an operand kind", "one of 'addr MEMORY', 'int in DOMAIN', 'reg FILE', 'imm BITS'");
}

bool ClauseParser::parse_slice(Slice& out) {
  if (!s_.expect_name(out.base, "a memory")) return false;
  if (s_.accept_punct("[")) {
    if (!s_.parse_optional_expr(out.start)) return false;
    if (s_.accept_punct("+:")) {
      if (!s_.parse_expr_list(out.counts, "]")) return false;
      if (out.counts.empty()) return s_.fail("a count after '+:'");
    } else if (!s_.expect_punct("]", "or '+: count' in the slice")) {
      return false;
    }
  }
  if (s_.accept_word("stride") && !s_.parse_optional_expr(out.stride)) return false;
  out.transposed = s_.accept_word("transposed");
  return !s_.accept_word("mask") || s_.expect_name(out.mask.emplace(), "the mask value");
}

bool ClauseParser::parse_fields(std::vector<Field>& out) {
  if (!s_.expect_punct("{", "and the encoding's fields")) return false;
  while (!s_.accept_punct("}")) {
    Field& field = out.emplace_back();
    if (!s_.expect_name(field.word, "the name of a machine word") || !s_.expect_punct("[") ||
        !s_.parse_expr(field.high) || !s_.expect_punct(":", "and the lowest bit") ||
        !s_.parse_expr(field.low) || !s_.expect_punct("]") || !s_.expect_punct("=") ||
        !s_.parse_expr(field.value) || !s_.expect_punct(";", "at the end of the field"))
      return false;
  }
  return true;
}

bool ClauseParser::nested(Clause& out, const Token& word) {
  if (!s_.enter(word)) return false;
  const bool ok = s_.expect_punct("{", "and the clauses of the branch") && parse_block(out.body);
  s_.leave();
  return ok;
}

bool ClauseParser::take_sem(Clause& out) {
  const std::string_view raw = s_.take().text;
  const Source& source = s_.diagnostics().source();
  out.kind = ClauseKind::kSem;
  out.sem_offset = static_cast<size_t>(raw.data() - source.text().data());
  out.sem_length = raw.size();
  out.text_where = source.location(out.sem_offset);
  constexpr std::string_view kBlanks = " \t\r";
  for (size_t begin = 0; begin <= raw.size();) {
    const size_t end = std::min(raw.find_first_of("\n\r", begin), raw.size());
    std::string_view line = raw.substr(begin, end - begin);
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (!line.empty()) out.text.append(out.text.empty() ? "" : "\n").append(line);
    begin = end + 1;
  }
  return true;
}

bool ClauseParser::parse_clause(Clause& out) {
  const Token word = s_.peek();
  out.where = word.where;
  if (word.kind == TokenKind::kSem) return take_sem(out);
  static const std::vector<std::string> kWords = {"read", "write", "update", "requires",
                                                  "sets", "when",  "else",   "sem",
                                                  "cost", "emit",  "encode", "clobbers"};
  const bool known = std::any_of(kWords.begin(), kWords.end(), [&](const auto& w) { return w == word.text; });
  if (word.kind == TokenKind::kIdent && known) {
    s_.take();
    return parse_named_clause(out, word);
  }
  const std::string near = nearest_name(word.text, kWords);
  return s_.fail("a clause", near.empty()
                                 ? "one of read, write, update, requires, sets, when, else, sem, cost, "
                                   "emit, encode, clobbers"
                                 : fmt::format("did you mean '{}'?", near));
}

bool ClauseParser::parse_named_clause(Clause& out, const Token& word) {
  if (word.text == "read") {
    out.kind = ClauseKind::kRead;
    return s_.expect_name(out.name, "a name for the value read") && s_.expect_punct("=") &&
           parse_slice(out.slice) && semicolon();
  }
  if (word.text == "write") {
    out.kind = ClauseKind::kWrite;
    return parse_slice(out.slice) && s_.expect_punct("=", "and the value to write") &&
           s_.expect_name(out.name, "the name of a value") && semicolon();
  }
  if (word.text == "update") {
    out.kind = ClauseKind::kUpdate;
    if (!parse_slice(out.slice)) return false;
    out.maximum = s_.is_word("max");
    if (out.maximum ? (s_.take(), !s_.expect_punct("=", "after 'max'")) : !s_.accept_punct("+="))
      return out.maximum ? false : s_.fail("'+=' or 'max='");
    return s_.expect_name(out.name, "the name of a value") && semicolon();
  }
  if (word.text == "requires") {
    out.kind = ClauseKind::kRequires;
    if (!s_.parse_optional_expr(out.expr)) return false;
    if (s_.accept_punct(":") && !s_.expect_string(out.text, out.text_where, "the message of the requirement"))
      return false;
    return semicolon();
  }
  if (word.text == "sets" || word.text == "cost") {
    out.kind = word.text == "sets" ? ClauseKind::kSets : ClauseKind::kCost;
    return s_.expect_name(out.name, word.text == "sets" ? "a state" : "the name of the cost") &&
           s_.expect_punct("=") && s_.parse_optional_expr(out.expr) && semicolon();
  }
  if (word.text == "when") {
    out.kind = ClauseKind::kWhen;
    return s_.parse_optional_expr(out.expr) && nested(out, word);
  }
  if (word.text == "else") {
    out.kind = ClauseKind::kElse;
    return nested(out, word);
  }
  if (word.text == "emit") {
    out.kind = ClauseKind::kEmit;
    return s_.expect_string(out.text, out.text_where, "the assembly text") && semicolon();
  }
  if (word.text == "clobbers") {
    out.kind = ClauseKind::kClobbers;
    return s_.expect_name(out.name, "a memory or a state") && semicolon();
  }
  if (word.text == "encode") {
    out.kind = ClauseKind::kEncode;
    return parse_fields(out.fields);
  }
  return s_.fail("'{' after 'sem'");
}

}  // namespace

bool parse_instr(ParseState& state, InstrDecl& out) {
  return ClauseParser(state).parse_instr(out);
}

}  // namespace zomboss::taidl
