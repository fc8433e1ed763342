// An HLO module in memory: what the parser builds, the checker verifies, and the printer, the operator graph
// and the oracle read. Plain values; a Module that parse_module returned is never changed, so any thread may
// read it. Source of the syntax and the meaning of each field: XLA's "HLO text" (docs/hlo.md lists what is
// accepted).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/source.h"
#include "zomboss/schema/common_generated.h"

namespace zomboss::hlo {

using wire::DType;

std::string_view dtype_name(DType dtype);                     // "s8"; "invalid" for Invalid
std::optional<DType> dtype_from_name(std::string_view name);  // exact, lower case
bool is_integer(DType dtype);                                 // S* and U*, not Pred
bool is_signed(DType dtype);                                  // S*
bool is_float(DType dtype);                                   // all F* and BF16
int dtype_bits(DType dtype);   // 8 for Pred; 0 for Token, Opaque, Tuple, Invalid
int dtype_bytes(DType dtype);  // whole bytes per stored element, at least 1

// An array, a tuple (dtype Tuple, `elements`), a token or an opaque value.
struct Shape {
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;          // major to minor
  std::vector<bool> dynamic;          // empty, or per dim: true for "<=n" (bounded)
  std::optional<std::string> layout;  // the text between the braces, without blanks, e.g. "1,0:T(8,128)"
  std::vector<Shape> elements;        // of a tuple

  bool is_tuple() const { return dtype == DType::Tuple; }
  bool is_array() const { return dtype_bits(dtype) != 0; }
  size_t rank() const { return dims.size(); }
  int64_t element_count() const;  // product of dims; the parser bounds it to fit in 62 bits
  // Same element type and dims; layouts do not matter.
  bool same_type(const Shape& other) const;
  std::string text(bool with_layout = false) const;  // "s8[32,64]", "(f32[], s32[2])"
  bool operator==(const Shape&) const = default;
};

// The value of a constant. Bits are stored per element in row-major order, little-endian, whole bytes per
// element (dtype_bytes); complex numbers as two floats.
struct Literal {
  Shape shape;
  std::string bytes;
  bool elided = false;            // written as {...}: the values are unknown
  std::vector<Literal> elements;  // of a tuple
  bool operator==(const Literal&) const = default;
};

struct WindowDim {
  int64_t size = 1, stride = 1, pad_low = 0, pad_high = 0, lhs_dilate = 1, rhs_dilate = 1;
  bool reversal = false;
  bool operator==(const WindowDim&) const = default;
};

struct SliceDim {
  int64_t start = 0, limit = 0, stride = 1;
  bool operator==(const SliceDim&) const = default;
};

struct PadDim {
  int64_t low = 0, high = 0, interior = 0;
  bool operator==(const PadDim&) const = default;
};

// The attributes with a meaning for some opcode, parsed. Lists that were not written are empty.
struct Attributes {
  std::vector<int64_t> lhs_batch_dims, lhs_contracting_dims, rhs_batch_dims, rhs_contracting_dims;  // dot
  std::vector<int64_t> dimensions;  // broadcast, transpose, reduce, concatenate, map, sort, reverse
  std::vector<SliceDim> slice;
  std::vector<PadDim> padding;
  std::vector<WindowDim> window;
  std::string dim_labels;  // convolution, as written: "b01f_01io->b01f"
  std::vector<int64_t> dynamic_slice_sizes;
  std::optional<int64_t> index, iota_dimension, feature_group_count, batch_group_count;
  std::string direction, comparison_type;  // compare: "LT", "FLOAT"
  std::string custom_call_target, fusion_kind;
  // Called computations, as indices into Module::computations, in the order of the attribute.
  std::vector<uint32_t> calls;              // fusion calls, call/map/reduce/sort to_apply
  std::optional<uint32_t> condition, body;  // while
  std::vector<uint32_t> branches;           // conditional
  // Everything else that was accepted: the key and the raw text of the value, in source order (metadata,
  // sharding, backend_config, frontend_attributes, gather and scatter dimension numbers, unknown attributes,
  // ...).
  std::vector<std::pair<std::string, std::string>> other;
  bool operator==(const Attributes&) const = default;
};

// One instruction. Operands are indices of earlier instructions of the same computation.
struct Instruction {
  std::string name;    // without '%'
  std::string opcode;  // HLO spelling, e.g. "round-nearest-even"
  Shape shape;
  std::vector<uint32_t> operands;
  Attributes attributes;
  std::optional<Literal> literal;  // of a constant
  std::optional<int64_t> parameter_number;
  Location where;  // of the name (or of the opcode of an anonymous nested instruction)
};

struct Computation {
  std::string name;
  std::vector<Instruction> instructions;
  uint32_t root = 0;
  std::vector<uint32_t> parameters;  // instruction index by parameter number
  Location where;
};

struct Module {
  std::string name;
  std::vector<Computation> computations;  // a called computation stands before its callers
  uint32_t entry = 0;
  std::vector<std::pair<std::string, std::string>> attributes;  // of the HloModule line: key, raw text

  const Computation& entry_computation() const { return computations[entry]; }
};

// Equal in all but the locations.
bool equivalent(const Module& a, const Module& b);

}  // namespace zomboss::hlo
