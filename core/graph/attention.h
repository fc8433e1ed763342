// The parts of an attention while it is recognised. Internal to core/graph.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/graph/axes.h"

namespace zomboss::graph {

// What is done to scores before the softmax, from there inwards.
struct Mask {
  std::string kind = "none";        // as the attribute
  std::optional<Labelled> operand;  // of additive and boolean
  int query = -1, key = -1;         // atoms of causal
  bool inverted = false;            // of boolean: true = leave out
};

// The mask of add(scores, m), select(p, scores, low) and select(p, low, scores) and where the scores are,
// with their atoms; nothing for other nodes. `scale` is what the scores are multiplied by afterwards.
struct MaskedScores {
  Mask mask;
  Labelled scores;
};
std::optional<MaskedScores> as_masked(const Rewriter& rewriter, Axes& axes, const Labelled& tensor,
                                      double scale);

// x of x * number, x / number and -x, and the number.
std::optional<std::pair<uint32_t, double>> as_scaled(const Rewriter& rewriter, uint32_t id);

// From the result of a broadcast to its operand; the atoms that it repeats go to `dropped`.
bool step_back_broadcast(const Rewriter& rewriter, Labelled& tensor, Atoms& dropped);

}  // namespace zomboss::graph
