// Literals of every element type. Bytes are appended as elements are read, so memory follows the text and not
// the stated shape.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "core/hlo/number.h"
#include "core/hlo/parser_internal.h"

namespace zomboss::hlo {
namespace {

// The nearest double; infinity when too large, zero when too small.
double parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);
  return value;
}

// f32 is rounded once, from the text; a detour through double would round twice.
uint64_t parse_f32(std::string_view text, double wide) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return encode(DType::F32, wide);
  uint32_t bits = 0;
  static_assert(sizeof bits == sizeof value);
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

std::string range_text(DType dtype) {
  return fmt::format("{} holds {} to {}", dtype_name(dtype), integer_min(dtype), integer_max(dtype));
}

}  // namespace

bool Parser::literal(const Shape& shape, Literal& out, bool& is_splat) {
  const DepthGuard guard(depth_);
  if (guard.too_deep()) return fail_here(fmt::format("more than {} levels of nesting", kMaxDepth));
  out.shape = shape;
  is_splat = false;
  if (shape.is_tuple()) return tuple_literal(shape, out);
  if (!shape.is_array()) return fail_here(fmt::format("a constant cannot be {}", shape.text()));
  if (token().is('{') && (shape.rank() > 0 || lexer_.peek() == '.')) {
    if (!array_literal(shape, 0, out)) return false;
    if (out.elided) out.bytes.clear();
    return true;
  }
  const int64_t count = shape.element_count();
  if (count == 0)
    return fail_here(
        fmt::format("expected '{{}}' for the empty constant {}, found {}", shape.text(), describe_token()));
  is_splat = count != 1;
  return element(shape.dtype, out.bytes);
}

bool Parser::tuple_literal(const Shape& shape, Literal& out) {
  if (token().is('{') && lexer_.peek() == '.') {
    out.elided = true;
    return array_literal(shape, 0, out);
  }
  if (!expect('(', "to open a tuple constant")) return false;
  for (size_t i = 0; i < shape.elements.size(); ++i) {
    if (i != 0 && !expect(',', "between the elements of a tuple constant")) return false;
    const size_t offset = token().begin;
    bool is_splat = false;
    Literal& part = out.elements.emplace_back();
    if (!literal(shape.elements[i], part, is_splat)) return false;
    if (is_splat)
      return fail(offset, fmt::format("a scalar cannot fill {} inside a tuple constant", part.shape.text()));
    out.elided = out.elided || part.elided;
  }
  return expect(')', fmt::format("after the {} elements of the tuple constant", shape.elements.size()));
}

// Braces of dimension `dim` and what is inside.
bool Parser::array_literal(const Shape& shape, size_t dim, Literal& out) {
  const size_t offset = token().begin;
  if (!expect('{', fmt::format("to open dimension {} of the constant {}", dim, shape.text()))) return false;
  if (token().kind == TokenKind::kDots) {
    lexer_.next();
    out.elided = true;
    return expect('}', "after '...'");
  }
  int64_t count = 0;
  while (!token().is('}')) {
    if (count == shape.dims[dim])
      return fail_here(
          fmt::format("dimension {} of {} has {} elements, here are more", dim, shape.text(), count));
    const bool read =
        dim + 1 == shape.rank() ? element(shape.dtype, out.bytes) : array_literal(shape, dim + 1, out);
    if (!read) return false;
    ++count;
    if (!accept(',') && !token().is('}'))
      return fail_here(fmt::format("expected ',' or '}}' in a constant, found {}", describe_token()));
  }
  const bool empty = count == 0 && shape.element_count() == 0;
  if (count != shape.dims[dim] && !empty)
    return fail(offset, fmt::format("dimension {} of {} needs {} elements, found {}", dim, shape.text(),
                                    shape.dims[dim], count));
  lexer_.next();
  return true;
}

bool Parser::element(DType dtype, std::string& bytes) {
  switch (dtype) {
    case DType::Pred:
      return pred_element(bytes);
    case DType::C64:
      return complex_element(DType::F32, bytes);
    case DType::C128:
      return complex_element(DType::F64, bytes);
    default:
      return is_integer(dtype) ? integer_element(dtype, bytes) : float_element(dtype, bytes);
  }
}

bool Parser::complex_element(DType part, std::string& bytes) {
  if (!token().is('(')) {
    if (!float_element(part, bytes)) return false;
    append_bits(part, 0, bytes);
    return true;
  }
  lexer_.next();
  return float_element(part, bytes) && expect(',', "between the parts of a complex number") &&
         float_element(part, bytes) && expect(')', "after the parts of a complex number");
}

bool Parser::pred_element(std::string& bytes) {
  const bool one = token().is_name("true") || (token().kind == TokenKind::kInteger && token().text == "1");
  const bool zero = token().is_name("false") || (token().kind == TokenKind::kInteger && token().text == "0");
  if (!one && !zero && scope_ != nullptr) return expression_element(DType::Pred, bytes);
  if (!one && !zero)
    return fail_here(fmt::format("expected true, false, 1 or 0 for pred, found {}", describe_token()));
  bytes += one ? '\1' : '\0';
  lexer_.next();
  return true;
}

