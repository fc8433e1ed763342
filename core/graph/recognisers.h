// The recognisers: each looks at a node whose operands are final and returns the node that takes its place,
// or nothing. build.cc says at which operations each one looks. Internal to core/graph.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/rewriter.h"

namespace zomboss::graph {

std::optional<uint32_t> recognise_matmul(Rewriter& rewriter, uint32_t id);    // matmul.cc
std::optional<uint32_t> recognise_conv(Rewriter& rewriter, uint32_t id);      // conv.cc
std::optional<uint32_t> recognise_bias(Rewriter& rewriter, uint32_t id);      // bias.cc
std::optional<uint32_t> recognise_relu(Rewriter& rewriter, uint32_t id);      // quantize.cc
std::optional<uint32_t> recognise_quantize(Rewriter& rewriter, uint32_t id);  // quantize.cc

// The quotient of an exponential and its sum over one dim.
std::optional<uint32_t> recognise_softmax(Rewriter& rewriter, uint32_t id);  // softmax.cc
// A product with one over the root of a mean square or variance, and a factor of a norm.
std::optional<uint32_t> recognise_norm(Rewriter& rewriter, uint32_t id);  // norm.cc
// A term added to a layer norm.
std::optional<uint32_t> recognise_norm_shift(Rewriter& rewriter, uint32_t id);  // norm.cc
// silu and gelu, by the values of the function that a product is of one of its factors.
std::optional<uint32_t> recognise_activation(Rewriter& rewriter, uint32_t id);  // activation.cc
std::optional<uint32_t> recognise_rope_sum(Rewriter& rewriter, uint32_t id);    // rope.cc, x c + rotate(x) s
std::optional<uint32_t> recognise_rope_join(Rewriter& rewriter, uint32_t id);   // rope.cc, halves joined
// The product of a softmax and the values.
std::optional<uint32_t> recognise_attention(Rewriter& rewriter, uint32_t id);  // attention.cc

// Tidying after a recognised node.
std::optional<uint32_t> fold_result_convert(Rewriter& rewriter, uint32_t id);       // fold.cc
std::optional<uint32_t> fold_attention_transpose(Rewriter& rewriter, uint32_t id);  // fold.cc
std::optional<uint32_t> fold_reshapes(Rewriter& rewriter, uint32_t id);             // fold.cc

}  // namespace zomboss::graph
