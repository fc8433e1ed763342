#include "plugins/targets/gemmini/chain/split.h"

#include <algorithm>
#include <memory>
#include <set>

#include "plugins/targets/gemmini/graph_reader.h"

namespace zomboss::gemmini::chain {
namespace {

class Splitter {
 public:
  explicit Splitter(const wire::WorkloadT& workload) : workload_(workload), reader_(workload, boundary_) {}

  Result<std::vector<StageGraph>> run() {
    ZB_TRY(reader_.check_structure());
    if (workload_.outputs.empty()) return invalid_argument("gemmini: the workload has no output");
    for (size_t i = 1; i < workload_.outputs.size(); ++i)
      reader_.refuse(reader_.node(workload_.outputs[i]), "is a second output; gemmini takes one a workload");
    find_cuts();
    ZB_TRY(reader_.refusal());
    std::vector<StageGraph> stages;
    for (const uint32_t cut : cuts_) stages.push_back(stage_of(cut));
    stages.push_back(stage_of(workload_.outputs[0]));
    return stages;
  }

 private:
  void find_cuts() {
    const std::vector<bool> used = reader_.reachable();
    for (uint32_t id = 0; id < used.size(); ++id) {
      const wire::NodeT& node = reader_.node(id);
      if (!used[id] || node.op != "matmul") continue;
      for (const uint32_t operand : node.operands) add_cut(operand);
    }
    cuts_.erase(workload_.outputs[0]);
  }

  // What an operand of a matmul is made of, seen through the data movement that the next stage does itself.
  void add_cut(uint32_t id) {
    for (;;) {
      const wire::NodeT& node = reader_.node(id);
      const bool moves =
          node.op == "transpose" || node.op == "reshape" || node.op == "broadcast" || node.op == "convert";
      if (!moves) break;
      id = node.operands[0];
    }
    const wire::NodeT& node = reader_.node(id);
    if (node.op == "parameter" || node.op == "constant") return;
    if (node.type->dtype == wire::DType::S8)
      cuts_.insert(id);
    else
      reader_.refuse(node, "leads to the next matmul: quantize it to s8 before");
  }

  // All that `root` needs, down to the cuts below it.
  StageGraph stage_of(uint32_t root) const {
    std::vector<bool> taken(root + 1);
    taken[root] = true;
    for (uint32_t id = root + 1; id-- > 0;) {
      if (!taken[id] || (id != root && cuts_.contains(id))) continue;
      for (const uint32_t operand : reader_.node(id).operands) taken[operand] = true;
    }
    StageGraph stage;
    stage.output = root;
    stage.workload.name = workload_.name;
    stage.workload.source = workload_.source;
    std::vector<uint32_t> renumbered(taken.size());
    for (uint32_t id = 0; id <= root; ++id) {
      if (!taken[id]) continue;
      auto node = std::make_unique<wire::NodeT>(reader_.node(id));
      renumbered[id] = node->id = static_cast<uint32_t>(stage.nodes.size());
      const bool is_cut = id != root && cuts_.contains(id);
      if (is_cut) {
        node->op = "parameter";
        node->operands.clear();
        node->attributes.clear();
      }
      for (uint32_t& operand : node->operands) operand = renumbered[operand];
      const auto& inputs = workload_.inputs;
      if (is_cut || std::find(inputs.begin(), inputs.end(), id) != inputs.end())
        stage.workload.inputs.push_back(node->id);
      stage.workload.nodes.push_back(std::move(node));
      stage.nodes.push_back(id);
    }
    stage.workload.outputs = {renumbered[root]};
    return stage;
  }

  const wire::WorkloadT& workload_;
  Boundary boundary_;
  GraphReader reader_;
  std::set<uint32_t> cuts_;
};

}  // namespace

Result<std::vector<StageGraph>> split(const wire::WorkloadT& workload) {
  return Splitter(workload).run();
}

}  // namespace zomboss::gemmini::chain