bool Parser::integer_element(DType dtype, std::string& bytes) {
  if (scope_ != nullptr) return expression_element(dtype, bytes);
  if (token().kind != TokenKind::kInteger)
    return fail_here(
        fmt::format("expected a whole number for {}, found {}", dtype_name(dtype), describe_token()));
  const std::string_view text = token().text;
  const char* end = text.data() + text.size();
  int64_t value = 0;
  uint64_t large = 0;
  if (std::from_chars(text.data(), end, value).ec == std::errc()) {
    // u64 takes negative numbers as their two's complement, as XLA does.
    const bool fits = value < 0 ? value >= integer_min(dtype) || dtype == DType::U64
                                : static_cast<uint64_t>(value) <= integer_max(dtype);
    if (!fits) return fail_here(fmt::format("{} is out of range", describe_token()), range_text(dtype));
    append_bits(dtype, static_cast<uint64_t>(value), bytes);
  } else if (dtype == DType::U64 && std::from_chars(text.data(), end, large).ec == std::errc()) {
    append_bits(dtype, large, bytes);
  } else {
    return fail_here(fmt::format("{} is out of range", describe_token()), range_text(dtype));
  }
  lexer_.next();
  return true;
}

// A number of a statement block.
bool Parser::expression_element(DType dtype, std::string& bytes) {
  const size_t offset = token().begin;
  int64_t value = 0;
  if (!expression(value)) return false;
  const bool fits =
      value < 0 ? value >= integer_min(dtype) : static_cast<uint64_t>(value) <= integer_max(dtype);
  if (!fits) return fail(offset, fmt::format("{} is out of range", value), range_text(dtype));
  append_bits(dtype, static_cast<uint64_t>(value), bytes);
  return true;
}

bool Parser::float_element(DType dtype, std::string& bytes) {
  const Token number = token();
  if (number.is_name("nan") || number.text == "-nan")
    return nan_element(dtype, number.text.front() == '-', bytes);
  if (number.is_name("inf") || number.text == "-inf") {
    const double infinity = number.text.front() == '-' ? -HUGE_VAL : HUGE_VAL;
    const uint64_t bits = encode(dtype, infinity);
    if (!std::isinf(decode(dtype, bits)))
      return fail_here(fmt::format("{} has no infinity", dtype_name(dtype)));
    append_bits(dtype, bits, bytes);
    lexer_.next();
    return true;
  }
  const bool plain = number.kind == TokenKind::kInteger || number.kind == TokenKind::kDecimal;
  constexpr std::string_view kBehindNumber = "),}";
  if (!plain || (scope_ != nullptr && kBehindNumber.find(lexer_.peek()) == std::string_view::npos)) {
    if (scope_ == nullptr)
      return fail_here(
          fmt::format("expected a number for {}, found {}", dtype_name(dtype), describe_token()));
    int64_t value = 0;
    if (!expression(value)) return false;
    append_bits(dtype, encode(dtype, static_cast<double>(value)), bytes);
    return true;
  }
  const double value = parse_double(number.text);
  const uint64_t bits = dtype == DType::F32 ? parse_f32(number.text, value) : encode(dtype, value);
  if (std::isinf(value) || std::isinf(decode(dtype, bits)) || overflows(dtype, value))
    return fail_here(fmt::format("{} is out of range for {}", describe_token(), dtype_name(dtype)));
  if (dtype == DType::F8E8M0FNU && !(value > 0))
    return fail_here(fmt::format("{} is out of range for {}, which holds powers of two only",
                                 describe_token(), dtype_name(dtype)));
  append_bits(dtype, bits, bytes);
  lexer_.next();
  return true;
}

// nan, -nan, nan(0x7f): the payload is the mantissa.
bool Parser::nan_element(DType dtype, bool negative, std::string& bytes) {
  uint64_t bits = encode(dtype, std::copysign(NAN, negative ? -1.0 : 1.0));
  if (!is_nan(dtype, bits)) return fail_here(fmt::format("{} has no nan", dtype_name(dtype)));
  lexer_.next();
  if (token().is('(')) {
    lexer_.next();
    uint64_t payload = 0;
    const std::string_view digits = token().text;
    if (token().kind != TokenKind::kHex ||
        std::from_chars(digits.data() + 2, digits.data() + digits.size(), payload, 16).ec != std::errc())
      return fail_here(fmt::format("expected a nan payload such as 0x1, found {}", describe_token()));
    const uint64_t mask = (uint64_t{1} << float_format(dtype).mantissa_bits) - 1;
    const uint64_t with_payload = (bits & ~mask) | payload;
    if (payload == 0 || payload > mask || !is_nan(dtype, with_payload))
      return fail_here(fmt::format("{} is no nan payload of {}", describe_token(), dtype_name(dtype)));
    bits = with_payload;
    lexer_.next();
    if (!expect(')', "after the nan payload")) return false;
  }
  append_bits(dtype, bits, bytes);
  return true;
}

}  // namespace zomboss::hlo
