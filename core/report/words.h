// Numbers and names as the report prints them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zomboss::report {

// For text and attributes. What is no UTF-8, and control characters, become U+FFFD.
std::string escape(std::string_view text);
// At most `limit` characters, the middle left out.
std::string elide(std::string_view text, size_t limit);
size_t character_count(std::string_view text);

std::string grouped(uint64_t number);                               // "18,204"
std::string grouped(double number, int decimals);                   // "1,234.5"
std::string short_number(double number);                            // of axes: "1,200", "0.5", "3 M"
std::string latency_text(double latency, const std::string& unit);  // "18,204 cycles"
std::string ratio_text(double ratio);      // "3.14×", "12.3×", "1,204×"; "–" when it is none
std::string percent_text(double share);    // "18.8 %"
std::string seconds_text(double seconds);  // "0.42 s", "3 min 20 s", "2 h 5 min"
std::string count_text(uint64_t count, const char* one, const char* many);  // "1 run", "3 runs"

}  // namespace zomboss::report
