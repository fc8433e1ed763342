#include "core/hlo/printer.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "core/hlo/lexer.h"
#include "core/hlo/number.h"
#include "core/hlo/parser_internal.h"

namespace zomboss::hlo {
namespace {

void append_name(std::string& out, std::string_view name) {
  if (name.empty() || !is_name_start(name.front())) out += '%';
  out += name;
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_float(std::string& out, DType dtype, uint64_t bits) {
  const double value = decode(dtype, bits);
  if (!is_nan(dtype, bits)) {
    // The shortest text in the nearest of float and double; reading it in a narrower format rounds back.
    out += dtype == DType::F64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
    return;
  }
  const FloatFormat format = float_format(dtype);
  const bool negative = format.specials != Specials::kNanNegativeZero &&
                        format.specials != Specials::kUnsigned &&
                        (bits >> (format.exponent_bits + format.mantissa_bits) & 1) != 0;
  out += negative ? "-nan" : "nan";
  if (bits != encode(dtype, std::copysign(NAN, negative ? -1.0 : 1.0)))
    out += fmt::format("(0x{:x})", bits & ((uint64_t{1} << format.mantissa_bits) - 1));
}

void append_element(std::string& out, DType dtype, const char* bytes) {
  if (dtype == DType::C64 || dtype == DType::C128) {
    const DType part = dtype == DType::C64 ? DType::F32 : DType::F64;
    out += '(';
    append_float(out, part, load_bits(part, bytes));
    out += ", ";
    append_float(out, part, load_bits(part, bytes + dtype_bytes(part)));
    out += ')';
    return;
  }
  const uint64_t bits = load_bits(dtype, bytes);
  if (is_float(dtype)) {
    append_float(out, dtype, bits);
  } else if (is_signed(dtype)) {
    const int unused = 64 - 8 * dtype_bytes(dtype);
    out += fmt::format_int(static_cast<int64_t>(bits << unused) >> unused).c_str();
  } else {
    out += fmt::format_int(bits).c_str();
  }
}

// Elements from `bytes` on, which moves forward.
void append_array(std::string& out, const Shape& shape, size_t dim, const char*& bytes) {
  if (dim == shape.rank()) {
    append_element(out, shape.dtype, bytes);
    bytes += dtype_bytes(shape.dtype);
    return;
  }
  out += '{';
  for (int64_t i = 0; i < shape.dims[dim]; ++i) {
    if (i != 0) out += ", ";
    append_array(out, shape, dim + 1, bytes);
  }
  out += '}';
}

void append_literal(std::string& out, const Literal& literal) {
  if (literal.shape.is_tuple() && !literal.elements.empty()) {
    out += '(';
    for (size_t i = 0; i < literal.elements.size(); ++i) {
      if (i != 0) out += ", ";
      append_literal(out, literal.elements[i]);
    }
    out += ')';
  } else if (literal.elided) {
    out += "{...}";
  } else if (literal.shape.is_tuple()) {
    out += "()";
  } else if (literal.shape.rank() == 0 && literal.shape.dtype == DType::Pred) {
    out += literal.bytes[0] != 0 ? "true" : "false";
  } else if (literal.shape.element_count() == 0) {
    out += "{}";
  } else {
    const char* bytes = literal.bytes.data();
    append_array(out, literal.shape, 0, bytes);
  }
}

void append_list(std::string& out, std::string_view key, const std::vector<int64_t>& list) {
  if (!list.empty()) out += fmt::format(", {}={{{}}}", key, fmt::join(list, ","));
}

void append_number(std::string& out, std::string_view key, const std::optional<int64_t>& number) {
  if (number) out += fmt::format(", {}={}", key, *number);
}

void append_word(std::string& out, std::string_view key, std::string_view word) {
  if (!word.empty()) out += fmt::format(", {}={}", key, word);
}

template <typename Field>
void append_window_field(std::string& out, std::string_view key, const std::vector<WindowDim>& window,
                         Field field, bool needed) {
  if (!needed) return;
  out += out.ends_with('{') ? "" : " ";
  out += key;
  out += '=';
  for (size_t i = 0; i < window.size(); ++i) {
    if (i != 0) out += 'x';
    out += field(window[i]);
  }
}

void append_window(std::string& out, const std::vector<WindowDim>& window) {
  if (window.empty()) return;
  bool stride = false, pad = false, lhs = false, rhs = false, reversal = false;
  for (const WindowDim& dim : window) {
    stride |= dim.stride != 1;
    pad |= dim.pad_low != 0 || dim.pad_high != 0;
    lhs |= dim.lhs_dilate != 1;
    rhs |= dim.rhs_dilate != 1;
    reversal |= dim.reversal;
  }
  using Dim = const WindowDim&;
  const auto text = [](int64_t value) { return fmt::format("{}", value); };
  out += ", window={";
  append_window_field(
      out, "size", window, [&](Dim dim) { return text(dim.size); }, true);
  append_window_field(
      out, "stride", window, [&](Dim dim) { return text(dim.stride); }, stride);
  append_window_field(
      out, "pad", window, [&](Dim dim) { return text(dim.pad_low) + "_" + text(dim.pad_high); }, pad);
  append_window_field(
      out, "lhs_dilate", window, [&](Dim dim) { return text(dim.lhs_dilate); }, lhs);
  append_window_field(
      out, "rhs_dilate", window, [&](Dim dim) { return text(dim.rhs_dilate); }, rhs);
  append_window_field(
      out, "rhs_reversal", window, [&](Dim dim) { return text(dim.reversal ? 1 : 0); }, reversal);
  out += '}';
}

void append_slice(std::string& out, const std::vector<SliceDim>& slice) {
  if (slice.empty()) return;
  out += ", slice={";
  for (size_t i = 0; i < slice.size(); ++i) {
    out += fmt::format("{}[{}:{}", i == 0 ? "" : ", ", slice[i].start, slice[i].limit);
    out += slice[i].stride == 1 ? "]" : fmt::format(":{}]", slice[i].stride);
  }
  out += '}';
}

void append_padding(std::string& out, const std::vector<PadDim>& padding) {
  for (size_t i = 0; i < padding.size(); ++i) {
    out += fmt::format("{}{}_{}", i == 0 ? ", padding=" : "x", padding[i].low, padding[i].high);
    if (padding[i].interior != 0) out += fmt::format("_{}", padding[i].interior);
  }
}

class Printer {
 public:
  explicit Printer(const Module& module) : module_(module) {}

  void computation(const Computation& computation, bool is_entry) {
    out_ += is_entry ? "ENTRY " : "";
    append_name(out_, computation.name);
    out_ += " {\n";
    for (size_t i = 0; i < computation.instructions.size(); ++i) {
      out_ += i == computation.root ? "  ROOT " : "  ";
      instruction(computation, computation.instructions[i]);
      out_ += '\n';
    }
    out_ += "}\n";
  }

  void instruction(const Computation& computation, const Instruction& in) {
    append_name(out_, in.name);
    out_ += fmt::format(" = {} {}(", in.shape.text(true), in.opcode);
    if (in.parameter_number) out_ += fmt::format("{}", *in.parameter_number);
    if (in.literal) append_literal(out_, *in.literal);
    for (size_t i = 0; i < in.operands.size(); ++i) {
      out_ += i == 0 ? "" : ", ";
      append_name(out_, computation.instructions[in.operands[i]].name);
    }
    out_ += ')';
    attributes(computation, in);
  }

  std::string take() { return std::move(out_); }
  void text(std::string_view text) { out_ += text; }

 private:
  void attributes(const Computation& computation, const Instruction& in) {
    const Attributes& a = in.attributes;
    append_list(out_, "lhs_batch_dims", a.lhs_batch_dims);
    append_list(out_, "lhs_contracting_dims", a.lhs_contracting_dims);
    append_list(out_, "rhs_batch_dims", a.rhs_batch_dims);
    append_list(out_, "rhs_contracting_dims", a.rhs_contracting_dims);
    append_list(out_, "dimensions", a.dimensions);
    if (in.opcode == "broadcast" && a.dimensions.empty()) out_ += ", dimensions={}";
    append_slice(out_, a.slice);
    append_padding(out_, a.padding);
    append_window(out_, a.window);
    append_word(out_, "dim_labels", a.dim_labels);
    append_number(out_, "feature_group_count", a.feature_group_count);
    append_number(out_, "batch_group_count", a.batch_group_count);
    append_list(out_, "dynamic_slice_sizes", a.dynamic_slice_sizes);
    append_number(out_, "index", a.index);
    append_number(out_, "iota_dimension", a.iota_dimension);
    append_word(out_, "direction", a.direction);
    append_word(out_, "type", a.comparison_type);
    append_word(out_, "kind", a.fusion_kind);
    if (!a.custom_call_target.empty()) {
      out_ += ", custom_call_target=";
      append_quoted(out_, a.custom_call_target);
    }
    callees(computation, in);
    for (const auto& [key, value] : a.other) append_word(out_, key, value);
  }

  void callees(const Computation& computation, const Instruction& in) {
    const Attributes& a = in.attributes;
    const bool by_pred = in.opcode == "conditional" && a.branches.size() == 2 && !in.operands.empty() &&
                         computation.instructions[in.operands[0]].shape.dtype == DType::Pred;
    if (a.calls.size() == 1 && in.opcode != "custom-call") {
      callee(calls_key(in.opcode), a.calls[0]);
    } else if (!a.calls.empty()) {
      callee_list(calls_key(in.opcode), a.calls);
    }
    if (a.condition) callee("condition", *a.condition);
    if (a.body) callee("body", *a.body);
    if (by_pred) {
      callee("true_computation", a.branches[0]);
      callee("false_computation", a.branches[1]);
    } else if (!a.branches.empty()) {
      callee_list("branch_computations", a.branches);
    }
  }

  void callee(std::string_view key, uint32_t index) {
    out_ += fmt::format(", {}=", key);
    append_name(out_, module_.computations[index].name);
  }

  void callee_list(std::string_view key, const std::vector<uint32_t>& indices) {
    out_ += fmt::format(", {}={{", key);
    for (size_t i = 0; i < indices.size(); ++i) {
      out_ += i == 0 ? "" : ", ";
      append_name(out_, module_.computations[indices[i]].name);
    }
    out_ += '}';
  }

  const Module& module_;
  std::string out_;
};

}  // namespace

std::string print(const Module& module) {
  Printer printer(module);
  printer.text("HloModule ");
  std::string name;
  append_name(name, module.name);
  printer.text(name);
  for (const auto& [key, value] : module.attributes) printer.text(fmt::format(", {}={}", key, value));
  printer.text("\n");
  for (size_t i = 0; i < module.computations.size(); ++i) {
    printer.text("\n");
    printer.computation(module.computations[i], i == module.entry);
  }
  return printer.take();
}

std::string print(const Module& module, const Computation& computation, const Instruction& instruction) {
  Printer printer(module);
  printer.instruction(computation, instruction);
  return printer.take();
}

std::string print(const Literal& literal) {
  std::string out;
  append_literal(out, literal);
  return out;
}

}  // namespace zomboss::hlo
