// The table of opcodes.
#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "core/hlo/checker.h"
#include "core/hlo/parser_internal.h"
#include "core/hlo/shape_rules.h"

namespace zomboss::hlo {
namespace {

constexpr unsigned kReal = kIntegerType | kFloatType;
constexpr unsigned kNumber = kReal | kComplexType;
constexpr unsigned kFractional = kFloatType | kComplexType;
constexpr unsigned kBits = kPredType | kIntegerType;
constexpr unsigned kArray = kPredType | kNumber;

// Sorted by name. Opcodes without a rule parse, and their stated shape is believed.
constexpr OpcodeInfo kOpcodes[] = {
    {"abs", 1, 1, abs_rule, kNumber},
    {"acos", 1, 1, same_as_operands, kFractional},
    {"acosh", 1, 1, same_as_operands, kFractional},
    {"add", 2, 2, same_as_operands, kArray},
    {"add-dependency", 2, 2, first_operand_rule, kAnyType},
    {"after-all", 0, -1, token_rule, kAnyType},
    {"all-gather", 1, -1, nullptr, kAnyType},
    {"all-reduce", 1, -1, nullptr, kAnyType},
    {"all-to-all", 1, -1, nullptr, kAnyType},
    {"and", 2, 2, same_as_operands, kBits},
    {"asin", 1, 1, same_as_operands, kFractional},
    {"asinh", 1, 1, same_as_operands, kFractional},
    {"async-done", 1, 1, nullptr, kAnyType},
    {"async-start", 0, -1, nullptr, kAnyType},
    {"async-update", 1, 1, nullptr, kAnyType},
    {"atan2", 2, 2, same_as_operands, kFractional},
    {"atanh", 1, 1, same_as_operands, kFractional},
    {"batch-norm-grad", 5, 5, nullptr, kAnyType},
    {"batch-norm-inference", 5, 5, first_operand_rule, kAnyType},
    {"batch-norm-training", 3, 3, nullptr, kAnyType},
    {"bitcast", 1, 1, bitcast_rule, kAnyType},
    {"bitcast-convert", 1, 1, bitcast_convert_rule, kArray},
    {"broadcast", 1, 1, broadcast_rule, kArray},
    {"call", 0, -1, call_rule, kAnyType},
    {"cbrt", 1, 1, same_as_operands, kFractional},
    {"ceil", 1, 1, same_as_operands, kFloatType},
    {"cholesky", 1, 1, same_as_operands, kFractional},
    {"clamp", 3, 3, clamp_rule, kReal},
    {"collective-broadcast", 1, -1, nullptr, kAnyType},
    {"collective-permute", 1, -1, nullptr, kAnyType},
    {"compare", 2, 2, compare_rule, kArray},
    {"complex", 2, 2, complex_rule, kFloatType},
    {"concatenate", 1, -1, concatenate_rule, kArray},
    {"conditional", 1, -1, conditional_rule, kAnyType},
    {"constant", 0, 0, constant_rule, kAnyType},
    {"convert", 1, 1, convert_rule, kArray},
    {"convolution", 2, 2, convolution_rule, kNumber},
    {"copy", 1, 1, first_operand_rule, kAnyType},
    {"copy-done", 1, 1, nullptr, kAnyType},
    {"copy-start", 1, 1, nullptr, kAnyType},
    {"cosh", 1, 1, same_as_operands, kFractional},
    {"cosine", 1, 1, same_as_operands, kFractional},
    {"count-leading-zeros", 1, 1, same_as_operands, kIntegerType},
    {"custom-call", 0, -1, nullptr, kAnyType},
    {"divide", 2, 2, same_as_operands, kNumber},
    {"domain", 1, 1, first_operand_rule, kAnyType},
    {"dot", 2, 2, dot_rule, kArray},
    {"dynamic-reshape", 1, -1, nullptr, kAnyType},
    {"dynamic-slice", 1, -1, dynamic_slice_rule, kArray},
    {"dynamic-update-slice", 2, -1, dynamic_update_slice_rule, kArray},
    {"erf", 1, 1, same_as_operands, kFloatType},
    {"exponential", 1, 1, same_as_operands, kFractional},
    {"exponential-minus-one", 1, 1, same_as_operands, kFractional},
    {"fft", 1, 1, nullptr, kAnyType},
    {"floor", 1, 1, same_as_operands, kFloatType},
    {"fusion", 0, -1, call_rule, kAnyType},
    {"gather", 2, 2, nullptr, kArray},
    {"get-dimension-size", 1, 1, nullptr, kArray},
    {"get-tuple-element", 1, 1, get_tuple_element_rule, kAnyType},
    {"imag", 1, 1, complex_part_rule, kFractional},
    {"infeed", 0, 1, nullptr, kAnyType},
    {"iota", 0, 0, iota_rule, kAnyType},
    {"is-finite", 1, 1, is_finite_rule, kFloatType},
    {"log", 1, 1, same_as_operands, kFractional},
    {"log-plus-one", 1, 1, same_as_operands, kFractional},
    {"logistic", 1, 1, same_as_operands, kFractional},
    {"map", 1, -1, map_rule, kArray},
    {"maximum", 2, 2, same_as_operands, kArray},
    {"minimum", 2, 2, same_as_operands, kArray},
    {"multiply", 2, 2, same_as_operands, kArray},
    {"negate", 1, 1, same_as_operands, kNumber},
    {"not", 1, 1, same_as_operands, kBits},
    {"opt-barrier", 1, 1, first_operand_rule, kAnyType},
    {"or", 2, 2, same_as_operands, kBits},
    {"outfeed", 1, 2, nullptr, kAnyType},
    {"pad", 2, 2, pad_rule, kArray},
    {"parameter", 0, 0, parameter_rule, kAnyType},
    {"partition-id", 0, 0, u32_scalar_rule, kAnyType},
    {"popcnt", 1, 1, same_as_operands, kIntegerType},
    {"power", 2, 2, same_as_operands, kNumber},
    {"ragged-all-to-all", 1, -1, nullptr, kAnyType},
    {"ragged-dot", 3, 3, nullptr, kAnyType},
    {"real", 1, 1, complex_part_rule, kFractional},
    {"recv", 1, -1, nullptr, kAnyType},
    {"recv-done", 1, -1, nullptr, kAnyType},
    {"reduce", 2, -1, reduce_rule, kArray},
    {"reduce-precision", 1, 1, same_as_operands, kFloatType},
    {"reduce-scatter", 1, -1, nullptr, kAnyType},
    {"reduce-window", 2, -1, reduce_window_rule, kArray},
    {"remainder", 2, 2, same_as_operands, kReal},
    {"replica-id", 0, 0, u32_scalar_rule, kAnyType},
    {"reshape", 1, 1, reshape_rule, kArray},
    {"reverse", 1, 1, reverse_rule, kArray},
    {"rng", 0, -1, nullptr, kAnyType},
    {"rng-bit-generator", 1, 1, nullptr, kAnyType},
    {"rng-get-and-update-state", 0, 0, nullptr, kAnyType},
    {"round-nearest-afz", 1, 1, same_as_operands, kFloatType},
    {"round-nearest-even", 1, 1, same_as_operands, kFloatType},
    {"rsqrt", 1, 1, same_as_operands, kFractional},
    {"scaled-dot", 2, 4, dot_rule, kArray},
    {"scatter", 3, -1, nullptr, kAnyType},
    {"select", 3, 3, select_rule, kAnyType},
    {"select-and-scatter", 3, 3, first_operand_rule, kArray},
    {"send", 1, -1, nullptr, kAnyType},
    {"send-done", 1, -1, nullptr, kAnyType},
    {"set-dimension-size", 2, 2, nullptr, kArray},
    {"shift-left", 2, 2, same_as_operands, kIntegerType},
    {"shift-right-arithmetic", 2, 2, same_as_operands, kIntegerType},
    {"shift-right-logical", 2, 2, same_as_operands, kIntegerType},
    {"sign", 1, 1, same_as_operands, kNumber},
    {"sine", 1, 1, same_as_operands, kFractional},
    {"sinh", 1, 1, same_as_operands, kFractional},
    {"slice", 1, 1, slice_rule, kArray},
    {"sort", 1, -1, sort_rule, kArray},
    {"sqrt", 1, 1, same_as_operands, kFractional},
    {"stochastic-convert", 2, 2, nullptr, kArray},
    {"subtract", 2, 2, same_as_operands, kNumber},
    {"tan", 1, 1, same_as_operands, kFractional},
    {"tanh", 1, 1, same_as_operands, kFractional},
    {"topk", 1, 1, nullptr, kArray},
    {"transpose", 1, 1, transpose_rule, kArray},
    {"triangular-solve", 2, 2, nullptr, kFractional},
    {"tuple", 0, -1, tuple_rule, kAnyType},
    {"while", 1, 1, while_rule, kAnyType},
    {"xor", 2, 2, same_as_operands, kBits},
};
static_assert(std::ranges::is_sorted(kOpcodes, {}, &OpcodeInfo::name));

// Names that other dialects use, for hints.
constexpr std::pair<std::string_view, std::string_view> kForeignNames[] = {
    {"broadcast_in_dim", "broadcast"},
    {"ceiling", "ceil"},
    {"clip", "clamp"},
    {"conv", "convolution"},
    {"cos", "cosine"},
    {"div", "divide"},
    {"dot_general", "dot"},
    {"exp", "exponential"},
    {"expm1", "exponential-minus-one"},
    {"log1p", "log-plus-one"},
    {"matmul", "dot"},
    {"max", "maximum"},
    {"min", "minimum"},
    {"mul", "multiply"},
    {"neg", "negate"},
    {"permute", "transpose"},
    {"pow", "power"},
    {"rem", "remainder"},
    {"return", "tuple"},
    {"sigmoid", "logistic"},
    {"sin", "sine"},
    {"sub", "subtract"},
    {"where", "select"},
};

}  // namespace

const OpcodeInfo* find_opcode(std::string_view name) {
  const auto found = std::ranges::lower_bound(kOpcodes, name, {}, &OpcodeInfo::name);
  return found != std::end(kOpcodes) && found->name == name ? &*found : nullptr;
}

std::string_view synchronous_opcode(std::string_view opcode) {
  for (const std::string_view suffix : {"-start", "-update", "-done"}) {
    if (!opcode.ends_with(suffix)) continue;
    const std::string_view plain = opcode.substr(0, opcode.size() - suffix.size());
    if (find_opcode(plain) != nullptr) return plain;
  }
  return opcode;
}

bool is_opcode(std::string_view opcode) {
  return find_opcode(opcode) != nullptr || synchronous_opcode(opcode) != opcode;
}

std::span<const std::string> opcode_names() {
  static const std::vector<std::string> kNames = [] {  // immutable after construction
    std::vector<std::string> names;
    for (const OpcodeInfo& info : kOpcodes) names.emplace_back(info.name);
    return names;
  }();
  return kNames;
}

std::string opcode_hint(std::string_view word) {
  if (word.size() > 100) return {};
  std::string dashed(word);
  std::ranges::replace(dashed, '_', '-');
  std::string nearest = is_opcode(dashed) ? dashed : nearest_name(word, opcode_names());
  for (const auto& [foreign, ours] : kForeignNames)
    if (foreign == word) nearest = ours;
  return nearest.empty() ? "" : "did you mean '" + nearest + "'?";
}

std::string_view calls_key(std::string_view opcode) {
  if (opcode == "custom-call") return "called_computations";
  if (opcode == "fusion" || opcode.ends_with("-start") || opcode.ends_with("-update") ||
      opcode.ends_with("-done"))
    return "calls";
  return "to_apply";
}

}  // namespace zomboss::hlo
