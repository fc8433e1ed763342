#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/mapping/convert.h"
#include "core/mapping/vocabulary.h"

namespace zomboss::mapping {
namespace {

constexpr size_t kNameLimit = 64;
constexpr size_t kTextLimit = 4096;  // bytes of a doc, message or note
constexpr size_t kNoteLimit = 1000;
constexpr size_t kNodeLimit = 1u << 18;  // term nodes of all constraints together

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name(std::string_view text, std::string_view more) {
  if (text.empty() || text.size() > kNameLimit || !is_letter(text[0])) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || more.find(c) != std::string_view::npos;
  });
}

// Words that mean something else in terms, messages or intents.
bool is_reserved(std::string_view name) {
  constexpr std::string_view kReserved[] = {"abs",   "and",   "auto", "available", "distinct",
                                            "div",   "false", "ite",  "let",       "mod",
                                            "needs", "not",   "or",   "true",      "xor"};
  return std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
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

// Text that goes to terminals, reports and JSON: UTF-8 without control characters.
Status check_text(const std::string& what, std::string_view text) {
  if (text.size() > kTextLimit) {
    return invalid_argument(fmt::format("{} has {} bytes, the limit is {}", what, text.size(), kTextLimit));
  }
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i));
    const auto c = static_cast<uint8_t>(text[i]);
    if (length == 0) return invalid_argument(fmt::format("{} is not UTF-8 at byte {}", what, i));
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
      return invalid_argument(fmt::format("{} has a control character at byte {}", what, i));
    }
    i += length;
  }
  return {};
}

