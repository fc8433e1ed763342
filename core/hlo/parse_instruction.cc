// Instructions: names, operands (nested and indexed ones too), parameters and constants.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/hlo/checker.h"
#include "core/hlo/parser_internal.h"
#include "core/hlo/shape_rules.h"

namespace zomboss::hlo {

bool Parser::instruction() {
  const bool is_root = token().is_name("ROOT") && lexer_.peek() != '=';
  const size_t root_offset = token().begin;
  if (is_root) lexer_.next();
  const Token name = token();
  if (name.kind != TokenKind::kName)
    return fail_here(fmt::format("expected an instruction's name, found {}", describe_token()));
  lexer_.next();
  if (!expect('=', fmt::format("after the name '{}'", name.text))) return false;
  Instruction in;
  in.where = source_.location(name.begin);
  const size_t before = diagnostics_.errors();
  bool parsed = true;
  std::optional<Shape> stated;
  if (at_shape()) parsed = shape(stated.emplace());
  parsed = parsed && right_hand_side(in, stated) && attributes(in, false) &&
           finish_instruction(in, std::move(stated));
  // A failed instruction keeps its name with an invalid shape, so that its users do not repeat the error.
  if (!parsed) {
    const Location where = in.where;
    in = {};
    in.where = where;
  }
  in.name = name.text;
  const uint32_t index = add(std::move(in));
  if (is_root && body_.root) {
    const Instruction& other = body_.computation.instructions[*body_.root];
    body_.broken = true;
    fail(root_offset, fmt::format("a second ROOT; '{}' is the root already", other.name));
  }
  if (is_root) body_.root = index;
  if (!body_.names.emplace(name.text, index).second) {
    body_.broken = true;
    fail(name.begin, fmt::format("'{}' is defined twice in '{}'", name.text, body_.computation.name));
  }
  if (diagnostics_.errors() != before) body_.broken = true;
  return parsed;
}

uint32_t Parser::add(Instruction&& in) {
  body_.shape_nodes.push_back(static_cast<uint32_t>(std::min<size_t>(shape_nodes(in.shape), UINT32_MAX)));
  body_.computation.instructions.push_back(std::move(in));
  return static_cast<uint32_t>(body_.computation.instructions.size()) - 1;
}

uint32_t Parser::add_anonymous(Instruction&& in) {
  const uint32_t index = add(std::move(in));
  body_.anonymous.push_back(index);
  return index;
}

bool Parser::is_poisoned(const Instruction& in) const {
  const auto invalid = [&](uint32_t operand) {
    return body_.computation.instructions[operand].shape.dtype == DType::Invalid;
  };
  const auto broken = [&](uint32_t computation) { return broken_[computation]; };
  const Attributes& attributes = in.attributes;
  return std::ranges::any_of(in.operands, invalid) || std::ranges::any_of(attributes.calls, broken) ||
         std::ranges::any_of(attributes.branches, broken) ||
         (attributes.condition && broken(*attributes.condition)) ||
         (attributes.body && broken(*attributes.body));
}

// The opcode and what stands in its parentheses.
bool Parser::right_hand_side(Instruction& in, const std::optional<Shape>& stated) {
  return opcode(in) && arguments(in, stated);
}

bool Parser::opcode(Instruction& in) {
  const Token word = token();
  if (word.kind != TokenKind::kName || word.percent)
    return fail_here(fmt::format("expected an opcode, found {}", describe_token()));
  if (!is_opcode(word.text) && synchronous_opcode(word.text) == word.text)
    return fail_here(fmt::format("unknown opcode '{}'", word.text), opcode_hint(word.text));
  in.opcode = word.text;
  lexer_.next();
  return expect('(', fmt::format("after the opcode '{}'", word.text));
}

bool Parser::arguments(Instruction& in, const std::optional<Shape>& stated) {
  if (in.opcode == "parameter") {
    if (!parameter_argument(in)) return false;
  } else if (in.opcode == "constant") {
    if (!constant_argument(in, stated)) return false;
  } else if (!operands(in)) {
    return false;
  }
  return expect(')', fmt::format("to close the operands of '{}'", in.opcode));
}

bool Parser::operands(Instruction& in) {
  if (token().is(')')) return true;
  do {
    if (!operand(in)) return false;
  } while (accept(','));
  return true;
}

bool Parser::operand(Instruction& in) {
  const DepthGuard guard(depth_);
  if (guard.too_deep()) {
    fail_here(fmt::format("more than {} levels of nesting", kMaxDepth));
    fatal_ = true;
    return false;
  }
  std::optional<Shape> stated;
  if (at_shape() && !shape(stated.emplace())) return false;
  if (token().kind != TokenKind::kName)
    return fail_here(fmt::format("expected an operand of '{}', found {}", in.opcode, describe_token()));
  const Token first = token();
  uint32_t index = 0;
  if (!token().percent && lexer_.peek() == '(') {
    Instruction nested;
    nested.where = source_.location(token().begin);
    if (!right_hand_side(nested, stated) || !attributes(nested, true) ||
        !finish_instruction(nested, std::exchange(stated, std::nullopt)))
      return false;
    index = add_anonymous(std::move(nested));
  } else if (!named_operand(index)) {
    return false;
  }
  size_t end = first.end;
  while (token().is('#')) {
    Instruction element;
    element.opcode = "get-tuple-element";
    element.where = source_.location(token().begin);
    element.operands = {index};
    lexer_.next();
    if (token().kind != TokenKind::kInteger)
      return fail_here(fmt::format("expected a tuple index after '#', found {}", describe_token()));
    int64_t position = 0;
    end = token().end;
    if (!integer(position)) return false;
    element.attributes.index = position;
    if (!finish_instruction(element, std::nullopt)) return false;
    index = add_anonymous(std::move(element));
  }
  const Shape& actual = body_.computation.instructions[index].shape;
  if (stated && actual.dtype != DType::Invalid && !stated->same_type(actual))
    return fail(first.begin, fmt::format("'{}' is used as {}, but it is {}", lexer_.text(first.begin, end),
                                         stated->text(), actual.text()));
  in.operands.push_back(index);
  return true;
}

bool Parser::named_operand(uint32_t& index) {
  const auto found = body_.names.find(token().text);
  if (found == body_.names.end()) {
    constexpr size_t kCandidates = 1000;  // the latest ones; a list of all could be long
    std::vector<std::string> names;
    const auto& instructions = body_.computation.instructions;
    for (size_t i = instructions.size() - std::min(instructions.size(), kCandidates); i < instructions.size();
         ++i)
      names.push_back(instructions[i].name);
    const std::string nearest = token().text.size() <= 100 ? nearest_name(token().text, names) : "";
    return fail_here(fmt::format("'{}' is not defined before this use", token().text),
                     nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
  }
  index = found->second;
  lexer_.next();
  return true;
}

bool Parser::parameter_argument(Instruction& in) {
  if (scope_ != nullptr)
    return fail_here("a statement block has no parameters", "use the operand's name itself");
  const size_t offset = token().begin;
  int64_t number = 0;
  if (!integer(number)) return false;
  if (number < 0) return fail(offset, fmt::format("a parameter number cannot be {}", number));
  in.parameter_number = number;
  return true;
}

bool Parser::constant_argument(Instruction& in, const std::optional<Shape>& stated) {
  const size_t offset = token().begin;
  if (!stated) return fail_here("a constant needs its type before the opcode, as in 'f32[] constant(1)'");
  if (at_shape() && !token().is('(')) {  // very old dumps repeat the type inside
    Shape repeated;
    if (!shape(repeated)) return false;
    if (!repeated.same_type(*stated))
      return fail(offset,
                  fmt::format("the constant is {} outside and {} inside", stated->text(), repeated.text()));
  }
  Literal value;
  bool is_splat = false;
  if (!literal(*stated, value, is_splat)) return false;
  if (!is_splat) {
    in.literal = std::move(value);
    return true;
  }
  // A scalar for an array of several elements: zero is the one value with a single reading. It becomes a
  // broadcast, since an array of zeros could be far larger than its text.
  if (std::ranges::any_of(value.bytes, [](char byte) { return byte != 0; }))
    return fail(offset, fmt::format("a scalar other than 0 cannot fill the constant {}", stated->text()),
                "write all elements, or broadcast a scalar constant");
  Instruction zero;
  zero.opcode = "constant";
  zero.where = in.where;
  zero.shape.dtype = stated->dtype;
  value.shape = zero.shape;
  zero.literal = std::move(value);
  in.opcode = "broadcast";
  in.operands = {add_anonymous(std::move(zero))};
  return true;
}

// Decides the shape and checks it.
bool Parser::finish_instruction(Instruction& in, std::optional<Shape> stated) {
  if (is_poisoned(in)) {
    body_.broken = true;
    if (stated) in.shape = *std::move(stated);
    return true;
  }
  if (!spend_shape_work(in)) return false;
  const bool given = stated.has_value();
  if (given) in.shape = *std::move(stated);
  auto error = check_or_infer(module_, body_.computation, in, given);
  if (error) {
    const size_t resume = error_offset_;
    diagnostics_.error(in.where, std::move(error->message), std::move(error->hint));
    error_offset_ = resume;
    // The text itself is fine: go on behind it, without checks of what uses this one.
    body_.broken = true;
    in.shape = {};
    return true;
  }
  if (given || !in.shape.is_tuple()) return true;
  const size_t nodes = shape_nodes(in.shape);
  inferred_nodes_ += nodes;
  if (nodes <= kMaxShapeNodes && inferred_nodes_ <= kMaxInferredNodes && shape_depth(in.shape) <= kMaxDepth)
    return true;
  fatal_ = true;  // after the message below: what follows would be as large
  diagnostics_.error(in.where, fmt::format("the inferred tuple type of '{}' is too large", in.opcode));
  return false;
}

// Tuple types are compared and copied node by node; a short text must not cause endless work.
bool Parser::spend_shape_work(const Instruction& in) {
  size_t nodes = 0;
  if (in.opcode != "get-tuple-element")
    for (const uint32_t operand : in.operands) nodes += body_.shape_nodes[operand];
  shape_work_ += nodes;
  if (nodes <= kMaxShapeNodes && shape_work_ <= kMaxShapeWork) return true;
  fail(token().begin,
       fmt::format("the tuple types of this text are too large to check: more than {} parts", kMaxShapeWork));
  fatal_ = true;
  return false;
}

}  // namespace zomboss::hlo
