// Knobs and values in words: what the model reads and writes, and the way back. Built once for a search.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/policies/common/space.h"
#include "plugins/policies/llm/json_text.h"

namespace zomboss::policies::llm {

struct KnobWords {
  std::string name;
  std::string property;  // its member in answers that name every knob: the name unless that is taken
  wire::Category category = wire::Category::Algorithm;
  std::string doc;
  std::vector<std::string> values;   // in the domain's order: labels, or numbers
  std::vector<std::string> numbers;  // the same as numbers, which are understood too
};

class Vocabulary {
 public:
  static Vocabulary of(const wire::SurfaceT& surface, const Space& space);

  const std::vector<KnobWords>& knobs() const { return knobs_; }
  // The knobs with something to decide, by category, then as in the surface: all that the model hears of.
  const std::vector<size_t>& order() const { return order_; }
  std::optional<size_t> find(std::string_view knob) const;
  std::optional<uint32_t> value(size_t knob, std::string_view text) const;
  // Of a plan's decision, by number; also of values outside of the domain.
  std::string number_text(size_t knob, int64_t value, const Space& space) const;

  std::string assignment(size_t knob, uint32_t value) const;      // tile_m=64
  std::string point(const Point& point) const;                    // of order(), separated by spaces
  std::string changes(const Point& from, const Point& to) const;  // "tile_m: 16->64, ...", or "nothing"
  // {64, 128}
  std::string domain(size_t knob) const;

  Json knob_names() const;
  Json value_names(size_t knob) const;

 private:
  std::vector<KnobWords> knobs_;
  std::vector<size_t> order_;
};

// "matrix decomposition"
std::string_view category_name(wire::Category category);

}  // namespace zomboss::policies::llm
