#include <fmt/format.h>

#include <array>

#include "core/hlo/module.h"

namespace zomboss::hlo {
namespace {

struct TypeInfo {
  DType dtype;
  std::string_view name;
  int bits;
};

// In the order of the enumeration, so that the value is the index.
constexpr std::array<TypeInfo, 36> kTypes = {{
    {DType::Invalid, "invalid", 0},
    {DType::Pred, "pred", 8},
    {DType::S1, "s1", 1},
    {DType::S2, "s2", 2},
    {DType::S4, "s4", 4},
    {DType::S8, "s8", 8},
    {DType::S16, "s16", 16},
    {DType::S32, "s32", 32},
    {DType::S64, "s64", 64},
    {DType::U1, "u1", 1},
    {DType::U2, "u2", 2},
    {DType::U4, "u4", 4},
    {DType::U8, "u8", 8},
    {DType::U16, "u16", 16},
    {DType::U32, "u32", 32},
    {DType::U64, "u64", 64},
    {DType::F16, "f16", 16},
    {DType::BF16, "bf16", 16},
    {DType::F32, "f32", 32},
    {DType::F64, "f64", 64},
    {DType::F8E5M2, "f8e5m2", 8},
    {DType::F8E4M3, "f8e4m3", 8},
    {DType::F8E4M3FN, "f8e4m3fn", 8},
    {DType::F8E4M3B11FNUZ, "f8e4m3b11fnuz", 8},
    {DType::F8E5M2FNUZ, "f8e5m2fnuz", 8},
    {DType::F8E4M3FNUZ, "f8e4m3fnuz", 8},
    {DType::F8E3M4, "f8e3m4", 8},
    {DType::F8E8M0FNU, "f8e8m0fnu", 8},
    {DType::F4E2M1FN, "f4e2m1fn", 4},
    {DType::F6E3M2FN, "f6e3m2fn", 6},
    {DType::F6E2M3FN, "f6e2m3fn", 6},
    {DType::C64, "c64", 64},
    {DType::C128, "c128", 128},
    {DType::Token, "token", 0},
    {DType::Opaque, "opaque", 0},
    {DType::Tuple, "tuple", 0},
}};

constexpr bool in_enumeration_order() {
  for (size_t i = 0; i < kTypes.size(); ++i)
    if (static_cast<size_t>(kTypes[i].dtype) != i) return false;
  return true;
}
static_assert(in_enumeration_order());

const TypeInfo& info(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  return kTypes[index < kTypes.size() ? index : 0];
}

bool same_computation(const Computation& a, const Computation& b) {
  if (a.name != b.name || a.root != b.root || a.parameters != b.parameters ||
      a.instructions.size() != b.instructions.size())
    return false;
  for (size_t i = 0; i < a.instructions.size(); ++i) {
    const Instruction& x = a.instructions[i];
    const Instruction& y = b.instructions[i];
    if (x.name != y.name || x.opcode != y.opcode || x.shape != y.shape || x.operands != y.operands ||
        x.attributes != y.attributes || x.literal != y.literal || x.parameter_number != y.parameter_number)
      return false;
  }
  return true;
}

void append_array(std::string& out, const Shape& shape) {
  out += dtype_name(shape.dtype);
  out += '[';
  for (size_t i = 0; i < shape.dims.size(); ++i) {
    if (i != 0) out += ',';
    if (i < shape.dynamic.size() && shape.dynamic[i]) out += "<=";
    out += fmt::format_int(shape.dims[i]).c_str();
  }
  out += ']';
}

void append_text(std::string& out, const Shape& shape, bool with_layout) {
  if (!shape.is_tuple()) {
    append_array(out, shape);
    if (with_layout && shape.layout) out += fmt::format("{{{}}}", *shape.layout);
    return;
  }
  out += '(';
  for (size_t i = 0; i < shape.elements.size(); ++i) {
    if (i != 0) out += ", ";
    append_text(out, shape.elements[i], with_layout);
  }
  out += ')';
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  return info(dtype).name;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const TypeInfo& type : kTypes)
    if (type.name == name && type.dtype != DType::Invalid && type.dtype != DType::Tuple) return type.dtype;
  return std::nullopt;
}

bool is_integer(DType dtype) {
  return dtype >= DType::S1 && dtype <= DType::U64;
}
bool is_signed(DType dtype) {
  return dtype >= DType::S1 && dtype <= DType::S64;
}
bool is_float(DType dtype) {
  return dtype >= DType::F16 && dtype <= DType::F6E2M3FN;
}
int dtype_bits(DType dtype) {
  return info(dtype).bits;
}
int dtype_bytes(DType dtype) {
  const int bits = dtype_bits(dtype);
  return bits <= 8 ? 1 : bits / 8;
}

int64_t Shape::element_count() const {
  if (!is_array()) return 0;
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

bool Shape::same_type(const Shape& other) const {
  if (dtype != other.dtype || dims != other.dims || elements.size() != other.elements.size()) return false;
  for (size_t i = 0; i < elements.size(); ++i)
    if (!elements[i].same_type(other.elements[i])) return false;
  return true;
}

std::string Shape::text(bool with_layout) const {
  std::string out;
  append_text(out, *this, with_layout);
  return out;
}

bool equivalent(const Module& a, const Module& b) {
  if (a.name != b.name || a.entry != b.entry || a.attributes != b.attributes ||
      a.computations.size() != b.computations.size())
    return false;
  for (size_t i = 0; i < a.computations.size(); ++i)
    if (!same_computation(a.computations[i], b.computations[i])) return false;
  return true;
}

}  // namespace zomboss::hlo
