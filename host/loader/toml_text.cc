#include "host/loader/toml_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"

namespace zomboss::loader {
namespace {

constexpr size_t kLongestName = 64;
constexpr size_t kLongestLine = 500;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void read_string(const toml::node& node, const StringField& field, Diagnostics& diagnostics) {
  const Location where = config::location_of(node);
  const auto text = node.value_exact<std::string>();
  if (!text) {
    diagnostics.error(where, fmt::format("'{}' is {}, expected a string", field.key, config::type_text(node)),
                      fmt::format("write {} = \"...\"", field.key));
    return;
  }
  if (std::string problem = field.problem(*text); !problem.empty())
    diagnostics.error(where, fmt::format("'{}' {}", field.key, problem));
  else
    *field.value = *text;
}

}  // namespace

void read_strings(const toml::table& table, const std::vector<StringField>& fields,
                  Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const StringField& field : fields) known.emplace_back(field.key);
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) == known.end())
      diagnostics.error(config::location_of(key),
                        fmt::format("unknown key '{}'{}", key.str(), did_you_mean(key.str(), known)),
                        fmt::format("known keys: {}", fmt::join(known, ", ")));
  }
  for (const StringField& field : fields) {
    if (const toml::node* node = table.get(field.key))
      read_string(*node, field, diagnostics);
    else if (field.required)
      diagnostics.error(config::location_of(table), fmt::format("the key '{}' is missing", field.key),
                        fmt::format("add {} = \"...\"", field.key));
  }
}

std::string id_problem(std::string_view text) {
  const bool good = !text.empty() && text.size() <= kLongestName && is_lower(text[0]) &&
                    std::all_of(text.begin(), text.end(),
                                [](char c) { return is_lower(c) || is_digit(c) || c == '_' || c == '-'; });
  return good ? "" : "must be 1 to 64 of a-z, 0-9, '_' and '-', the first a letter";
}

std::string kind_problem(std::string_view text) {
  return text == "target" || text == "policy" ? "" : "must be \"target\" or \"policy\"";
}

std::string version_problem(std::string_view text) {
  const bool good =
      !text.empty() && text.size() <= kLongestName && is_digit(text[0]) &&
      std::all_of(text.begin(), text.end(), [](char c) {
        return is_lower(c) || is_digit(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '+';
      });
  return good ? "" : "must be a version such as \"1.0.0\"";
}

std::string sha256_problem(std::string_view text) {
  const bool good = text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
                      return is_digit(c) || (c >= 'a' && c <= 'f');
                    });
  return good ? "" : "must be 64 lower-case hexadecimal digits";
}

std::string one_line_problem(std::string_view text) {
  const bool good = text.size() <= kLongestLine && std::all_of(text.begin(), text.end(), [](char c) {
                      return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
                    });
  return good ? "" : "must be one line of at most 500 bytes without control characters";
}

}  // namespace zomboss::loader
