// A mapping surface: the knobs of one workload on one target, the joint constraints that a legal plan meets,
// and of a catalog surface the complete mappings that exist. Made by from_wire (convert.h), which checks
// everything; immutable afterwards, so any thread may read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/mapping/knob.h"
#include "core/mapping/message.h"
#include "core/mapping/term.h"

namespace zomboss::mapping {

using wire::ConstraintKind;
using wire::SurfaceKind;

// "shape", "capacity", "reduction", "coverage", "dependency".
std::string_view constraint_kind_name(ConstraintKind kind);

struct Constraint {
  std::string name;
  ConstraintKind kind = ConstraintKind::Shape;
  Term assertion;  // Bool
  std::optional<Term> needs, available;
  MessageTemplate message;
  // As the target wrote them.
  std::string assertion_text, needs_text, available_text, message_text;
};

// A value that derive_domains removed because no legal plan has it.
struct DroppedValue {
  size_t knob = 0;
  int64_t value = 0;
  std::string text;  // as people write the value
  std::string reason;
};

// A legal plan that people know by name: what the vendor's library would choose, say.
struct Reference {
  std::string name;
  std::vector<int64_t> values;  // one per knob
  std::string doc;              // where it comes from; may be empty
  bool operator==(const Reference&) const = default;
};

struct SurfaceParts {
  std::string target, workload;
  SurfaceKind kind = SurfaceKind::Conditional;
  std::vector<Knob> knobs;  // in resolution order: by category, then by name
  std::vector<Constraint> constraints;
  std::vector<uint16_t>
      catalog;  // row by row, positions in Knob::values; rows strictly ascending = default order
  std::vector<std::string> notes;
  std::vector<DroppedValue> dropped;
  std::vector<Reference> references;  // in the target's order
};

class Surface {
 public:
  // `parts` keep the orders stated above and terms fit 64 bits inside the domains: a bug otherwise.
  explicit Surface(SurfaceParts parts);

  const std::string& target() const { return parts_.target; }
  const std::string& workload() const { return parts_.workload; }
  SurfaceKind kind() const { return parts_.kind; }
  bool is_catalog() const { return parts_.kind == SurfaceKind::Catalog; }
  // A knob's number, here and everywhere else, is its index in this list.
  const std::vector<Knob>& knobs() const { return parts_.knobs; }
  const Knob& knob(size_t number) const { return parts_.knobs[number]; }
  std::vector<std::string> knob_names() const;
  std::optional<size_t> find_knob(std::string_view name) const;
  // The knobs with more than one value: those that a search can change.
  std::vector<size_t> free_knobs() const;
  const std::vector<Constraint>& constraints() const { return parts_.constraints; }
  size_t row_count() const { return knobs().empty() ? 0 : parts_.catalog.size() / knobs().size(); }
  std::span<const uint16_t> row(size_t number) const {
    return std::span(parts_.catalog).subspan(number * knobs().size(), knobs().size());
  }
  const std::vector<std::string>& notes() const { return parts_.notes; }
  const std::vector<DroppedValue>& dropped() const { return parts_.dropped; }
  const std::vector<Reference>& references() const { return parts_.references; }
  const SurfaceParts& parts() const { return parts_; }

 private:
  SurfaceParts parts_;
  std::map<std::string, size_t, std::less<>> numbers_;
};

}  // namespace zomboss::mapping
