// Attention whose keys and values are never computed: with K = X Wk and V = X Wv the scores are (Q Wk^T) X^T
// and the result (P X) Wv, all of whose matrices lie in the HBM already.
#include "plugins/targets/plena/lower/lowerer.h"

namespace zomboss::plena {

void Lowerer::stage_absorbed_attention(const Stage& stage) {
  const int64_t mlen = machine_.mlen;
  const int64_t group = stage.heads / stage.kv_heads;
  const int64_t queries = value(stage.a).rows;
  const int64_t keys = value(stage.b).rows;
  const int64_t head_tiles = tiles(stage.head_dim), value_tiles = tiles(stage.value_dim);
  const int64_t hidden = value(stage.b).cols;
  const Panel q = panel(stage.a);
  const HbmTensor x = tensor_of(stage.b), key = tensor_of(stage.absorbed_key),
                  values = tensor_of(stage.absorbed_value);
  const bool mirrored =
      choices_.weighted == ProductForm::kShift || choices_.weighted == ProductForm::kRowShift;
  const Panel o = output_panel(stage, choices_.weighted);
  std::optional<Panel> mask;
  if (stage.mask != MaskKind::kNone) {
    tape_.region(stage.name + ".mask");
    mask = mask_panel(stage, queries, keys);
  }
  // A product from one panel to a new one; row 0 of both is the first query of the head.
  const auto multiply = [&](const char* what, const Product::Address& from, int64_t inner, int64_t columns,
                            const HbmTensor& matrix, bool transposed, const Product::Address& to,
                            const std::function<Affine(const Affine&, const Affine&)>& tile) {
    tape_.region(stage.name + "." + what);
    Product task;
    task.rows = queries;
    task.inner = inner;
    task.columns = columns;
    task.transposed = transposed;
    task.place = matrix.place(machine_.mlen);
    task.x = from;
    task.y = to;
    task.tile = tile;
    product(task, transposed ? choices_.scores : choices_.weighted);
  };
  const int64_t spill = machine_.broadcast_amount * mlen;
  const auto at = [](const Panel& panel) {
    return [panel](const Affine& row, const Affine& tile) { return panel.at(row, tile); };
  };
  for (int64_t index = 0; index < stage.heads; ++index) {
    const int64_t head = mirrored ? stage.heads - 1 - index : index;
    const int64_t kv = head / group;
    const Panel projected = new_panel(queries, hidden, spill, spill);
    multiply(
        "query", [&](const Affine& row, const Affine& tile) { return q.at(row, tile + head * head_tiles); },
        head_tiles, tiles(hidden), key, true, at(projected),
        [&](const Affine& inner, const Affine& column) {
          return column * (mlen * key.padded_cols) + inner * mlen + kv * head_tiles * mlen;
        });
    const Panel s = new_panel(queries, keys, spill, spill);
    multiply("scores", at(projected), tiles(hidden), tiles(keys), x, true, at(s),
             [&](const Affine& inner, const Affine& column) {
               return column * (mlen * x.padded_cols) + inner * mlen;
             });
    release_panel(projected);
    tape_.region(stage.name + ".softmax");
    soft_rows(s, s, {{0, queries}}, keys, stage.scale, mask, true);
    const Panel mixed = new_panel(queries, hidden, spill, spill);
    multiply("mixed", at(s), tiles(keys), tiles(hidden), x, false, at(mixed),
             [&](const Affine& inner, const Affine& column) {
               return inner * (mlen * x.padded_cols) + column * mlen;
             });
    release_panel(s);
    multiply(
        "result", at(mixed), tiles(hidden), value_tiles, values, false,
        [&](const Affine& row, const Affine& tile) { return o.at(row, tile + head * value_tiles); },
        [&](const Affine& inner, const Affine& column) {
          return inner * (mlen * values.padded_cols) + column * mlen + kv * value_tiles * mlen;
        });
    release_panel(mixed);
  }
  if (mask && stage.mask == MaskKind::kCausal) release_panel(*mask);
  panels_[static_cast<size_t>(stage.out)] = o;
}

}  // namespace zomboss::plena
