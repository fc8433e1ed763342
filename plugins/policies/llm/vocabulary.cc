#include "plugins/policies/llm/vocabulary.h"

#include <algorithm>
#include <set>

namespace zomboss::policies::llm {
namespace {

// Members of answers that are no knobs.
const std::set<std::string>& reserved() {
  static const std::set<std::string> kReserved = {"action", "mapping_id", "reason"};
  return kReserved;
}

KnobWords words_of(const wire::KnobT& knob, const SpaceKnob& space) {
  KnobWords words;
  words.name = space.name;
  words.property = reserved().count(words.name) != 0 ? words.name + "_" : words.name;
  words.category = knob.category;
  words.doc = knob.doc;
  const bool labelled = knob.labels.size() == space.values.size();
  for (size_t i = 0; i < space.values.size(); ++i) {
    words.numbers.push_back(std::to_string(space.values[i]));
    const bool boolean =
        knob.type == wire::KnobType::Boolean && (space.values[i] == 0 || space.values[i] == 1);
    words.values.push_back(labelled  ? knob.labels[i]
                           : boolean ? (space.values[i] == 1 ? "true" : "false")
                                     : words.numbers.back());
  }
  return words;
}

}  // namespace

std::string_view category_name(wire::Category category) {
  constexpr std::string_view kNames[] = {"algorithm", "matrix decomposition", "vector decomposition",
                                         "placement", "memory pipeline",      "execution pipeline",
                                         "precision", "loop structure"};
  const auto index = static_cast<size_t>(category);
  return index < std::size(kNames) ? kNames[index] : "other";
}

Vocabulary Vocabulary::of(const wire::SurfaceT& surface, const Space& space) {
  Vocabulary vocabulary;
  for (size_t k = 0; k < space.knobs.size(); ++k)
    vocabulary.knobs_.push_back(words_of(*surface.knobs[k], space.knobs[k]));
  for (size_t k = 0; k < space.knobs.size(); ++k)
    if (space.knobs[k].values.size() > 1) vocabulary.order_.push_back(k);
  std::stable_sort(vocabulary.order_.begin(), vocabulary.order_.end(), [&](size_t a, size_t b) {
    return vocabulary.knobs_[a].category < vocabulary.knobs_[b].category;
  });
  return vocabulary;
}

std::optional<size_t> Vocabulary::find(std::string_view knob) const {
  for (size_t k = 0; k < knobs_.size(); ++k)
    if (knobs_[k].name == knob) return k;
  return std::nullopt;
}

std::optional<uint32_t> Vocabulary::value(size_t knob, std::string_view text) const {
  for (const auto* words : {&knobs_[knob].values, &knobs_[knob].numbers}) {
    const auto found = std::find(words->begin(), words->end(), text);
    if (found != words->end()) return static_cast<uint32_t>(found - words->begin());
  }
  return std::nullopt;
}

std::string Vocabulary::number_text(size_t knob, int64_t value, const Space& space) const {
  const auto& values = space.knobs[knob].values;
  const auto found = std::find(values.begin(), values.end(), value);
  return found == values.end() ? std::to_string(value)
                               : knobs_[knob].values[static_cast<size_t>(found - values.begin())];
}

std::string Vocabulary::assignment(size_t knob, uint32_t value) const {
  return knobs_[knob].name + "=" + knobs_[knob].values[value];
}

std::string Vocabulary::point(const Point& point) const {
  std::string text;
  for (const size_t k : order_) text += (text.empty() ? "" : " ") + assignment(k, point[k]);
  return text;
}

std::string Vocabulary::changes(const Point& from, const Point& to) const {
  std::string text;
  for (const size_t k : order_) {
    if (from[k] == to[k]) continue;
    text += (text.empty() ? "" : ", ") + knobs_[k].name + ": " + knobs_[k].values[from[k]] + "->" +
            knobs_[k].values[to[k]];
  }
  return text.empty() ? "nothing" : text;
}

std::string Vocabulary::domain(size_t knob) const {
  std::string text;
  for (const std::string& value : knobs_[knob].values) text += (text.empty() ? "{" : ", ") + value;
  return text + "}";
}

Json Vocabulary::knob_names() const {
  Json names = Json::array();
  for (const size_t k : order_) names.push_back(knobs_[k].name);
  return names;
}

Json Vocabulary::value_names(size_t knob) const {
  return knobs_[knob].values;
}

}  // namespace zomboss::policies::llm
