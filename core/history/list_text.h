// Lists of strings in one column: each item as its length, a colon and its bytes ("3:abc0:"). Any bytes may
// stand in an item, and nothing needs escaping.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zomboss/sdk/status.h"

namespace zomboss::history {

std::string join_list(std::span<const std::string> items);
// Data loss when the text is no such list.
Result<std::vector<std::string>> split_list(std::string_view text);

// Names and numbers, in the same form; a number reads back to the same value.
std::string join_counters(std::span<const std::pair<std::string, double>> counters);
Result<std::vector<std::pair<std::string, double>>> split_counters(std::string_view text);

}  // namespace zomboss::history
