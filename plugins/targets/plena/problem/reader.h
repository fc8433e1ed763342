// Reads the operators of a workload one by one into a Problem. Internal to problem/.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/targets/plena/problem/problem.h"

namespace zomboss::plena {

class Reader {
 public:
  Reader(const wire::WorkloadT& workload, const Machine& machine) : workload_(workload), machine_(machine) {}
  Result<Problem> read();

 private:
  using Node = wire::NodeT;

  // Why an operator has no lowering; collected, so that one run names all of them.
  void refuse(const Node& node, std::string why);
  void read_node(const Node& node);
  Status read_contract();
  Status read_outputs();
  Status absorb_projections();
  void sink_maps();
  void find_residuals();
  void refine_stored_norms();

  // operators.cc
  void parameter(const Node& node);
  void constant(const Node& node);
  void broadcast(const Node& node);
  void transpose(const Node& node);
  void reshape(const Node& node);
  void map(const Node& node, MapKind kind);
  void elementwise(const Node& node, BinaryKind kind, const View& a, const View& b);
  void reduce(const Node& node);
  void rowwise(const Node& node, StageKind kind);
  void rope(const Node& node);
  // products.cc
  void matmul(const Node& node);
  void attention(const Node& node);

  const View& operand(const Node& node, size_t index) const { return views_[node.operands[index]]; }
  ValueId new_value(const Node& node, int64_t rows, int64_t cols);
  Stage& new_stage(StageKind kind, const Node& node);
  // An input read with another number of row dims; other views only when they agree already.
  std::optional<View> with_split(const View& view, size_t split);
  // The one row or column that an operand repeats over a full one.
  std::optional<ValueId> repeated_row(const View& view, const View& full);
  std::optional<ValueId> repeated_column(const View& view, const View& full);
  void set(const Node& node, View view) { views_[node.id] = std::move(view); }
  Value& value(ValueId id) { return problem_.values[static_cast<size_t>(id)]; }

  const wire::WorkloadT& workload_;
  const Machine& machine_;
  Problem problem_;
  std::vector<View> views_;  // by node
  std::string refusals_;
};

// Attributes of a node; absent ones are empty or the fallback.
const wire::AttributeT* find_attribute(const wire::NodeT& node, std::string_view key);
std::vector<int64_t> ints_of(const wire::NodeT& node, std::string_view key);
double number_of(const wire::NodeT& node, std::string_view key, double fallback);
std::string_view text_of(const wire::NodeT& node, std::string_view key);

}  // namespace zomboss::plena
