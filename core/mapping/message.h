// The message of a constraint: text with placeholders {needs}, {available}, {KNOB}, {(TERM)}, each with an
// optional
// ":bytes"; "{{" and "}}" are braces. Immutable after parsing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/mapping/knob.h"
#include "core/mapping/term.h"

namespace zomboss::mapping {

struct MessagePiece {
  enum class Kind : uint8_t { kText, kNeeds, kAvailable, kKnob, kTerm };
  Kind kind = Kind::kText;
  std::string text;  // of kText
  size_t knob = 0;   // of kKnob
  Term term;         // of kTerm, kNeeds and kAvailable
  bool bytes = false;
};
using MessageTemplate = std::vector<MessagePiece>;

// `needs` and `available` may be null: their placeholders are errors then. The Status says what is wrong and
// where.
Result<MessageTemplate> parse_message(const std::string& name, const std::string& text,
                                      const std::vector<std::string>& knobs, const Term* needs,
                                      const Term* available);

// `values`: one per knob. at_least, at_most: {needs} is a lower, {available} an upper bound, which the text
// then says.
std::string render_message(const MessageTemplate& message, std::span<const Knob> knobs,
                           std::span<const int64_t> values, bool at_least = false, bool at_most = false);

}  // namespace zomboss::mapping
