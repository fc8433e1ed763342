#include "plugins/targets/gemmini/chain/rename.h"

#include <cctype>

namespace zomboss::gemmini::chain {
namespace {

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The end of the name that begins at `at`; `at` itself when none does.
size_t name_end(std::string_view text, size_t at) {
  if (at >= text.size() || std::isdigit(static_cast<unsigned char>(text[at])) != 0) return at;
  while (at < text.size() && is_name_char(text[at])) ++at;
  return at;
}

bool is_number(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
}

// Copies `text`, each name through `replace`, which sees the text from the end of the name on.
template <typename Replace>
std::string each_name(std::string_view text, Replace replace) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = name_end(text, at);
    const bool inside = at > 0 && is_name_char(text[at - 1]);  // of a number
    if (end == at || inside) {
      result += text[at++];
      continue;
    }
    result += replace(text.substr(at, end - at), text.substr(end));
    at = end;
  }
  return result;
}

}  // namespace

std::string renamed_term(std::string_view term, const Names& names) {
  return each_name(term, [&](std::string_view name, std::string_view) {
    const auto found = names.find(name);
    return found == names.end() ? std::string(name) : found->second;
  });
}

std::string renamed_message(std::string_view message, const Names& names) {
  std::string result;
  while (!message.empty()) {
    const size_t open = message.find('{');
    result += each_name(message.substr(0, open), [&](std::string_view name, std::string_view behind) {
      const auto found = names.find(name);
      const bool set = behind.starts_with("=") && found != names.end() && !is_number(found->second);
      return set ? found->second : std::string(name);
    });
    if (open == std::string_view::npos) break;
    message.remove_prefix(open);
    const size_t close = message.find('}');
    if (close == std::string_view::npos) return result + std::string(message);
    const std::string inside = renamed_term(message.substr(1, close - 1), names);
    result += is_number(inside) ? inside : "{" + inside + "}";
    message.remove_prefix(close + 1);
  }
  return result;
}

}  // namespace zomboss::gemmini::chain
