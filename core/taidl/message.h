// Placeholders in texts: `{expr}` in messages and emit strings, `{{` and `}}` for braces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/taidl/expr.h"
#include "core/taidl/scope.h"

namespace zomboss::taidl {

struct MessagePart {
  std::string text;  // literal text, or the text between the braces
  bool placeholder = false;
};

// Empty `parts` and false when a brace is not closed.
bool split_message(std::string_view text, std::vector<MessagePart>& parts);

// Reports placeholders that are no integer expression over the scope, at the position of the string.
void check_message(std::string_view text, Location where, const Scope& scope, Diagnostics& diagnostics);

// Placeholders with the names of `env` replaced; those that become a number lose their braces.
std::string fold_message(std::string_view text, const Env& env);

}  // namespace zomboss::taidl
