// Puts a stage's prefix before the knobs that a matmul's rules and messages name. Pure functions; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace zomboss::gemmini::chain {

// By the knob's name in a matmul: its name in the chain, or the number that it always has there.
using Names = std::map<std::string, std::string, std::less<>>;

// Every name in an SMT-LIB term.
std::string renamed_term(std::string_view term, const Names& names);
// In a message: placeholders, and names with a value behind them as in "dataflow=output_stationary".
std::string renamed_message(std::string_view message, const Names& names);

}  // namespace zomboss::gemmini::chain
