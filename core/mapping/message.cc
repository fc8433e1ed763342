#include "core/mapping/message.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"

namespace zomboss::mapping {
namespace {

constexpr std::string_view kBytesSuffix = ":bytes";

class MessageParser {
 public:
  MessageParser(const std::string& name, const std::string& text, const std::vector<std::string>& knobs,
                const Term* needs, const Term* available)
      : name_(name), text_(text), knobs_(knobs), needs_(needs), available_(available) {}

  Result<MessageTemplate> parse() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool doubled = at_ + 1 < text_.size() && text_[at_ + 1] == c;
      if ((c == '{' || c == '}') && doubled) {
        literal_ += c;
        at_ += 2;
      } else if (c == '{') {
        ZB_TRY(parse_placeholder());
      } else if (c == '}') {
        return fail("'}' without '{'; write '}}' for a brace");
      } else {
        literal_ += c;
        ++at_;
      }
    }
    flush();
    return std::move(pieces_);
  }

 private:
  Status parse_placeholder() {
    const size_t close = find_close();
    if (close == std::string::npos) return fail("'{' without '}'; write '{{' for a brace");
    std::string_view inside = std::string_view(text_).substr(at_ + 1, close - at_ - 1);
    MessagePiece piece;
    if (inside.ends_with(kBytesSuffix)) {
      piece.bytes = true;
      inside.remove_suffix(kBytesSuffix.size());
    }
    if (inside == "needs" || inside == "available") {
      const Term* term = inside == "needs" ? needs_ : available_;
      if (term == nullptr)
        return fail(fmt::format("{{{0}}} stands for the term '{0}', which is absent", inside));
      piece.kind = inside == "needs" ? MessagePiece::Kind::kNeeds : MessagePiece::Kind::kAvailable;
      piece.term = *term;
    } else if (inside.starts_with('(')) {
      piece.kind = MessagePiece::Kind::kTerm;
      ZB_ASSIGN(piece.term, parse_term(fmt::format("{}: term in the message", name_), std::string(inside),
                                       knobs_, Sort::kInt));
    } else {
      const auto found = std::find(knobs_.begin(), knobs_.end(), inside);
      if (found == knobs_.end()) {
        return fail(
            fmt::format("unknown placeholder {{{}}}{}", inside.substr(0, 40), did_you_mean(inside, knobs_)));
      }
      piece.kind = MessagePiece::Kind::kKnob;
      piece.knob = static_cast<size_t>(found - knobs_.begin());
    }
    flush();
    pieces_.push_back(std::move(piece));
    at_ = close + 1;
    return {};
  }

  size_t find_close() const { return text_.find('}', at_); }  // no SMT-LIB term of ours has a brace

  void flush() {
    if (literal_.empty()) return;
    MessagePiece piece;
    piece.text = std::move(literal_);
    pieces_.push_back(std::move(piece));
    literal_.clear();
  }

  Status fail(std::string_view why) const {
    return invalid_argument(fmt::format("{}: message, column {}: {}", name_, at_ + 1, why));
  }

  const std::string& name_;
  const std::string& text_;
  const std::vector<std::string>& knobs_;
  const Term* needs_;
  const Term* available_;
  MessageTemplate pieces_;
  std::string literal_;
  size_t at_ = 0;
};

std::string number_text(std::optional<int64_t> number, bool bytes) {
  if (!number) return "undefined";
  return bytes ? format_bytes(*number) : std::to_string(*number);
}

}  // namespace

Result<MessageTemplate> parse_message(const std::string& name, const std::string& text,
                                      const std::vector<std::string>& knobs, const Term* needs,
                                      const Term* available) {
  return MessageParser(name, text, knobs, needs, available).parse();
}

std::string render_message(const MessageTemplate& message, std::span<const Knob> knobs,
                           std::span<const int64_t> values, bool at_least, bool at_most) {
  std::string text;
  TermScratch scratch;
  for (const MessagePiece& piece : message) {
    switch (piece.kind) {
      case MessagePiece::Kind::kText:
        text += piece.text;
        continue;
      case MessagePiece::Kind::kKnob:
        text += piece.bytes ? format_bytes(values[piece.knob])
                            : value_text(knobs[piece.knob], values[piece.knob]);
        continue;
      case MessagePiece::Kind::kNeeds:
        if (at_least) text += "at least ";
        break;
      case MessagePiece::Kind::kAvailable:
        if (at_most) text += "at most ";
        break;
      case MessagePiece::Kind::kTerm:
        break;
    }
    text += number_text(evaluate(piece.term, values, scratch), piece.bytes);
  }
  return text;
}

}  // namespace zomboss::mapping
