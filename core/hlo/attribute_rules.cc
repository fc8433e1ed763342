#include "core/hlo/attribute_rules.h"

#include <algorithm>
#include <charconv>

#include "core/base/text.h"
#include "core/hlo/parser_internal.h"

namespace zomboss::hlo {
namespace {

using Kind = AttributeKind;

AttributeRule list(std::string_view key, std::string_view opcodes, std::vector<int64_t> Attributes::*member) {
  return {.key = key, .kind = Kind::kIntegerList, .opcodes = opcodes, .list = member};
}
AttributeRule number(std::string_view key, std::string_view opcodes,
                     std::optional<int64_t> Attributes::*member) {
  return {.key = key, .kind = Kind::kInteger, .opcodes = opcodes, .number = member};
}
AttributeRule word(std::string_view key, std::string_view opcodes, std::string Attributes::*member) {
  return {.key = key, .kind = Kind::kWord, .opcodes = opcodes, .text = member};
}

constexpr std::string_view kDots = "dot scaled-dot ragged-dot";
constexpr std::string_view kDimensions =
    "broadcast transpose reduce concatenate map sort reverse get-dimension-size set-dimension-size "
    "all-gather "
    "all-to-all reduce-scatter topk";
constexpr std::string_view kCallers =
    "call map reduce reduce-window sort scatter select-and-scatter fusion custom-call all-reduce "
    "reduce-scatter "
    "async async-start async-update async-done topk";

const std::vector<AttributeRule>& rules() {
  using A = Attributes;
  // Immutable after construction.
  static const std::vector<AttributeRule> kRules = {
      list("lhs_batch_dims", kDots, &A::lhs_batch_dims),
      list("lhs_contracting_dims", kDots, &A::lhs_contracting_dims),
      list("rhs_batch_dims", kDots, &A::rhs_batch_dims),
      list("rhs_contracting_dims", kDots, &A::rhs_contracting_dims),
      list("dimensions", kDimensions, &A::dimensions),
      list("dynamic_slice_sizes", "dynamic-slice", &A::dynamic_slice_sizes),
      number("index", "get-tuple-element", &A::index),
      number("iota_dimension", "iota", &A::iota_dimension),
      number("feature_group_count", "convolution custom-call", &A::feature_group_count),
      number("batch_group_count", "convolution custom-call", &A::batch_group_count),
      word("dim_labels", "convolution custom-call", &A::dim_labels),
      word("direction", "compare", &A::direction),
      word("type", "compare", &A::comparison_type),
      word("kind", "fusion", &A::fusion_kind),
      {.key = "custom_call_target",
       .kind = Kind::kString,
       .opcodes = "custom-call",
       .text = &A::custom_call_target},
      {.key = "slice", .kind = Kind::kSlice, .opcodes = "slice"},
      {.key = "padding", .kind = Kind::kPadding, .opcodes = "pad"},
      {.key = "window",
       .kind = Kind::kWindow,
       .opcodes = "convolution reduce-window select-and-scatter custom-call"},
      {.key = "calls", .kind = Kind::kCalls, .opcodes = kCallers},
      {.key = "to_apply", .kind = Kind::kCalls, .opcodes = kCallers},
      {.key = "called_computations", .kind = Kind::kCalls, .opcodes = kCallers},
      {.key = "condition", .kind = Kind::kCondition, .opcodes = "while"},
      {.key = "body", .kind = Kind::kBody, .opcodes = "while"},
      {.key = "branch_computations", .kind = Kind::kBranches, .opcodes = "conditional"},
      {.key = "true_computation", .kind = Kind::kBranch, .opcodes = "conditional"},
      {.key = "false_computation", .kind = Kind::kBranch, .opcodes = "conditional"},
  };
  return kRules;
}

// Sorted.
constexpr std::string_view kKept[] = {
    "algorithm",
    "api_version",
    "async_execution_thread",
    "async_group_id",
    "backend_config",
    "channel_handle",
    "channel_id",
    "collapsed_slice_dims",
    "constrain_layout",
    "control-predecessors",
    "cross_program_prefetch_index",
    "custom_call_has_side_effect",
    "custom_call_schedule",
    "delta",
    "distribution",
    "domain",
    "entry",
    "epsilon",
    "execution_thread",
    "exit",
    "exponent_bits",
    "feature_index",
    "fft_length",
    "fft_type",
    "frontend_attributes",
    "index_vector_dim",
    "indices_are_sorted",
    "infeed_config",
    "inferred_dimension",
    "input_batching_dims",
    "inserted_window_dims",
    "is_composite",
    "is_cross_program_prefetch",
    "is_host_transfer",
    "is_stable",
    "k",
    "largest",
    "left_side",
    "lhs_ragged_dims",
    "literal",
    "lower",
    "mantissa_bits",
    "metadata",
    "offset_dims",
    "operand_batching_dims",
    "operand_layout_constraints",
    "operand_precision",
    "order",
    "origin",
    "original_value",
    "outfeed_config",
    "outfeed_shape",
    "output_to_operand_aliasing",
    "padding_type",
    "parameter_replication",
    "precision_config",
    "raw_backend_config",
    "replica_groups",
    "result_accuracy",
    "rhs_group_dims",
    "scatter",
    "scatter_dims_to_operand_dims",
    "scatter_indices_batching_dims",
    "schedule",
    "select",
    "sharding",
    "slice_sizes",
    "source_target_pairs",
    "sparsity_config",
    "split_dimension",
    "start_index_map",
    "start_indices_batching_dims",
    "statistics",
    "transpose_a",
    "unique_indices",
    "unit_diagonal",
    "update_window_dims",
    "use_global_device_ids",
};
static_assert(std::ranges::is_sorted(kKept));

// The next item of a list joined by `separator`.
std::string_view take(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view item = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return item;
}

// Bounded so that sizes computed from it stay within 128-bit arithmetic.
bool take_number(std::string_view& rest, char separator, int64_t& out) {
  const std::string_view item = take(rest, separator);
  const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), out);
  constexpr int64_t kLimit = int64_t{1} << 40;
  return error == std::errc() && end == item.data() + item.size() && out >= -kLimit && out <= kLimit;
}

