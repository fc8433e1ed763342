#include "core/graph/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/graph/flatten.h"
#include "core/graph/recognisers.h"

namespace zomboss::graph {
namespace {

struct Recogniser {
  std::string_view op;  // where it looks
  std::optional<uint32_t> (*recognise)(Rewriter&, uint32_t);
};

// Tried in this order; what one returns goes on to the later ones.
constexpr std::array kRecognisers = std::to_array<Recogniser>({
    {"dot", recognise_matmul},
    {"convolution", recognise_conv},
    {"matmul", recognise_attention},
    {"add", recognise_bias},
    {"add", recognise_norm_shift},
    {"add", recognise_rope_sum},
    {"subtract", recognise_rope_sum},
    {"multiply", recognise_softmax},
    {"divide", recognise_softmax},
    {"multiply", recognise_norm},
    {"divide", recognise_norm},
    {"multiply", recognise_activation},
    {"divide", recognise_activation},
    {"maximum", recognise_relu},
    {"concatenate", recognise_rope_join},
    {"reshape", recognise_rope_join},
    {"reshape", fold_reshapes},
    {"transpose", fold_attention_transpose},
    {"convert", recognise_quantize},
    {"convert", fold_result_convert},
});

// Replaces node `id` by its recognised form, if it has one.
void recognise(Rewriter& rewriter, uint32_t id) {
  for (const Recogniser& recogniser : kRecognisers) {
    if (rewriter.node(id).op != recogniser.op) continue;
    const auto by = recogniser.recognise(rewriter, id);
    if (!by || *by == id) continue;
    rewriter.replace(id, *by);
    id = *by;
  }
}

}  // namespace

Result<Graph> build_graph(const hlo::Module& module, Diagnostics& diagnostics) {
  ZB_ASSIGN(Flattened flat, flatten(module, diagnostics));
  const size_t count = flat.rewriter.size();  // nodes that recognisers add are final
  flat.rewriter.count_uses(flat.outputs);
  for (uint32_t id = 0; id < count; ++id) {
    flat.rewriter.note_number(id);
    recognise(flat.rewriter, id);
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
