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

std::string_view type_name(toml::node_type type) {
  switch (type) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

void read_string(const toml::node& node, const StringField& field, Diagnostics& diagnostics) {
  const Location where = location_of(node.source());
  const auto text = node.value_exact<std::string>();
  if (!text) {
    diagnostics.error(where, fmt::format("'{}' is {}, expected a string", field.key, type_name(node.type())),
                      fmt::format("write {} = \"...\"", field.key));
    return;
  }
  if (std::string problem = field.problem(*text); !problem.empty())
    diagnostics.error(where, fmt::format("'{}' {}", field.key, problem));
  else
    *field.value = *text;
}

}  // namespace

Location location_of(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

std::optional<toml::table> parse_toml(const Source& source, Diagnostics& diagnostics) {
  try {
    return toml::parse(source.text(), source.name());
  } catch (const toml::parse_error& error) {
    std::string description(error.description());
    if (!description.empty() && description[0] >= 'A' && description[0] <= 'Z')
      description[0] = static_cast<char>(description[0] - 'A' + 'a');
    diagnostics.error(location_of(error.source()), "not valid TOML: " + description);
  }
  return std::nullopt;
}

void read_strings(const toml::table& table, const std::vector<StringField>& fields,
                  Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const StringField& field : fields) known.emplace_back(field.key);
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) == known.end())
      diagnostics.error(location_of(key.source()),
                        fmt::format("unknown key '{}'{}", key.str(), did_you_mean(key.str(), known)),
                        fmt::format("known keys: {}", fmt::join(known, ", ")));
  }
  for (const StringField& field : fields) {
    if (const toml::node* node = table.get(field.key))
      read_string(*node, field, diagnostics);
    else if (field.required)
      diagnostics.error(location_of(table.source()), fmt::format("the key '{}' is missing", field.key),
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
