#include "core/graph/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/graph/flatten.h"

namespace zomboss::graph {
namespace {

struct Recogniser {
  std::string_view op;  // where it looks
  std::optional<uint32_t> (*recognise)(Rewriter&, uint32_t);
};

constexpr std::array kRecognisers = std::to_array<Recogniser>({
    {"dot", recognise_matmul},
    {"add", recognise_bias},
    {"maximum", recognise_relu},
    {"convert", recognise_quantize},
});

}  // namespace

Result<Graph> build_graph(const hlo::Module& module, Diagnostics& diagnostics) {
  ZB_ASSIGN(Flattened flat, flatten(module, diagnostics));
  const size_t count = flat.rewriter.size();  // nodes that recognisers add are final
  for (uint32_t id = 0; id < count; ++id) {
    for (const Recogniser& recogniser : kRecognisers) {
      if (flat.rewriter.node(id).op != recogniser.op) continue;
      if (const auto by = recogniser.recognise(flat.rewriter, id)) flat.rewriter.replace(id, *by);
      break;
    }
  }
  return flat.rewriter.finish(module.name, std::move(flat.inputs), std::move(flat.outputs));
}

std::vector<UnsupportedOp> list_unsupported(const Graph& graph, std::span<const std::string> taken) {
  std::vector<UnsupportedOp> result;
  for (uint32_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op == "parameter" || node.op == "constant") continue;
    if (std::find(taken.begin(), taken.end(), node.op) != taken.end()) continue;
    result.push_back({id, node.op, node.name, node.where});
  }
  std::stable_sort(result.begin(), result.end(), [](const UnsupportedOp& a, const UnsupportedOp& b) {
    return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
  });
  return result;
}

void report_unsupported(const Graph& graph, std::string_view target, std::span<const std::string> taken,
                        Diagnostics& diagnostics) {
  for (const UnsupportedOp& op : list_unsupported(graph, taken)) {
    diagnostics.error(
        op.where,
        fmt::format("{} has no {} ('{}', {})", target, op.op, op.name, graph.nodes[op.node].shape.text()),
        fmt::format("{} takes {}", target, fmt::join(taken, ", ")));
  }
}

}  // namespace zomboss::graph
