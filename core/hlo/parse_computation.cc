// Computations: headers, signatures, bodies, and where to go on after an error.
#include <fmt/format.h>

#include <algorithm>

#include "core/hlo/parser_internal.h"

namespace zomboss::hlo {

bool Parser::computation() {
  const Token first = token();
  if (first.kind != TokenKind::kName)
    return fail_here(fmt::format("expected a computation, found {}", describe_token()),
                     module_.computations.empty() ? "expected 'HloModule', 'ENTRY' or 'name {'"
                                                  : "nothing but computations may follow the last '}'");
  bool is_entry = first.is_name("ENTRY") && lexer_.peek() != '{';
  if (is_entry) lexer_.next();
  const Token name = token();
  if (name.kind != TokenKind::kName)
    return fail_here(fmt::format("expected the computation's name, found {}", describe_token()));
  lexer_.next();
  body_ = {};
  body_.computation.name = name.text;
  body_.computation.where = source_.location(name.begin);
  std::optional<Signature> signed_as;
  if (token().is('(') && !signature(signed_as.emplace())) return false;
  if (!expect('{', fmt::format("to open the body of computation '{}'", name.text))) return false;
  body_instructions();
  if (stopped()) return false;
  if (!token().is('}'))
    return fail_here(
        fmt::format("expected an instruction or '}}', found {}", describe_token()),
        fmt::format("the body of '{}' starts at line {}", name.text, body_.computation.where.line));
  lexer_.next();
  if (!computation_attributes()) return false;
  if (is_entry && entry_)
    return fail(first.begin,
                fmt::format("a second ENTRY; '{}' is the entry already", module_.computations[*entry_].name));
  if (!computation_names_.emplace(name.text, static_cast<uint32_t>(module_.computations.size())).second)
    fail(name.begin, fmt::format("computation '{}' is defined twice", name.text));
  if (is_entry) entry_ = static_cast<uint32_t>(module_.computations.size());
  finish_computation(signed_as);
  return !stopped();
}

bool Parser::signature(Signature& out) {
  out.offset = token().begin;
  lexer_.next();
  while (!token().is(')')) {
    if (token().kind != TokenKind::kName)
      return fail_here(fmt::format("expected a parameter name or ')', found {}", describe_token()));
    const std::string_view name = token().text;
    lexer_.next();
    if (!expect(':', fmt::format("after the parameter name '{}'", name))) return false;
    if (!shape(out.parameters.emplace_back())) return false;
    if (!accept(',') && !token().is(')'))
      return fail_here(fmt::format("expected ',' or ')' in the signature, found {}", describe_token()));
  }
  lexer_.next();
  if (token().kind != TokenKind::kArrow)
    return fail_here(fmt::format("expected '->' and the result type, found {}", describe_token()));
  lexer_.next();
  return shape(out.result);
}

// Up to the closing brace or the end; errors inside are recorded and passed over.
void Parser::body_instructions() {
  while (!stopped() && token().kind != TokenKind::kEnd && !token().is('}')) {
    if (!instruction()) {
      body_.broken = true;
      resynchronize();
    }
    if (scope_ != nullptr)
      while (accept(';')) {
      }
  }
}

bool Parser::computation_attributes() {
  while (accept(',')) {
    const Token key = token();
    if (key.kind != TokenKind::kName)
      return fail_here(fmt::format("expected an attribute of the computation, found {}", describe_token()));
    lexer_.next();
    std::string value;
    if (!expect('=', fmt::format("after the attribute '{}'", key.text)) || !raw_value(value)) return false;
    if (key.text != "execution_thread" && warned_.insert("computation " + std::string(key.text)).second)
      warn(key.begin, fmt::format("unknown attribute '{}' of a computation is dropped", key.text));
  }
  return true;
}

void Parser::finish_computation(const std::optional<Signature>& signature) {
  Computation& computation = body_.computation;
  if (computation.instructions.empty()) {
    if (!body_.broken)
      fail(token().begin, fmt::format("computation '{}' has no instruction", computation.name));
    body_.broken = true;
  } else {
    computation.root = body_.root.value_or(static_cast<uint32_t>(computation.instructions.size()) - 1);
    name_anonymous();
    if (!body_.broken) check_parameters();
    if (!body_.broken && signature) check_signature(*signature);
  }
  broken_.push_back(body_.broken);
  module_.computations.push_back(std::move(computation));
}

void Parser::check_parameters() {
  Computation& computation = body_.computation;
  std::vector<std::pair<int64_t, uint32_t>> numbered;
  for (size_t i = 0; i < computation.instructions.size(); ++i)
    if (const auto number = computation.instructions[i].parameter_number)
      numbered.emplace_back(*number, static_cast<uint32_t>(i));
  std::ranges::sort(numbered);
  for (size_t i = 0; i < numbered.size(); ++i) {
    const auto& [number, index] = numbered[i];
    const Instruction& in = computation.instructions[index];
    if (number == static_cast<int64_t>(i)) {
      computation.parameters.push_back(index);
      continue;
    }
    body_.broken = true;
    if (number < static_cast<int64_t>(i)) {
      diagnostics_.error(in.where,
                         fmt::format("parameter({}) of '{}' is defined twice", number, computation.name));
    } else {
      diagnostics_.error(
          in.where, fmt::format("parameter({}) without parameter({}) in '{}'", number, i, computation.name),
          "parameters are numbered from 0 without gaps");
    }
    return;
  }
}

void Parser::check_signature(const Signature& signature) {
  const Computation& computation = body_.computation;
  const auto mismatch = [&](std::string message) {
    body_.broken = true;
    fail(signature.offset, std::move(message));
  };
  if (signature.parameters.size() != computation.parameters.size())
    return mismatch(fmt::format("the signature of '{}' has {} parameters, its body has {}", computation.name,
                                signature.parameters.size(), computation.parameters.size()));
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    const Shape& actual = computation.instructions[computation.parameters[i]].shape;
    if (!signature.parameters[i].same_type(actual))
      return mismatch(fmt::format("the signature of '{}' has {} as parameter {}, its body has {}",
                                  computation.name, signature.parameters[i].text(), i, actual.text()));
  }
  const Shape& result = computation.instructions[computation.root].shape;
  if (!signature.result.same_type(result))
    mismatch(fmt::format("the signature of '{}' promises {}, its root is {}", computation.name,
                         signature.result.text(), result.text()));
}

