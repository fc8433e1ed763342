#include "core/mapping/intent.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/text.h"

namespace zomboss::mapping {
namespace {

std::string shown(std::string_view text) {
  constexpr size_t kLongest = 60;
  return text.size() <= kLongest ? std::string(text) : std::string(text.substr(0, kLongest)) + "...";
}

Result<size_t> find_knob(const Surface& surface, std::string_view name) {
  if (const auto number = surface.find_knob(name)) return *number;
  return invalid_argument(
      fmt::format("unknown knob '{}'{}", shown(name), did_you_mean(name, surface.knob_names())));
}

// `text` is what was written, or `value` the number it means.
Status outside_domain(const Surface& surface, size_t number, std::string_view text,
                      std::optional<int64_t> value) {
  const Knob& knob = surface.knob(number);
  for (const DroppedValue& dropped : surface.dropped()) {
    if (dropped.knob == number && (value ? dropped.value == *value : dropped.text == text)) {
      return invalid_argument(
          fmt::format("{}={} is in no legal plan: {}", knob.name, dropped.text, dropped.reason));
    }
  }
  return invalid_argument(fmt::format("{}={} is outside its domain: {}{}", knob.name, shown(text),
                                      domain_text(knob), did_you_mean(text, knob.labels)));
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// The number that a text means to this knob, inside the domain or not.
std::optional<int64_t> read_value(const Knob& knob, std::string_view text) {
  if (knob.type == KnobType::Boolean) {
    if (text == "true") return 1;
    if (text == "false") return 0;
  }
  if (knob.type == KnobType::Choice) {
    const auto label = std::find(knob.labels.begin(), knob.labels.end(), text);
    if (label != knob.labels.end()) return knob.values[static_cast<size_t>(label - knob.labels.begin())];
  }
  return parse_integer(text);
}

bool separates(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ';';
}

// Reads "knob=value" items and reports each problem at its place.
class IntentReader {
 public:
  IntentReader(const Surface& surface, const Source& source)
      : surface_(surface), source_(source), text_(source.text()), diagnostics_(source) {}

  Result<Intent> read() {
    constexpr size_t kMostErrors = 20;
    while (at_ < text_.size() && diagnostics_.errors() < kMostErrors) {
      if (separates(text_[at_])) {
        ++at_;
      } else if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        read_item();
      }
    }
    if (!diagnostics_.ok()) return diagnostics_.status();
    return std::move(intent_);
  }

 private:
  void read_item() {
    const size_t start = at_;
    while (at_ < text_.size() && !separates(text_[at_]) && text_[at_] != '#') ++at_;
    const std::string_view item = text_.substr(start, at_ - start);
    const size_t sign = item.find_first_of("=~");
    if (sign == std::string_view::npos) {
      return error(start, fmt::format("'{}' is not an assignment", shown(item)),
                   "write knob=value (hard), knob~value (preferred) or knob=auto");
    }
    const auto strength = item[sign] == '=' ? Strength::Hard : Strength::Preferred;
    const auto assignment = parse_assignment(surface_, item.substr(0, sign), item.substr(sign + 1), strength);
    if (!assignment.ok()) return error(start, assignment.status().message(), "");
    if (intent_.find(assignment->knob) != nullptr) {
      return error(start, fmt::format("knob '{}' is assigned twice", surface_.knob(assignment->knob).name),
                   "keep one of the two");
    }
    intent_.set(*assignment);
  }

  void error(size_t offset, std::string message, std::string hint) {
    diagnostics_.error(source_.location(offset), std::move(message), std::move(hint));
  }

  const Surface& surface_;
  const Source& source_;
  std::string_view text_;
  Diagnostics diagnostics_;
  Intent intent_;
  size_t at_ = 0;
};

auto place(auto& assignments, size_t knob) {
  return std::lower_bound(
      assignments.begin(), assignments.end(), knob,
      [](const Assignment& assignment, size_t number) { return assignment.knob < number; });
}

}  // namespace

void Intent::set(const Assignment& assignment) {
  const auto at = place(assignments_, assignment.knob);
  if (at != assignments_.end() && at->knob == assignment.knob) {
    *at = assignment;
  } else {
    assignments_.insert(at, assignment);
  }
}

void Intent::erase(size_t knob) {
  const auto at = place(assignments_, knob);
  if (at != assignments_.end() && at->knob == knob) assignments_.erase(at);
}

const Assignment* Intent::find(size_t knob) const {
  const auto at = place(assignments_, knob);
  return at != assignments_.end() && at->knob == knob ? &*at : nullptr;
}

Result<Assignment> parse_assignment(const Surface& surface, std::string_view knob, std::string_view value,
                                    Strength strength) {
  ZB_ASSIGN(const size_t number, find_knob(surface, knob));
  if (value == "auto" || strength == Strength::Auto) return Assignment{number, 0, Strength::Auto};
  if (value.empty()) return invalid_argument(fmt::format("knob '{}' has no value", knob));
  const auto parsed = read_value(surface.knob(number), value);
  if (!parsed || !surface.knob(number).index_of(*parsed)) {
    return outside_domain(surface, number, value, parsed);
  }
  return Assignment{number, *parsed, strength};
}

Result<Assignment> make_assignment(const Surface& surface, std::string_view knob, int64_t value,
                                   Strength strength) {
  ZB_ASSIGN(const size_t number, find_knob(surface, knob));
  if (strength == Strength::Auto) return Assignment{number, 0, Strength::Auto};
  if (surface.knob(number).index_of(value)) return Assignment{number, value, strength};
  return outside_domain(surface, number, std::to_string(value), value);
}

Result<Intent> parse_intent(const Surface& surface, const Source& source) {
  return IntentReader(surface, source).read();
}

std::string intent_text(const Surface& surface, const Intent& intent) {
  std::string text;
  for (const Assignment& assignment : intent.assignments()) {
    const Knob& knob = surface.knob(assignment.knob);
    const bool is_auto = assignment.strength == Strength::Auto;
    if (!text.empty()) text += ' ';
    text += knob.name;
    text += assignment.strength == Strength::Preferred ? '~' : '=';
    text += is_auto ? "auto" : value_text(knob, assignment.value);
  }
  return text;
}

}  // namespace zomboss::mapping
