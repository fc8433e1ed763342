// Checks of the parts of a surface message that stand alone. Internal to from_wire.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/mapping/knob.h"

namespace zomboss::mapping {

inline constexpr size_t kNameLimit = 64;  // characters of a knob, constraint or label

// A letter or _, then letters, digits, _ and the characters of `more`, at most kNameLimit of them.
bool is_name(std::string_view text, std::string_view more);
// Words that mean something else in terms, messages or intents.
bool is_reserved(std::string_view name);
// Text that goes to terminals, reports and JSON: UTF-8 without control characters, not too long.
Status check_text(const std::string& what, std::string_view text);

template <typename Enum>
bool in_range(Enum value, Enum last) {
  return static_cast<uint8_t>(value) <= static_cast<uint8_t>(last);
}

// All but the name. The message continues "knob 'NAME' ".
Status check_knob(const wire::KnobT& knob);
// Of a checked message; values and labels in default order.
Knob make_knob(const wire::KnobT& message);

}  // namespace zomboss::mapping
