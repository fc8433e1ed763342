// What the search has found so far: every plan that was evaluated, what its measurement said, and which
// points were asked for. The memory of both agents; saved and loaded with the policy.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/policies/common/space.h"
#include "plugins/policies/llm/json_text.h"
#include "plugins/policies/llm/vocabulary.h"

namespace zomboss::policies::llm {

struct Measure {
  std::string name;
  double value = 0;
  std::string unit;
};

// A plan that was evaluated.
struct Tried {
  std::string name;  // p12, of a catalog's row m017: what the model calls it
  std::string hash;
  Point point;
  bool verified = false;
  double latency = 0;      // of a verified one
  double static_cost = 0;  // 0 = not known
  std::vector<Measure> counters;
};

class Journal {
 public:
  // `context` and `space` belong together.
  void start(const wire::SearchContextT& context, const Space& space);
  // Takes over what the item says; the plan that it is about, if it has one that was evaluated now or before.
  const Tried* observe(const wire::FeedbackT& item, const Space& space);

  const std::vector<Tried>& tried() const { return tried_; }
  const Tried& best() const { return tried_[best_]; }
  const Tried& candidate0() const { return tried_[0]; }
  const Tried* find_name(std::string_view name) const;
  const Tried* find_hash(std::string_view hash) const;
  const Tried* find_point(const Point& point) const;
  size_t evaluations() const { return tried_.size() - 1; }
  // Proposals in a row that led to no evaluation.
  uint32_t idle() const { return idle_; }
  // After a whole batch.
  void end_proposal(size_t evaluations_before);

  // m017 of the row with this point; nothing when the catalog has no such row.
  std::optional<std::string> row_name(const Point& point) const;
  std::optional<size_t> row_of(const Point& point) const;
  double row_cost(size_t row) const { return row < row_costs_.size() ? row_costs_[row] : 0; }
  bool has_costs() const { return !row_costs_.empty(); }

  // A line for each value of each knob that was tried: how often, the best latency, the median of latency
  // against the best of all.
  std::string statistics(const Vocabulary& vocabulary) const;

  Json to_json() const;
  bool from_json(const Json& value, const Space& space);

 private:
  void add(Tried tried);

  bool catalog_ = false;
  std::map<Point, size_t> rows_;
  std::vector<double> row_costs_;
  std::vector<Tried> tried_;  // Candidate-0 first
  size_t best_ = 0;
  uint32_t idle_ = 0;
};

std::string row_label(size_t row);

}  // namespace zomboss::policies::llm
