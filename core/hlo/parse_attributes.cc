// Attributes of instructions.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/hlo/attribute_rules.h"
#include "core/hlo/parser_internal.h"

namespace zomboss::hlo {

// Behind the operands: ", key=value" as often as it stands there. After a nested operand a ',' that no "key="
// follows belongs to the outer operand list.
bool Parser::attributes(Instruction& in, bool nested) {
  std::vector<std::string_view> seen;
  while (token().is(',')) {
    const size_t comma = token().begin;
    lexer_.next();
    const Token key = token();
    if (key.kind != TokenKind::kName || key.percent || lexer_.peek() != '=') {
      if (nested) {
        lexer_.seek(comma);
        return true;
      }
      return fail_here(
          fmt::format("expected an attribute 'key=value' of '{}', found {}", in.opcode, describe_token()));
    }
    if (seen.size() == kMaxAttributes)
      return fail(key.begin, fmt::format("more than {} attributes", kMaxAttributes));
    if (std::ranges::find(seen, key.text) != seen.end())
      return fail(key.begin, fmt::format("attribute '{}' stands twice", key.text));
    seen.push_back(key.text);
    if (!attribute(in)) return false;
  }
  return true;
}

bool Parser::attribute(Instruction& in) {
  const Token key = token();
  lexer_.next();
  lexer_.next();  // the '='
  if (const AttributeRule* rule = find_attribute(key.text)) {
    if (!applies_to(*rule, in.opcode))
      return fail(key.begin, fmt::format("attribute '{}' does not apply to '{}'", key.text, in.opcode));
    return attribute_value(in, key.text, *rule);
  }
  if (!is_kept_attribute(key.text) && warned_.insert(std::string(key.text)).second) {
    const std::string nearest = key.text.size() <= 100 ? nearest_attribute(key.text) : "";
    warn(key.begin, fmt::format("unknown attribute '{}' is kept but has no effect", key.text),
         nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
  }
  std::string value;
  if (!raw_value(value)) return false;
  if (key.text == "sparsity_config")
    return fail(key.begin, "sparse dots are not supported", "expand the sparse operand before the dot");
  in.attributes.other.emplace_back(key.text, std::move(value));
  return true;
}

bool Parser::attribute_value(Instruction& in, std::string_view key, const AttributeRule& rule) {
  Attributes& attributes = in.attributes;
  const size_t offset = token().begin;
  std::string text;
  switch (rule.kind) {
    case AttributeKind::kIntegerList:
      return integer_list(attributes.*rule.list);
    case AttributeKind::kInteger:
      return integer((attributes.*rule.number).emplace());
    case AttributeKind::kString:
      return string_value(attributes.*rule.text);
    case AttributeKind::kWord:
      return word_value(attributes.*rule.text);
    case AttributeKind::kSlice:
      return slice_list(attributes.slice);
    case AttributeKind::kPadding:
      if (!raw_value(text)) return false;
      return parse_padding(text, attributes.padding) ||
             fail(offset, fmt::format("'{}' is no padding", text),
                  "write low_high or low_high_interior per dimension, "
                  "joined by 'x', as in padding=0_1x0_0_2");
    case AttributeKind::kWindow:
      if (!raw_value(text)) return false;
      return parse_window(text, attributes.window) ||
             fail(offset, fmt::format("'{}' is no window", text),
                  "write as in window={size=3x3 stride=2x2 pad=1_1x0_1}");
    case AttributeKind::kCalls:
      return computation_names(in, attributes.calls);
    case AttributeKind::kCondition:
      return computation_name(in, attributes.condition.emplace());
    case AttributeKind::kBody:
      return computation_name(in, attributes.body.emplace());
    case AttributeKind::kBranches:
      if (!attributes.branches.empty()) return fail(offset, "the branches are given twice");
      return computation_names(in, attributes.branches);
    case AttributeKind::kBranch: {
      // true comes first, in whatever order the two stand.
      uint32_t branch = 0;
      if (attributes.branches.size() > 1) return fail(offset, "the branches are given twice");
      if (!computation_name(in, branch)) return false;
      attributes.branches.insert(
          key == "true_computation" ? attributes.branches.begin() : attributes.branches.end(), branch);
      return true;
    }
  }
  return false;
}

bool Parser::integer_list(std::vector<int64_t>& out) {
  if (!expect('{', "to open a list of numbers")) return false;
  while (!token().is('}')) {
    if (!integer(out.emplace_back())) return false;
    if (!accept(',') && !token().is('}'))
      return fail_here(fmt::format("expected ',' or '}}' in a list of numbers, found {}", describe_token()));
  }
  lexer_.next();
  return true;
}

bool Parser::slice_list(std::vector<SliceDim>& out) {
  if (!expect('{', "to open a slice")) return false;
  while (!token().is('}')) {
    SliceDim& dim = out.emplace_back();
    if (!expect('[', "to open a dimension of the slice") || !integer(dim.start) ||
        !expect(':', "after the start of a slice") || !integer(dim.limit))
      return false;
    if (accept(':') && !integer(dim.stride)) return false;
    if (!expect(']', "to close a dimension of the slice")) return false;
    if (!accept(',') && !token().is('}'))
      return fail_here(fmt::format("expected ',' or '}}' in a slice, found {}", describe_token()));
  }
  lexer_.next();
  return true;
}

bool Parser::word_value(std::string& out) {
  const size_t begin = token().begin;
  size_t end = begin;
  while (is_name_char(lexer_.at(end)) || lexer_.at(end) == '?' || lexer_.at(end) == '>') ++end;
  if (end == begin) return fail_here(fmt::format("expected a word, found {}", describe_token()));
  out = lexer_.text(begin, end);
  lexer_.seek(end);
  return true;
}

// One computation, or a braced list of them.
bool Parser::computation_names(Instruction& in, std::vector<uint32_t>& out) {
  if (!token().is('{')) return computation_name(in, out.emplace_back());
  lexer_.next();
  while (!token().is('}')) {
    if (!computation_name(in, out.emplace_back())) return false;
    if (!accept(',') && !token().is('}'))
      return fail_here(
          fmt::format("expected ',' or '}}' in a list of computations, found {}", describe_token()));
  }
  lexer_.next();
  return true;
}

bool Parser::computation_name(Instruction& in, uint32_t& out) {
  const Token name = token();
  out = 0;
  if (name.kind != TokenKind::kName)
    return fail_here(fmt::format("expected the name of a computation, found {}", describe_token()));
  const auto found = computation_names_.find(name.text);
  if (found != computation_names_.end()) {
    out = found->second;
  } else if (scope_ == nullptr || !builtin_reducer(in, name.text, out)) {
    // No invalid index may stay behind in the attributes of an instruction that is dropped anyway.
    return fail_here(
        fmt::format("computation '{}' is not defined before this use", name.text),
        scope_ != nullptr ? "a statement block knows add, multiply, maximum, minimum, and, or" : "");
  }
  lexer_.next();
  return true;
}

// In a statement block, `to_apply=add` makes a computation add.TYPE on first use.
bool Parser::builtin_reducer(const Instruction& in, std::string_view name, uint32_t& out) {
  constexpr std::string_view kReducers[] = {"add", "multiply", "maximum", "minimum", "and", "or"};
  if (std::ranges::find(kReducers, name) == std::end(kReducers) || in.operands.empty()) return false;
  const Shape& operand = body_.computation.instructions[in.operands[0]].shape;
  if (!operand.is_array()) return false;
  const std::string full_name = fmt::format("{}.{}", name, dtype_name(operand.dtype));
  for (size_t i = 0; i < module_.computations.size(); ++i) {
    out = static_cast<uint32_t>(i);
    if (module_.computations[i].name == full_name) return true;
  }
  Computation computation{
      .name = full_name, .instructions = {}, .root = 2, .parameters = {0, 1}, .where = in.where};
  for (int i = 0; i < 3; ++i) {
    Instruction& step = computation.instructions.emplace_back();
    step.name = std::string(1, "abc"[i]);
    step.opcode = i == 2 ? std::string(name) : "parameter";
    step.shape.dtype = operand.dtype;
    step.where = in.where;
    if (i < 2) step.parameter_number = i;
    if (i == 2) step.operands = {0, 1};
  }
  out = static_cast<uint32_t>(module_.computations.size());
  module_.computations.push_back(std::move(computation));
  broken_.push_back(false);
  return true;
}

}  // namespace zomboss::hlo
