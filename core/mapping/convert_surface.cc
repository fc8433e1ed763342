#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "core/mapping/convert.h"
#include "core/mapping/convert_references.h"
#include "core/mapping/wire_checks.h"

namespace zomboss::mapping {
namespace {

constexpr size_t kNoteLimit = 1000;
constexpr size_t kNodeLimit = 1u << 18;  // term nodes of all constraints together

class SurfaceReader {
 public:
  explicit SurfaceReader(const wire::SurfaceT& message) : message_(message) {}

  Result<Surface> read() {
    ZB_TRY(read_head());
    ZB_TRY(read_knobs());
    ZB_TRY(read_constraints());
    ZB_TRY(read_catalog());
    ZB_ASSIGN(parts_.references, read_references(message_, order_, parts_));
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
  for (const Reference& reference : surface.references()) {
    auto out = std::make_unique<wire::ReferenceT>();
    out->name = reference.name;
    out->values = reference.values;
    out->doc = reference.doc;
    message.references.push_back(std::move(out));
  }
  return message;
}

}  // namespace zomboss::mapping
