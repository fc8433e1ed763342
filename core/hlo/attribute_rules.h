// Which attributes have a parsed form, on which opcodes, and which are known but kept as text. Internal to
// core/hlo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/module.h"

namespace zomboss::hlo {

enum class AttributeKind : uint8_t {
  kIntegerList,
  kInteger,
  kString,
  kWord,
  kSlice,
  kPadding,
  kWindow,
  kCalls,  // a computation or a list of them
  kCondition,
  kBody,
  kBranches,
  kBranch,  // true_computation, false_computation
};

struct AttributeRule {
  std::string_view key;
  AttributeKind kind;
  std::string_view opcodes;  // separated by blanks; "*": any
  std::vector<int64_t> Attributes::*list = nullptr;
  std::optional<int64_t> Attributes::*number = nullptr;
  std::string Attributes::*text = nullptr;
};

const AttributeRule* find_attribute(std::string_view key);
bool applies_to(const AttributeRule& rule, std::string_view opcode);
// Known to XLA; the text is kept without a warning.
bool is_kept_attribute(std::string_view key);
// The parsed attribute with the most similar key, or "".
std::string nearest_attribute(std::string_view key);

bool parse_padding(std::string_view text, std::vector<PadDim>& out);    // "0_1x0_0_2"
bool parse_window(std::string_view text, std::vector<WindowDim>& out);  // "{size=3x3 pad=1_1x0_1}"

}  // namespace zomboss::hlo
