// What of a problem its decisions depend on. Pure; any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "plugins/targets/plena/machine_model.h"
#include "plugins/targets/plena/problem/problem.h"

namespace zomboss::plena {

// Below this, one element beyond a tolerance is more than a contract usually allows.
inline constexpr int64_t kFewElements = 200;

struct Features {
  bool matmul = false, transposed_matmul = false;  // of several rows
  bool matvec = false, transposed_matvec = false;  // of one row
  bool projected = false;  // some attention reads keys and values, not what they are projections of
  bool attention = false, computed_keys = false, several_kv_heads = false, grouped = false, scaled = false;
  bool scale_in_constant = false;  // a power of two
  bool single_tile_heads = true;   // heads of one tile of columns
  bool softmax = false, layer_norm = false, norm = false, gelu = false;
  bool wide_softmax = false, wide_norm = false;  // rows of several tiles
  bool vectors = false;                          // anything done vector by vector
  bool vector_inputs = false, wide_inputs = false;
  bool rope_load = false;
  bool online = false;   // some attention has rows of several tiles, and few enough of them
  bool chained = false;  // element by element operators that follow each other
  bool plain_norm = false, odd_norm = false;  // norms that may round at each step; of columns no power of two
  bool residual = false, precise = false, precise_silu = false;
  int64_t most_attention_rows = 0;
  int64_t most_rows = 0;   // of a product
  int64_t most_inner = 1;  // tiles
  int64_t least_inner = 0;
  int64_t most_matmul_inner = 1;
  int64_t most_columns = 1;
};

inline bool is_element_by_element(StageKind kind) {
  return kind == StageKind::kMap || kind == StageKind::kBinary || kind == StageKind::kScalar;
}

// Whether the stage can go on with each vector of the stage before it.
inline bool may_fuse(const Problem& problem, size_t stage) {
  const Stage& a = problem.stages[stage - 1];
  const Stage& b = problem.stages[stage];
  const auto value = [&](ValueId id) -> const Value& { return problem.values[static_cast<size_t>(id)]; };
  return is_element_by_element(a.kind) && is_element_by_element(b.kind) &&
         value(a.out).rows == value(b.out).rows && value(a.out).cols == value(b.out).cols;
}

inline Features features_of(const Problem& problem, const Machine& machine) {
  Features f;
  const auto tiles = [&](int64_t cols) { return (cols + machine.vlen - 1) / machine.vlen; };
  const auto value = [&](ValueId id) -> const Value& { return problem.values[static_cast<size_t>(id)]; };
  const auto product = [&](int64_t rows, int64_t inner, int64_t columns) {
    f.most_rows = std::max(f.most_rows, rows);
    f.most_inner = std::max(f.most_inner, inner);
    f.least_inner = f.least_inner == 0 ? inner : std::min(f.least_inner, inner);
    f.most_columns = std::max(f.most_columns, columns);
  };
  for (const Stage& stage : problem.stages) {
    const int64_t a_tiles = tiles(value(stage.a).cols);
    if (stage.kind == StageKind::kMatmul) {
      const bool one_row = value(stage.out).rows == 1;
      (one_row ? f.matvec : f.matmul) = true;
      f.most_matmul_inner = std::max(f.most_matmul_inner, a_tiles);
      f.residual = f.residual || stage.residual != kNoValue;
      if (stage.transposed) (one_row ? f.transposed_matvec : f.transposed_matmul) = true;
      product(value(stage.out).rows / stage.batch, a_tiles, tiles(value(stage.out).cols));
      continue;
    }
    f.vectors = true;
    switch (stage.kind) {
      case StageKind::kAttention: {
        f.attention = true;
        f.computed_keys = f.computed_keys || value(stage.b).origin == Origin::kStage;
        const bool absorbed = stage.absorbed_key != kNoValue;
        f.several_kv_heads = f.several_kv_heads || stage.kv_heads > 1;
        f.grouped = f.grouped || (stage.heads > stage.kv_heads && !stage.heads_in_rows && !absorbed);
        f.scaled = f.scaled || (stage.scale != 1 && !absorbed);
        f.projected = f.projected || !absorbed;
        int exponent = 0;
        f.scale_in_constant =
            f.scale_in_constant || (stage.scale != 1 && std::frexp(stage.scale, &exponent) == 0.5);
        f.single_tile_heads =
            f.single_tile_heads && tiles(stage.head_dim) == 1 && tiles(stage.value_dim) == 1;
        const int64_t keys = value(stage.b).rows / (stage.heads_in_rows ? stage.kv_heads : 1);
        f.wide_softmax = f.wide_softmax || tiles(keys) > 1;
        f.softmax = true;
        f.online = f.online || (tiles(keys) > 1 && !absorbed);
        const int64_t group = stage.heads / stage.kv_heads;
        const int64_t queries = value(stage.a).rows / (stage.heads_in_rows ? stage.heads : 1);
        f.most_attention_rows = std::max(f.most_attention_rows, (queries + machine.blen) * group);
        product(queries * group, tiles(stage.head_dim), tiles(keys));
        product(queries * group, tiles(keys), tiles(stage.value_dim));
        break;
      }
      case StageKind::kSoftmax:
        f.softmax = true;
        f.wide_softmax = f.wide_softmax || a_tiles > 1;
        break;
      case StageKind::kLayerNorm:
        f.layer_norm = true;
        [[fallthrough]];
      case StageKind::kRmsNorm:
        f.precise = f.precise || stage.precise;
        f.plain_norm = f.plain_norm || !stage.precise;
        f.odd_norm = f.odd_norm || value(stage.a).rows * value(stage.a).cols < kFewElements ||
                     !std::has_single_bit(static_cast<uint64_t>(value(stage.a).cols));
        f.norm = true;
        f.wide_norm = f.wide_norm || a_tiles > 1;
        break;
      case StageKind::kMap:
        f.precise_silu = f.precise_silu || stage.precise;
        f.gelu = f.gelu || stage.map == MapKind::kGeluErf || stage.map == MapKind::kGeluTanh;
        break;
      case StageKind::kRope: {
        const int64_t width = value(stage.a).cols / stage.rope_heads;
        if (stage.interleaved || width < 2 * machine.vlen) {
          f.matmul = true;
          f.rope_load = f.rope_load || (!stage.interleaved && value(stage.a).origin == Origin::kInput &&
                                        width == machine.vlen);
          product(value(stage.a).rows, 1, 1);
        }
        break;
      }
      default:
        break;
    }
  }
  for (size_t s = 1; s < problem.stages.size(); ++s) f.chained = f.chained || may_fuse(problem, s);
  for (const Value& each : problem.values) {
    if (each.origin == Origin::kStage || !each.as_rows || each.rows == 1) continue;
    f.vector_inputs = true;
    f.wide_inputs = f.wide_inputs || (tiles(each.cols) > 1 && each.rows > machine.prefetch_v_rows);
  }
  return f;
}

}  // namespace zomboss::plena