bool set_window_field(std::string_view key, std::string_view item, WindowDim& dim) {
  if (key == "pad")
    return take_number(item, '_', dim.pad_low) && take_number(item, '_', dim.pad_high) && item.empty();
  int64_t value = 0;
  if (!take_number(item, '_', value) || !item.empty()) return false;
  if (key == "rhs_reversal") {
    dim.reversal = value == 1;
    return value == 0 || value == 1;
  }
  int64_t WindowDim::*const field = key == "size"         ? &WindowDim::size
                                    : key == "stride"     ? &WindowDim::stride
                                    : key == "lhs_dilate" ? &WindowDim::lhs_dilate
                                    : key == "rhs_dilate" ? &WindowDim::rhs_dilate
                                                          : nullptr;
  if (field == nullptr) return false;
  dim.*field = value;
  return value >= 1 || key == "size";
}

}  // namespace

const AttributeRule* find_attribute(std::string_view key) {
  for (const AttributeRule& rule : rules())
    if (rule.key == key) return &rule;
  return nullptr;
}

bool applies_to(const AttributeRule& rule, std::string_view opcode) {
  const std::string_view plain = synchronous_opcode(opcode);
  for (std::string_view rest = rule.opcodes; !rest.empty();) {
    const std::string_view candidate = take(rest, ' ');
    if (candidate == opcode || candidate == plain) return true;
  }
  // An asynchronous form of any opcode may name the computation that it wraps.
  return plain != opcode && rule.kind == Kind::kCalls;
}

bool is_kept_attribute(std::string_view key) {
  return std::ranges::binary_search(kKept, key);
}

std::string nearest_attribute(std::string_view key) {
  std::vector<std::string> names;
  for (const AttributeRule& rule : rules()) names.emplace_back(rule.key);
  return nearest_name(key, names);
}

bool parse_padding(std::string_view text, std::vector<PadDim>& out) {
  while (!text.empty()) {
    const bool more = text.find('x') != std::string_view::npos;
    std::string_view item = take(text, 'x');
    PadDim& dim = out.emplace_back();
    if (!take_number(item, '_', dim.low) || item.empty() || !take_number(item, '_', dim.high)) return false;
    if (!item.empty() && (!take_number(item, '_', dim.interior) || !item.empty())) return false;
    if (more && text.empty()) return false;
  }
  return true;
}

bool parse_window(std::string_view text, std::vector<WindowDim>& out) {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return false;
  text = text.substr(1, text.size() - 2);
  bool first = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" ,"), text.size());
    std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (field.empty()) continue;
    const std::string_view key = take(field, '=');
    size_t dim = 0;
    for (; !field.empty(); ++dim) {
      if (first) out.emplace_back();
      if (dim >= out.size() || !set_window_field(key, take(field, 'x'), out[dim])) return false;
    }
    if (dim == 0 || dim != out.size()) return false;
    first = false;
  }
  return true;
}

}  // namespace zomboss::hlo