template <typename Enum>
bool in_range(Enum value, Enum last) {
  return static_cast<uint8_t>(value) <= static_cast<uint8_t>(last);
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

// Values and labels in default order.
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

class SurfaceReader {
 public:
  explicit SurfaceReader(const wire::SurfaceT& message) : message_(message) {}

  Result<Surface> read() {
    ZB_TRY(read_head());
    ZB_TRY(read_knobs());
    ZB_TRY(read_constraints());
    ZB_TRY(read_catalog());
    return Surface(std::move(parts_));
  }

 private:
  Status read_head() {
    if (message_.target.empty()) return invalid_argument("has no target name");
    ZB_TRY(check_text("the target name", message_.target));
    ZB_TRY(check_text("the workload name", message_.workload));
    if (!in_range(message_.kind, SurfaceKind::MAX)) {
      return invalid_argument(fmt::format("is of the unknown kind {}", static_cast<int>(message_.kind)));
    }
    if (message_.notes.size() > kNoteLimit) {
      return invalid_argument(
          fmt::format("has {} notes, the limit is {}", message_.notes.size(), kNoteLimit));
    }
    for (const std::string& note : message_.notes) ZB_TRY(check_text("a note", note));
    parts_.target = message_.target;
    parts_.workload = message_.workload;
    parts_.kind = message_.kind;
    parts_.notes = message_.notes;
    return {};
  }

  Status read_knobs() {
    if (message_.knobs.empty()) return invalid_argument("has no knobs");
    if (message_.knobs.size() > kKnobLimit) {
      return invalid_argument(
          fmt::format("has {} knobs, the limit is {}", message_.knobs.size(), kKnobLimit));
    }
    std::set<std::string_view> seen;
    for (size_t i = 0; i < message_.knobs.size(); ++i) {
      const auto& knob = message_.knobs[i];
      if (knob == nullptr || !is_name(knob->name, ".")) {
        return invalid_argument(
            fmt::format("knob {}: its name must be a letter or _ and then letters, digits, _ and ., at most "
                        "{} characters",
                        i, kNameLimit));
      }
      if (is_reserved(knob->name))
        return invalid_argument(fmt::format("knob '{}': the name is reserved", knob->name));
      if (!seen.insert(knob->name).second)
        return invalid_argument(fmt::format("knob '{}' is there twice", knob->name));
      Status status = check_knob(*knob);
      if (!status.ok()) return invalid_argument(fmt::format("knob '{}' {}", knob->name, status.message()));
      order_.push_back(i);
    }
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
      const wire::KnobT& left = *message_.knobs[a];
      const wire::KnobT& right = *message_.knobs[b];
      return std::tie(left.category, left.name) < std::tie(right.category, right.name);
    });
    for (size_t i : order_) {
      parts_.knobs.push_back(make_knob(*message_.knobs[i]));
      const Knob& knob = parts_.knobs.back();
      names_.push_back(knob.name);
      const auto [low, high] = std::minmax_element(knob.values.begin(), knob.values.end());
      ranges_.push_back({*low, *high, false});
    }
    return {};
  }

  Result<Term> read_term(const std::string& name, const std::string& text, Sort sort) {
    ZB_ASSIGN(Term term, parse_term(name, text, names_, sort));
    ZB_TRY(check_width(term, ranges_).with_prefix(name));
    nodes_ += term.nodes.size();
    return term;
  }

  Status read_constraint(const wire::ConstraintT& message) {
    Constraint constraint;
    constraint.name = message.name;
    constraint.kind = message.kind;
    const std::string label = fmt::format("constraint '{}'", message.name);
    if (!in_range(message.kind, ConstraintKind::MAX)) {
      return invalid_argument(
          fmt::format("{} is of the unknown kind {}", label, static_cast<int>(message.kind)));
    }
    ZB_ASSIGN(constraint.assertion, read_term(label, message.assertion, Sort::kBool));
    if (!message.needs.empty()) {
      ZB_ASSIGN(constraint.needs, read_term(label + " needs", message.needs, Sort::kInt));
    }
    if (!message.available.empty()) {
      ZB_ASSIGN(constraint.available, read_term(label + " available", message.available, Sort::kInt));
    }
    if (message.message.empty()) return invalid_argument(label + " has no message");
    ZB_TRY(check_text(label + " message", message.message));
    ZB_ASSIGN(constraint.message,
              parse_message(label, message.message, names_, constraint.needs ? &*constraint.needs : nullptr,
                            constraint.available ? &*constraint.available : nullptr));
    for (const MessagePiece& piece : constraint.message) {
      if (piece.kind == MessagePiece::Kind::kTerm)
        ZB_TRY(check_width(piece.term, ranges_).with_prefix(label));
    }
    constraint.assertion_text = message.assertion;
    constraint.needs_text = message.needs;
    constraint.available_text = message.available;
    constraint.message_text = message.message;
    parts_.constraints.push_back(std::move(constraint));
    return {};
  }

  Status read_constraints() {
    if (message_.constraints.size() > kConstraintLimit) {
      return invalid_argument(
          fmt::format("has {} constraints, the limit is {}", message_.constraints.size(), kConstraintLimit));
    }
    std::set<std::string_view> seen;
    for (size_t i = 0; i < message_.constraints.size(); ++i) {
      const auto& constraint = message_.constraints[i];
      if (constraint == nullptr || !is_name(constraint->name, ".-") || constraint->name == "catalog") {
        return invalid_argument(
            fmt::format("constraint {}: its name must be a letter or _ and then letters, digits, _ . and -, "
                        "at most {} characters, "
                        "and not 'catalog'",
                        i, kNameLimit));
      }
      if (!seen.insert(constraint->name).second) {
        return invalid_argument(fmt::format("constraint '{}' is there twice", constraint->name));
      }
      ZB_TRY(read_constraint(*constraint));
      if (nodes_ > kNodeLimit) {
        return invalid_argument(fmt::format("its terms have more than {} operators together", kNodeLimit));
      }
    }
    return {};
  }

  Status read_catalog() {
    const std::vector<int64_t>& cells = message_.catalog;
    if (parts_.kind == SurfaceKind::Conditional) {
      return cells.empty() ? Status() : invalid_argument("is conditional but has catalog rows");
    }
    const size_t width = parts_.knobs.size();
    if (cells.empty()) return invalid_argument("is a catalog without rows");
    if (cells.size() % width != 0) {
      return invalid_argument(
          fmt::format("has a catalog of {} numbers, not a multiple of its {} knobs", cells.size(), width));
    }
    const size_t rows = cells.size() / width;
    if (rows > kRowLimit || cells.size() > kCatalogCellLimit ||
        rows > kWorkLimit / std::max<size_t>(nodes_, 1)) {
      return invalid_argument(
          fmt::format("has a catalog of {} rows, too many for {} knobs and {} operators of constraints "
                      "(limit {} rows, {} numbers)",
                      rows, width, nodes_, kRowLimit, kCatalogCellLimit));
    }
    ZB_ASSIGN(std::vector<uint16_t> indices, catalog_indices(rows));
    return sort_rows(rows, indices);
  }

  // The rows as positions in the domains, columns in resolution order.
  Result<std::vector<uint16_t>> catalog_indices(size_t rows) const {
    const size_t width = parts_.knobs.size();
    std::vector<uint16_t> indices(rows * width);
    for (size_t k = 0; k < width; ++k) {
      const Knob& knob = parts_.knobs[k];
      std::vector<std::pair<int64_t, uint16_t>> places;
      for (size_t i = 0; i < knob.values.size(); ++i)
        places.emplace_back(knob.values[i], static_cast<uint16_t>(i));
      std::sort(places.begin(), places.end());
      for (size_t r = 0; r < rows; ++r) {
        const int64_t value = message_.catalog[r * width + order_[k]];
        const auto place = std::lower_bound(places.begin(), places.end(), std::pair(value, uint16_t{0}));
        if (place == places.end() || place->first != value) {
          return invalid_argument(fmt::format("catalog row {} has {}={}, which is outside its domain: {}", r,
                                              knob.name, value, domain_text(knob)));
        }
        indices[r * width + k] = place->second;
      }
    }
    return indices;
  }

  Status sort_rows(size_t rows, const std::vector<uint16_t>& indices) {
    const size_t width = parts_.knobs.size();
    const auto row = [&](size_t r) { return std::span(indices).subspan(r * width, width); };
    std::vector<uint32_t> sorted(rows);
    for (size_t r = 0; r < rows; ++r) sorted[r] = static_cast<uint32_t>(r);
    std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) {
      const auto left = row(a), right = row(b);
      const auto [x, y] = std::mismatch(left.begin(), left.end(), right.begin());
      return x == left.end() ? a < b : *x < *y;
    });
    parts_.catalog.reserve(indices.size());
    for (size_t i = 0; i < rows; ++i) {
      const auto current = row(sorted[i]);
      if (i > 0 && std::equal(current.begin(), current.end(), row(sorted[i - 1]).begin())) {
        return invalid_argument(fmt::format("catalog rows {} and {} are the same", sorted[i - 1], sorted[i]));
      }
      parts_.catalog.insert(parts_.catalog.end(), current.begin(), current.end());
    }
    return {};
  }

  const wire::SurfaceT& message_;
  SurfaceParts parts_;
  std::vector<size_t> order_;  // message positions of the knobs in resolution order
  std::vector<std::string> names_;
  std::vector<Bounds> ranges_;
  size_t nodes_ = 0;
};

}  // namespace