// Nested operands have no name in the text: they get "opcode.N" with the first N that is free.
void Parser::name_anonymous() {
  if (body_.anonymous.empty()) return;
  std::set<std::string, std::less<>> taken;
  for (const Instruction& in : body_.computation.instructions)
    if (!in.name.empty()) taken.insert(in.name);
  uint64_t number = 0;
  for (const uint32_t index : body_.anonymous) {
    Instruction& in = body_.computation.instructions[index];
    do in.name = fmt::format("{}.{}", in.opcode, number++);
    while (!taken.insert(in.name).second);
  }
}

// Is `name =` (perhaps after ROOT) or '}' the first thing at this line start?
bool Parser::at_statement_start(size_t offset) const {
  const auto skip_spaces = [&] {
    while (lexer_.at(offset) == ' ' || lexer_.at(offset) == '\t') ++offset;
  };
  skip_spaces();
  if (lexer_.at(offset) == '}') return true;
  for (int word = 0; word < 2; ++word) {
    if (lexer_.at(offset) == '%') ++offset;
    const size_t begin = offset;
    while (is_name_char(lexer_.at(offset))) ++offset;
    if (offset == begin) return false;
    const bool root = lexer_.text(begin, offset) == "ROOT";
    skip_spaces();
    if (lexer_.at(offset) == '=') return lexer_.at(offset + 1) != '=';
    if (!root) return false;
  }
  return false;
}

// Behind an error: on to the next line that looks like a statement or closes the body.
void Parser::resynchronize() {
  if (fatal_) return;
  size_t offset = error_offset_;
  while (offset < lexer_.end()) {
    const char c = lexer_.at(offset++);
    if ((c == '\n' || c == '\r') && at_statement_start(offset)) break;
  }
  if (offset >= lexer_.end()) fatal_ = true;  // nothing more to read; what follows would only echo the error
  lexer_.seek(offset);
}

}  // namespace zomboss::hlo
