// Shapes: element types, dimensions, tuples, layouts.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/hlo/parser_internal.h"

namespace zomboss::hlo {
namespace {

std::string type_hint(std::string_view name) {
  std::vector<std::string> names;
  for (int i = 1; i <= static_cast<int>(DType::Opaque); ++i)
    names.emplace_back(dtype_name(static_cast<DType>(i)));
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "element types are pred, s8, u8, s32, f32, bf16, f8e4m3fn, ..."
                         : fmt::format("did you mean '{}'?", nearest);
}

}  // namespace

bool shape_is_bounded(const Shape& shape) {
  int64_t bytes = dtype_bytes(shape.dtype);
  for (const int64_t dim : shape.dims)
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(dim, 1), &bytes) || bytes > int64_t{1} << 62)
      return false;
  return true;
}

size_t shape_nodes(const Shape& shape) {
  size_t count = 1;
  for (const Shape& element : shape.elements) count += shape_nodes(element);
  return count;
}

int shape_depth(const Shape& shape) {
  int depth = 0;
  for (const Shape& element : shape.elements) depth = std::max(depth, shape_depth(element));
  return depth + 1;
}

bool Parser::at_shape() const {
  if (token().is('(')) return true;
  if (token().kind != TokenKind::kName || token().percent) return false;
  const char next = lexer_.peek();
  return next == '[' || (next == '(' && token().text == "b");
}

bool Parser::shape(Shape& out) {
  const DepthGuard guard(depth_);
  if (guard.too_deep()) {
    fail_here(fmt::format("more than {} levels of nesting", kMaxDepth));
    fatal_ = true;
    return false;
  }
  if (token().is('(')) return tuple_shape(out);
  if (token().kind != TokenKind::kName || token().percent)
    return fail_here(fmt::format("expected a type such as f32[2,3], found {}", describe_token()));
  return array_shape(out);
}

bool Parser::tuple_shape(Shape& out) {
  lexer_.next();
  out.dtype = DType::Tuple;
  while (!token().is(')')) {
    if (!shape(out.elements.emplace_back())) return false;
    if (!accept(',') && !token().is(')'))
      return fail_here(fmt::format("expected ',' or ')' in a tuple type, found {}", describe_token()));
  }
  lexer_.next();
  return true;
}

bool Parser::array_shape(Shape& out) {
  const Token type = token();
  const auto dtype = dtype_from_name(type.text);
  if (!dtype) {
    if (type.text == "b" && lexer_.peek() == '(') return fail_here("buffer types 'b(...)' are not supported");
    return fail_here(fmt::format("unknown element type '{}'", type.text), type_hint(type.text));
  }
  out.dtype = *dtype;
  lexer_.next();
  if (!expect('[', fmt::format("after the element type '{}'", type.text)) || !dimensions(out)) return false;
  if (!out.is_array() && !out.dims.empty())
    return fail(type.begin, fmt::format("{} has no dimensions: write {}[]", type.text, type.text));
  if (!bounded(out, type.begin)) return false;
  return !at_layout() || layout(out);
}

bool Parser::dimensions(Shape& out) {
  while (!token().is(']')) {
    const size_t offset = token().begin;
    const bool dynamic = token().kind == TokenKind::kLessEqual;
    if (token().is('?'))
      return fail_here("dimensions without a bound ('?') are not supported",
                       "give a size, or a bound as in '<=128'");
    if (dynamic) lexer_.next();
    int64_t size = 0;
    if (!integer(size)) return false;
    if (size < 0) return fail(offset, fmt::format("a dimension cannot be {}", size));
    if (out.dims.size() == kMaxRank) return fail(offset, fmt::format("more than {} dimensions", kMaxRank));
    out.dims.push_back(size);
    if (dynamic) out.dynamic.resize(out.dims.size() - 1, false), out.dynamic.push_back(true);
    if (!accept(',') && !token().is(']'))
      return fail_here(fmt::format("expected ',' or ']' after a dimension, found {}", describe_token()));
  }
  if (!out.dynamic.empty()) out.dynamic.resize(out.dims.size(), false);
  lexer_.next();
  return true;
}

// All later arithmetic on bytes and elements stays within 62 bits.
bool Parser::bounded(const Shape& shape, size_t offset) {
  if (shape_is_bounded(shape)) return true;
  return fail(offset, fmt::format("{} has more than 2^62 bytes", shape.text()));
}

// A '{' behind a type is a layout, or the body of a computation, which starts with a name.
bool Parser::at_layout() const {
  const char next = lexer_.peek();
  return token().is('{') && (is_digit(next) || next == ':' || next == '}');
}

bool Parser::layout(Shape& out) {
  const size_t begin = token().begin;
  std::string text;
  const size_t behind = raw_group(begin, text);
  if (behind > lexer_.end()) return false;
  std::erase(text, ' ');
  text = text.substr(1, text.size() - 2);
  const std::string_view order = std::string_view(text).substr(0, text.find(':'));
  std::vector<bool> seen(out.rank(), false);
  size_t count = 0;
  for (size_t i = 0; i < order.size(); ++count) {
    size_t dim = 0;
    const size_t digits = i;
    for (; i < order.size() && is_digit(order[i]) && dim < kMaxRank; ++i)
      dim = dim * 10 + static_cast<size_t>(order[i] - '0');
    if (i == digits || (i < order.size() && order[i] != ',') || i + 1 == order.size())
      return fail(begin, fmt::format("the layout {{{}}} is no list of dimensions", text));
    if (dim >= out.rank() || seen[dim])
      return fail(begin, fmt::format("the layout {{{}}} is no order of the {} dimensions of {}", text,
                                     out.rank(), out.text()));
    seen[dim] = true;
    if (i < order.size()) ++i;
  }
  if (count != out.rank() || !out.is_array())
    return fail(begin, fmt::format("the layout {{{}}} has {} dimensions, {} has {}", text, count, out.text(),
                                   out.rank()));
  if (!text.empty()) out.layout = std::move(text);
  lexer_.seek(behind);
  return true;
}

}  // namespace zomboss::hlo