Result<Surface> from_wire(const wire::SurfaceT& message) {
  auto surface = SurfaceReader(message).read();
  if (surface.ok()) return surface;
  return std::move(surface).status().with_prefix("the surface");
}

wire::SurfaceT to_wire(const Surface& surface) {
  wire::SurfaceT message;
  message.target = surface.target();
  message.workload = surface.workload();
  message.kind = surface.kind();
  message.notes = surface.notes();
  for (const Knob& knob : surface.knobs()) {
    auto out = std::make_unique<wire::KnobT>();
    out->name = knob.name;
    out->category = knob.category;
    out->type = knob.type;
    out->values = knob.values;
    out->labels = knob.labels;
    out->default_policy = knob.default_policy;
    out->doc = knob.doc;
    message.knobs.push_back(std::move(out));
  }
  for (const Constraint& constraint : surface.constraints()) {
    auto out = std::make_unique<wire::ConstraintT>();
    out->name = constraint.name;
    out->kind = constraint.kind;
    out->assertion = constraint.assertion_text;
    out->message = constraint.message_text;
    out->needs = constraint.needs_text;
    out->available = constraint.available_text;
    message.constraints.push_back(std::move(out));
  }
  message.catalog.reserve(surface.parts().catalog.size());
  for (size_t r = 0; r < surface.row_count(); ++r) {
    const auto row = surface.row(r);
    for (size_t k = 0; k < row.size(); ++k) message.catalog.push_back(surface.knob(k).values[row[k]]);
  }
  return message;
}

}  // namespace zomboss::mapping
