// Numbers as prompts write them: the same digits on every machine.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace zomboss::policies::llm {

// Whole numbers whole, others with up to four significant digits.
inline std::string number_text(double value) {
  if (value == std::floor(value) && std::fabs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

// "-18.3%": by how much `value` differs from `reference`.
inline std::string percent_text(double value, double reference) {
  if (!(reference > 0)) return "?";
  const double percent = (value / reference - 1) * 100;
  return fmt::format("{:+.1f}%", std::fabs(percent) < 0.05 ? 0.0 : percent);
}

// "41 KiB"
inline std::string bytes_text(double bytes) {
  if (bytes < 10 * 1024) return number_text(bytes) + " B";
  return bytes < 10.0 * 1024 * 1024 ? fmt::format("{:.0f} KiB", bytes / 1024)
                                    : fmt::format("{:.1f} MiB", bytes / 1024 / 1024);
}

}  // namespace zomboss::policies::llm
