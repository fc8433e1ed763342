#include "core/history/list_text.h"

#include <fmt/format.h>

#include <charconv>

namespace zomboss::history {
namespace {

void append_item(std::string& out, std::string_view item) {
  fmt::format_to(std::back_inserter(out), "{}:{}", item.size(), item);
}

}  // namespace

std::string join_list(std::span<const std::string> items) {
  std::string out;
  for (const std::string& item : items) append_item(out, item);
  return out;
}

Result<std::vector<std::string>> split_list(std::string_view text) {
  std::vector<std::string> items;
  while (!text.empty()) {
    size_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    const auto digits = static_cast<size_t>(end - text.data());
    if (error != std::errc() || digits >= text.size() || *end != ':' || size > text.size() - digits - 1)
      return data_loss(fmt::format("a stored list is damaged behind its item {}", items.size()));
    items.emplace_back(text.substr(digits + 1, size));
    text.remove_prefix(digits + 1 + size);
  }
  return items;
}

std::string join_counters(std::span<const std::pair<std::string, double>> counters) {
  std::string out;
  for (const auto& [name, value] : counters) {
    append_item(out, name);
    append_item(out, fmt::format("{}", value));
  }
  return out;
}

Result<std::vector<std::pair<std::string, double>>> split_counters(std::string_view text) {
  ZB_ASSIGN(const std::vector<std::string> items, split_list(text));
  if (items.size() % 2 != 0) return data_loss("a stored list of counters has a name without a value");
  std::vector<std::pair<std::string, double>> counters;
  counters.reserve(items.size() / 2);
  for (size_t i = 0; i < items.size(); i += 2) {
    const std::string& number = items[i + 1];
    double value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size())
      return data_loss(fmt::format("the stored counter '{}' has no number but '{}'", items[i], number));
    counters.emplace_back(items[i], value);
  }
  return counters;
}

}  // namespace zomboss::history
