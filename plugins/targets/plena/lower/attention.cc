// Attention per key head: scores, softmax over the keys, weighted sum of the values.
#include <algorithm>
#include <cmath>

#include "plugins/targets/plena/lower/lowerer.h"

namespace zomboss::plena {
namespace {

// Slots of the FP SRAM that are left to constants.
constexpr int64_t kFewSlots = 64;

bool is_power_of_two(double value) {
  int exponent = 0;
  return value > 0 && std::frexp(value, &exponent) == 0.5 && exponent > -12 && exponent < 8;
}

}  // namespace

// Keys or values that were computed on chip, in the HBM, from where the matrix SRAM can have them.
HbmTensor Lowerer::store_heads(ValueId id, int64_t heads, int64_t width, bool heads_in_rows,
                               const std::string& name) {
  const Panel from = panel(id);
  const int64_t step = machine_.writeback_v_rows;
  if (heads_in_rows) {
    const int64_t rows = value(id).rows / heads;
    const HbmTensor tensor = add_tensor(name, heads, rows, width, true, -1, {});
    const int64_t groups = (rows + step - 1) / step;
    tape_.loop(heads, choices_.unroll_load, [&](const Affine& head) {
      tape_.loop(tiles(width), choices_.unroll_load, [&](const Affine& tile) {
        tape_.loop(groups, choices_.unroll_load, [&](const Affine& group) {
          tape_.store_v(
              from.at(head * rows + group * step, tile), tensor.place(machine_.vlen),
              head * tensor.batch_offset(1) + group * (step * tensor.padded_cols) + tile * machine_.vlen);
        });
      });
    });
    return tensor;
  }
  const bool per_head = choices_.kv_layout == KvLayout::kPerHead && heads > 1;
  const int64_t rows = value(id).rows;
  const HbmTensor tensor = per_head ? add_tensor(name, heads, rows, width, true, -1, {})
                                    : add_tensor(name, 1, rows, heads * width, true, -1, {});
  const int64_t groups = (rows + step - 1) / step;
  const int64_t head_tiles = tiles(width);
  const int64_t outer = per_head ? heads : 1;
  const int64_t inner = per_head ? head_tiles : tiles(heads * width);
  tape_.loop(outer, choices_.unroll_load, [&](const Affine& head) {
    tape_.loop(inner, choices_.unroll_load, [&](const Affine& tile) {
      tape_.loop(groups, choices_.unroll_load, [&](const Affine& group) {
        tape_.store_v(
            from.at(group * step, head * head_tiles + tile), tensor.place(machine_.vlen),
            head * tensor.batch_offset(1) + group * (step * tensor.padded_cols) + tile * machine_.vlen);
      });
    });
  });
  return tensor;
}

// What is added to the scores, a row for each query: an input, or constants.
Panel Lowerer::mask_panel(const Stage& stage, int64_t queries, int64_t keys) {
  if (stage.mask == MaskKind::kAdditive) return panel(stage.d);
  std::vector<float> data(static_cast<size_t>(queries * keys));
  for (int64_t row = 0; row < queries; ++row) {
    for (int64_t col = 0; col < keys; ++col)
      data[static_cast<size_t>(row * keys + col)] = col > row ? kMasked : 0.0f;
  }
  const HbmTensor tensor = add_tensor(stage.name + ".mask", 1, queries, keys, false, -1, std::move(data));
  const Panel mask = new_panel(queries, keys, 0, machine_.prefetch_v_rows);
  load_rows(tensor, mask);
  return mask;
}

void Lowerer::stage_attention(const Stage& stage) {
  const Value& query_value = value(stage.a);
  const int64_t heads = stage.heads;
  const int64_t group = heads / stage.kv_heads;
  const int64_t keys = value(stage.b).rows / (stage.heads_in_rows ? stage.kv_heads : 1);
  const int64_t queries = query_value.rows / (stage.heads_in_rows ? heads : 1);
  const int64_t head_tiles = tiles(stage.head_dim);
  const int64_t value_tiles = tiles(stage.value_dim);
  Panel q = panel(stage.a);
  const auto matrix_of = [&](ValueId id, int64_t width, const char* what) {
    if (value(id).origin != Origin::kStage) return tensor_of(id);
    tape_.region(stage.name + "." + what);
    return store_heads(id, stage.kv_heads, width, stage.heads_in_rows, stage.name + "." + what);
  };
  const HbmTensor k = matrix_of(stage.b, stage.head_dim, "keys");
  const HbmTensor v = matrix_of(stage.c, stage.value_dim, "values");
  tape_.region(stage.name + ".scores");

  // The scale: in the softmax, on the query, or in the constants that make the copies.
  ScaleFold fold = choices_.scale_fold;
  if (fold == ScaleFold::kCopies && (!broadcasts(choices_.scores) || !is_power_of_two(stage.scale)))
    fold = ScaleFold::kScores;
  std::optional<Panel> scaled;
  if (fold == ScaleFold::kQuery && stage.scale != 1) {
    const auto index = static_cast<size_t>(&stage - problem_.stages.data());
    const bool last =
        last_use_[static_cast<size_t>(stage.a)] == index && stage.a != stage.b && stage.a != stage.c;
    const Panel to = last ? q : new_panel(query_value.rows, query_value.cols);
    const ScalarId factor = tape_.constant(static_cast<float>(stage.scale));
    each_vector(query_value.rows, q.tiles, [&](const Affine& row, const Affine& tile) {
      tape_.vf(Opcode::kVMulVf, to.at(row, tile), q.at(row, tile), factor);
    });
    if (!last) scaled = to;
    q = to;
  }
  const double softmax_scale = fold == ScaleFold::kScores ? stage.scale : 1;

  std::optional<Panel> mask;
  if (stage.mask != MaskKind::kNone) mask = mask_panel(stage, queries, keys);

  const Panel o = output_panel(stage, choices_.weighted);
  const bool stacked =
      !stage.heads_in_rows && choices_.stack_heads != 0 && group > 1 && head_tiles == 1 && value_tiles == 1;
  const int64_t parts = stage.heads_in_rows || stacked ? 1 : group;  // products per key head
  const int64_t rows = stage.heads_in_rows ? group * queries
                       : stacked           ? (group - 1) * q.pitch + queries
                                           : queries;
  std::vector<std::pair<int64_t, int64_t>> ranges;  // rows of a product that are queries
  if (stage.heads_in_rows) {
    for (int64_t i = 0; i < group; ++i) ranges.emplace_back(i * queries, queries);
  } else if (stacked) {
    for (int64_t i = 0; i < group; ++i) ranges.emplace_back(i * q.pitch, queries);
  } else {
    ranges.emplace_back(0, queries);
  }
  const bool online = choices_.softmax == SoftmaxForm::kOnline && tiles(keys) > 1;
  const bool ones =
      !online && choices_.row_sum == RowSum::kOnesColumn && choices_.weighted == ProductForm::kSpread;
  const bool descending =
      choices_.weighted == ProductForm::kShift || choices_.weighted == ProductForm::kRowShift;

  for (int64_t index = 0; index < stage.kv_heads * parts; ++index) {
    const int64_t product_index = descending ? stage.kv_heads * parts - 1 - index : index;
    const int64_t kv = product_index / parts;
    const int64_t head = stacked ? kv * group : product_index;
    const int64_t base_row = stage.heads_in_rows ? kv * rows : 0;
    const auto tile_offset = [&](const HbmTensor& tensor, int64_t width_tiles) {
      return tensor.batch > 1 ? tensor.batch_offset(kv) : kv * width_tiles * machine_.vlen;
    };
    const Panel s = form_panel(rows, online ? machine_.vlen : keys, choices_.scores);
    tape_.region(stage.name + ".scores");
    Product scores;
    scores.rows = rows;
    scores.inner = head_tiles;
    scores.columns = tiles(keys);
    scores.transposed = true;
    scores.factor = fold == ScaleFold::kCopies ? stage.scale : 1;
    scores.place = k.place(machine_.mlen);
    scores.x = [&](const Affine& row, const Affine& tile) {
      return stage.heads_in_rows ? q.at(row + base_row, tile) : q.at(row, tile + head * head_tiles);
    };
    scores.y = [&](const Affine& row, const Affine& tile) { return s.at(row, tile); };
    scores.tile = [&](const Affine& inner, const Affine& column) {
      return column * (machine_.mlen * k.padded_cols) + inner * machine_.mlen + tile_offset(k, head_tiles);
    };
    Product weighted;
    weighted.rows = rows;
    weighted.inner = tiles(keys);
    weighted.columns = value_tiles;
    weighted.alone = !stage.heads_in_rows;
    weighted.place = v.place(machine_.mlen);
    weighted.x = [&](const Affine& row, const Affine& tile) { return s.at(row, tile); };
    weighted.y = [&](const Affine& row, const Affine& tile) {
      return stage.heads_in_rows ? o.at(row + base_row, tile) : o.at(row, tile + head * value_tiles);
    };
    weighted.tile = [&](const Affine& inner, const Affine& column) {
      return inner * (machine_.mlen * v.padded_cols) + column * machine_.mlen + tile_offset(v, value_tiles);
    };
    if (online) {
      online_attention(stage, scores, weighted, s, ranges, keys, softmax_scale, mask);
      release_panel(s);
      continue;
    }
    product(scores, choices_.scores);

    tape_.region(stage.name + ".softmax");
    soft_rows(s, s, ranges, keys, softmax_scale, mask, !ones);

    tape_.region(stage.name + ".weighted");
    std::optional<Panel> sums;
    if (ones) {
      weighted.constant_column = constant_tile("ones", [](int64_t, int64_t) { return 1.0f; });
      sums = new_panel(rows, machine_.vlen, 0, machine_.broadcast_amount * machine_.mlen);
      weighted.constant_y = [&](const Affine& row) { return sums->at(row, 0); };
    }
    product(weighted, choices_.weighted);
    if (ones) {
      for (const auto& [first, count] : ranges) {
        tape_.loop(count, choices_.unroll_vector, [&, first = first](const Affine& row) {
          const Affine sum = sums->at(row + first, 0);
          tape_.v_reci(sum, sum);
          for (int64_t tile = 0; tile < value_tiles; ++tile) {
            const Affine to = weighted.y(row + first, tile);
            tape_.vv(Opcode::kVMulVv, to, to, sum);
          }
        });
      }
      release_panel(*sums);
    }
    release_panel(s);
  }
  if (mask && stage.mask == MaskKind::kCausal) release_panel(*mask);
  if (scaled) release_panel(*scaled);
  panels_[static_cast<size_t>(stage.out)] = o;
}

// One tile of keys after the other: with each, the maximum m and the sum l of a row so far (in the FP SRAM)
// and what is there of the result are brought to the new maximum by a factor a = exp(scale * (m_before - m)).
void Lowerer::online_attention(const Stage& stage, Product scores, Product weighted, const Panel& s,
                               const std::vector<std::pair<int64_t, int64_t>>& ranges, int64_t keys,
                               double scale, const std::optional<Panel>& mask) {
  const int64_t count = tiles(keys);
  const std::optional<Panel> tail_row = masked_columns(keys);
  const int64_t slots = static_cast<int64_t>(machine_.fp_slots) - columns_end_ - 3 * scores.rows;
  if (slots < kFewSlots)
    return fail(resource_exhausted("the FP SRAM has too few slots for the rows of an online softmax"));
  const int64_t maxima = slots, sums = slots + scores.rows, factors = slots + 2 * scores.rows;
  const ScalarId scaled = scale == 1 ? kNoScalar : tape_.constant(static_cast<float>(scale));
  const Product::Address result = weighted.y;
  const Panel part =
      new_panel(weighted.rows, weighted.columns * machine_.vlen, machine_.broadcast_amount * machine_.mlen,
                machine_.broadcast_amount * machine_.mlen);
  const auto each_row = [&](const std::function<void(const Affine& row, const Affine& query)>& body) {
    for (const auto& [first, rows] : ranges) {
      tape_.loop(rows, choices_.unroll_vector,
                 [&, first = first](const Affine& row) { body(row + first, row); });
    }
  };
  const auto key_tile = scores.tile;
  const auto value_tile = weighted.tile;
  scores.columns = 1;
  weighted.inner = 1;
  for (int64_t t = 0; t < count; ++t) {
    tape_.region(stage.name + ".scores");
    scores.tile = [&, t](const Affine& inner, const Affine&) { return key_tile(inner, t); };
    product(scores, choices_.scores);
    tape_.region(stage.name + ".softmax");
    each_row([&](const Affine& row, const Affine& query) {
      const Affine at = s.at(row, 0);
      if (mask) tape_.vv(Opcode::kVAddVv, at, at, mask->at(query, t));
      if (tail_row && t + 1 == count) tape_.vv(Opcode::kVAddVv, at, at, tail_row->at(0, 0));
      const ScalarId maximum = tape_.variable(), sum = tape_.variable();
      if (t == 0) {
        tape_.set(maximum, -INFINITY);
        tape_.red_max(maximum, at);
        tape_.s_fp(Opcode::kSAddFp, sum, tape_.zero(), tape_.zero());
      } else {
        const ScalarId factor = tape_.variable();
        tape_.s_load(factor, row + maxima);
        tape_.s_fp(Opcode::kSAddFp, maximum, factor, tape_.zero());
        tape_.red_max(maximum, at);
        tape_.s_fp(Opcode::kSSubFp, factor, factor, maximum);
        if (scaled != kNoScalar) tape_.s_fp(Opcode::kSMulFp, factor, factor, scaled);
        tape_.s_fp(Opcode::kSExpFp, factor, factor);
        tape_.s_store(factor, row + factors);
        tape_.s_load(sum, row + sums);
        tape_.s_fp(Opcode::kSMulFp, sum, sum, factor);
      }
      tape_.s_store(maximum, row + maxima);
      tape_.v_sub_f(at, at, maximum, false);
      if (scaled != kNoScalar) tape_.vf(Opcode::kVMulVf, at, at, scaled);
      tape_.v_exp(at, at);
      tape_.red_sum(sum, at);
      tape_.s_store(sum, row + sums);
    });
    tape_.region(stage.name + ".weighted");
    weighted.tile = [&, t](const Affine&, const Affine& column) { return value_tile(t, column); };
    weighted.y = t == 0 ? result : [&](const Affine& row, const Affine& tile) { return part.at(row, tile); };
    product(weighted, choices_.weighted);
    if (t == 0) continue;
    each_row([&](const Affine& row, const Affine&) {
      const ScalarId factor = tape_.variable();
      tape_.s_load(factor, row + factors);
      for (int64_t column = 0; column < weighted.columns; ++column) {
        const Affine to = result(row, column);
        tape_.vf(Opcode::kVMulVf, to, to, factor);
        tape_.vv(Opcode::kVAddVv, to, to, part.at(row, column));
      }
    });
  }
  each_row([&](const Affine& row, const Affine&) {
    const ScalarId sum = tape_.variable();
    tape_.s_load(sum, row + sums);
    tape_.s_fp(Opcode::kSReciFp, sum, sum);
    for (int64_t column = 0; column < weighted.columns; ++column)
      tape_.vf(Opcode::kVMulVf, result(row, column), result(row, column), sum);
  });
  release_panel(part);
}

// exp(scale * (x + mask - max)) of rows, divided by its sum when `divide`.
void Lowerer::soft_rows(const Panel& from, const Panel& to,
                        const std::vector<std::pair<int64_t, int64_t>>& ranges, int64_t cols, double scale,
                        const std::optional<Panel>& mask, bool divide) {
  const int64_t count = tiles(cols);
  const std::optional<Panel> tail_row = masked_columns(cols);
  std::optional<Panel> added;  // the vectors of a row before they are summed
  if (divide && choices_.row_sum != RowSum::kPerVector && count > 1) added = new_panel(1, machine_.vlen);
  const ScalarId factor = scale == 1 ? kNoScalar : tape_.constant(static_cast<float>(scale));
  for (const auto& [first, rows] : ranges) {
    tape_.loop(rows, choices_.unroll_vector, [&, first = first](const Affine& row) {
      const Affine at = row + first;
      bool moved = false;
      if (mask) {
        for (int64_t t = 0; t < count; ++t)
          tape_.vv(Opcode::kVAddVv, to.at(at, t), from.at(at, t), mask->at(row, t));
        moved = true;
      }
      if (tail_row) {
        for (int64_t t = 0; t + 1 < count && !moved && from.first != to.first; ++t)
          tape_.vf(Opcode::kVAddVf, to.at(at, t), from.at(at, t), tape_.zero());
        const Panel& source = moved ? to : from;
        tape_.vv(Opcode::kVAddVv, to.at(at, count - 1), source.at(at, count - 1), tail_row->at(0, 0));
        moved = true;
      }
      const Panel& source = moved ? to : from;
      const ScalarId maximum = tape_.variable();
      tape_.set(maximum, -INFINITY);
      for (int64_t t = 0; t < count; ++t) tape_.red_max(maximum, source.at(at, t));
      for (int64_t t = 0; t < count; ++t) {
        tape_.v_sub_f(to.at(at, t), source.at(at, t), maximum, false);
        if (factor != kNoScalar) tape_.vf(Opcode::kVMulVf, to.at(at, t), to.at(at, t), factor);
        tape_.v_exp(to.at(at, t), to.at(at, t));
      }
      if (!divide) return;
      const ScalarId sum = tape_.variable();
      tape_.s_fp(Opcode::kSAddFp, sum, tape_.zero(), tape_.zero());
      if (added) {
        for (int64_t t = 1; t < count; ++t)
          tape_.vv(Opcode::kVAddVv, added->at(0, 0), t == 1 ? to.at(at, 0) : added->at(0, 0), to.at(at, t));
        tape_.red_sum(sum, added->at(0, 0));
      } else {
        for (int64_t t = 0; t < count; ++t) tape_.red_sum(sum, to.at(at, t));
      }
      tape_.s_fp(Opcode::kSReciFp, sum, sum);
      for (int64_t t = 0; t < count; ++t) tape_.vf(Opcode::kVMulVf, to.at(at, t), to.at(at, t), sum);
    });
  }
  if (added) release_panel(*added);
}

void Lowerer::stage_softmax(const Stage& stage) {
  const Panel from = panel(stage.a);
  const Panel to = result_panel(stage);
  soft_rows(from, to, {{0, value(stage.a).rows}}, value(stage.a).cols, 1, std::nullopt, true);
}

}  // namespace zomboss::plena
