#include "core/mapping/wire_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/mapping/convert.h"
#include "core/mapping/vocabulary.h"

namespace zomboss::mapping {
namespace {

constexpr size_t kTextLimit = 4096;  // bytes of a doc, message or note

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 when it is not one.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : uint8_t{0}; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0, surrogate = lead == 0xED && byte(1) >= 0xA0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90, beyond = lead == 0xF4 && byte(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

Status check_labels(const wire::KnobT& knob) {
  if (knob.type != KnobType::Choice) {
    if (knob.labels.empty()) return {};
    return invalid_argument("has labels but is no choice");
  }
  if (knob.labels.size() != knob.values.size()) {
    return invalid_argument(
        fmt::format("has {} labels for {} values", knob.labels.size(), knob.values.size()));
  }
  std::set<std::string_view> seen;
  for (const std::string& label : knob.labels) {
    const bool readable =
        !label.empty() && label.size() <= kNameLimit && std::all_of(label.begin(), label.end(), [](char c) {
          return c > ' ' && c < 0x7F && std::string_view(",;#=~\"'\\").find(c) == std::string::npos;
        });
    if (!readable) {
      return invalid_argument(
          "has a label that is empty, too long, or not plain: use letters, digits and . _ + - : / ( )");
    }
    if (label == "auto") return invalid_argument("has the label 'auto', which is reserved for intents");
    if (!seen.insert(label).second) return invalid_argument(fmt::format("has the label '{}' twice", label));
  }
  return {};
}

Status check_values(const wire::KnobT& knob) {
  if (knob.values.empty()) return invalid_argument("has an empty domain");
  if (knob.values.size() > kValueLimit) {
    return invalid_argument(fmt::format("has {} values, the limit is {}", knob.values.size(), kValueLimit));
  }
  std::vector<int64_t> sorted = knob.values;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return invalid_argument(fmt::format("has the value {} twice", *twice));
  if (knob.type == KnobType::Boolean && (sorted.front() < 0 || sorted.back() > 1)) {
    return invalid_argument("is boolean but has a value other than 0 and 1");
  }
  return check_labels(knob);
}

Status check_category(const wire::KnobT& knob) {
  if (!in_range(knob.category, Category::MAX)) {
    return invalid_argument(fmt::format("has the unknown category {}", static_cast<int>(knob.category)));
  }
  // A knob of one operator of several carries a prefix: "ffn.tile_m".
  const std::string_view shared = std::string_view(knob.name).substr(knob.name.rfind('.') + 1);
  const VocabularyEntry* entry = find_vocabulary(shared);
  if (entry == nullptr || entry->category == knob.category) return {};
  return invalid_argument(fmt::format("has the category '{}', but '{}' is a shared name of category '{}'",
                                      category_name(knob.category), shared, category_name(entry->category)));
}

}  // namespace

bool is_name(std::string_view text, std::string_view more) {
  if (text.empty() || text.size() > kNameLimit || !is_letter(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || more.find(c) != std::string_view::npos;
  });
}

bool is_reserved(std::string_view name) {
  constexpr std::string_view kReserved[] = {"abs",   "and",   "auto", "available", "distinct",
                                            "div",   "false", "ite",  "let",       "mod",
                                            "needs", "not",   "or",   "true",      "xor"};
  return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

Status check_text(const std::string& what, std::string_view text) {
  if (text.size() > kTextLimit) {
    return invalid_argument(fmt::format("{} has {} bytes, the limit is {}", what, text.size(), kTextLimit));
  }
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    const auto c = static_cast<uint8_t>(text[i]);
    if (length == 0) return invalid_argument(fmt::format("{} is not UTF-8 at byte {}", what, i));
    const bool upper_control = c == 0xC2 && static_cast<uint8_t>(text[i + 1]) < 0xA0;  // U+0080 to U+009F
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F || upper_control) {
      return invalid_argument(fmt::format("{} has a control character at byte {}", what, i));
    }
    i += length;
  }
  return {};
}

Status check_knob(const wire::KnobT& knob) {
  if (!in_range(knob.type, KnobType::MAX)) {
    return invalid_argument(fmt::format("has the unknown type {}", static_cast<int>(knob.type)));
  }
  if (!in_range(knob.default_policy, DefaultPolicy::MAX)) {
    return invalid_argument(
        fmt::format("has the unknown default policy {}", static_cast<int>(knob.default_policy)));
  }
  ZB_TRY(check_category(knob));
  ZB_TRY(check_text("doc", knob.doc));
  return check_values(knob);
}

Knob make_knob(const wire::KnobT& message) {
  Knob knob{message.name, message.category, message.type, {}, {}, message.default_policy, message.doc};
  std::vector<size_t> order(message.values.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (message.default_policy != DefaultPolicy::Listed) {
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return message.values[a] < message.values[b]; });
  }
  if (message.default_policy == DefaultPolicy::Largest) std::reverse(order.begin(), order.end());
  for (size_t i : order) {
    knob.values.push_back(message.values[i]);
    if (!message.labels.empty()) knob.labels.push_back(message.labels[i]);
  }
  return knob;
}

}  // namespace zomboss::mapping
