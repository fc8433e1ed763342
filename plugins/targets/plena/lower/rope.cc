// Rotary position embedding. Features that rotate into each other lie in two vectors (half layout from two
// tiles on), or in one; then a product with a constant tile, or for inputs a second load, turns them around.
#include "plugins/targets/plena/lower/lowerer.h"

namespace zomboss::plena {

// to = from times a constant matrix of one tile, row by row, tile by tile.
void Lowerer::constant_product(const std::string& name, const Panel& from, const Panel& to, int64_t rows,
                               const std::function<float(int64_t, int64_t)>& element) {
  std::vector<float> data(static_cast<size_t>(machine_.mlen) * machine_.mlen);
  for (int64_t k = 0; k < machine_.mlen; ++k) {
    for (int64_t n = 0; n < machine_.mlen; ++n)
      data[static_cast<size_t>(k * machine_.mlen + n)] = element(k, n);
  }
  const HbmTensor tensor = add_tensor(name, 1, machine_.mlen, machine_.mlen, true, -1, std::move(data));
  // Tiles are consecutive rows of both panels, so that one product does them all.
  Product task;
  task.rows = (from.tiles - 1) * from.pitch + rows;
  task.inner = 1;
  task.columns = 1;
  task.place = tensor.place(machine_.mlen);
  task.x = [&](const Affine& row, const Affine&) { return from.at(row, 0); };
  task.y = [&](const Affine& row, const Affine&) { return to.at(row, 0); };
  task.tile = [](const Affine&, const Affine&) { return Affine(0); };
  ProductForm form = choices_.matmul;
  if (form != ProductForm::kArray) form = ProductForm::kSpread;
  product(task, form);
}

void Lowerer::stage_rope(const Stage& stage) {
  const int64_t rows = value(stage.a).rows;
  const int64_t width = value(stage.a).cols / stage.rope_heads;
  const int64_t vlen = machine_.vlen;
  const Panel x = panel(stage.a);
  Panel cosines = panel(stage.b);
  Panel sines = panel(stage.c);
  const Panel y = new_panel(rows, value(stage.a).cols);
  panels_[static_cast<size_t>(stage.out)] = y;
  const int64_t table_tiles = tiles(width);
  if (!stage.interleaved && width >= 2 * vlen) {
    rotate_tile_pairs(stage, x, cosines, sines, y);
    return;
  }
  // A half table is brought to full width first.
  std::vector<Panel> own;
  const auto widen = [&](const Panel& half, const char* what) {
    const Panel full = new_panel(rows, width, 0, machine_.broadcast_amount * machine_.mlen);
    own.push_back(full);
    if (!stage.interleaved) {
      each_vector(rows, 1, [&](const Affine& row, const Affine&) {
        tape_.v_shift(full.at(row, 0), half.at(row, 0), width / 2);
        tape_.vv(Opcode::kVAddVv, full.at(row, 0), full.at(row, 0), half.at(row, 0));
      });
    } else {
      constant_product(stage.name + "." + what, half, full, rows,
                       [](int64_t k, int64_t n) { return n / 2 == k ? 1.0f : 0.0f; });
    }
    return full;
  };
  if (stage.half_table) {
    cosines = widen(cosines, "cosines");
    sines = widen(sines, "sines");
  }
  const Panel turned = new_panel(rows, value(stage.a).cols, 0, machine_.broadcast_amount * machine_.mlen);
  own.push_back(turned);
  const bool again = value(stage.a).origin == Origin::kInput && !stage.interleaved && width == vlen &&
                     (width / 2) % machine_.hlen == 0;
  const int64_t half = width / 2;
  if (again) {  // the upper half comes to the lower by a load that starts half a row later
    HbmTensor tensor = tensor_of(stage.a);
    const int64_t step = machine_.prefetch_v_rows;
    tape_.loop(turned.tiles, choices_.unroll_load, [&](const Affine& tile) {
      tape_.loop((rows + step - 1) / step, choices_.unroll_load, [&](const Affine& group) {
        tape_.prefetch_v(turned.at(group * step, tile), tensor.place(vlen),
                         group * (step * tensor.padded_cols) + tile * vlen + half);
      });
    });
  } else {
    constant_product(stage.name + ".turn", x, turned, rows, [&](int64_t k, int64_t n) {
      if (stage.interleaved) return n % 2 == 0 ? (k == n + 1 ? -1.0f : 0.0f) : (k == n - 1 ? 1.0f : 0.0f);
      const bool low = n % width < half;
      return low ? (k == n + half ? -1.0f : 0.0f) : (k == n - half ? 1.0f : 0.0f);
    });
  }
  const int64_t heads_per_half = half / machine_.hlen;
  const auto low_mask = static_cast<int32_t>((int64_t{1} << heads_per_half) - 1);
  const auto high_mask = static_cast<int32_t>(low_mask << heads_per_half);
  const int64_t table_step = width >= vlen ? table_tiles : 1;
  tape_.loop(x.tiles / table_step, choices_.unroll_vector, [&](const Affine& head) {
    for (int64_t t = 0; t < table_step; ++t) {
      tape_.loop(rows, choices_.unroll_vector, [&](const Affine& row) {
        const Affine tile = head * table_step + t;
        const Affine from = x.at(row, tile);
        const Affine to = y.at(row, tile);
        const Affine r = turned.at(row, tile);
        if (again) {
          tape_.v_shift(to, from, half);
          tape_.vv(Opcode::kVAddVv, r, to, r, low_mask);  // lower half: 0 + upper x; upper half: lower x
          tape_.vv(Opcode::kVMulVv, r, r, sines.at(row, t));
          tape_.vv(Opcode::kVMulVv, to, from, cosines.at(row, t));
          tape_.vv(Opcode::kVSubVv, to, to, r, low_mask);
          tape_.vv(Opcode::kVAddVv, to, to, r, high_mask);
        } else {
          tape_.vv(Opcode::kVMulVv, r, r, sines.at(row, t));
          tape_.vv(Opcode::kVMulVv, to, from, cosines.at(row, t));
          tape_.vv(Opcode::kVAddVv, to, to, r);
        }
      });
    }
  });
  for (const Panel& each : own) release_panel(each);
}

// Half layout of two or more tiles a head: whole vectors rotate into each other.
void Lowerer::rotate_tile_pairs(const Stage& stage, const Panel& x, const Panel& cosines, const Panel& sines,
                                const Panel& y) {
  const int64_t half = tiles(value(stage.a).cols / stage.rope_heads) / 2;
  const int64_t upper = stage.half_table ? 0 : half;  // tile of the upper features' tables
  const Panel temporary = new_panel(1, machine_.vlen);
  const Affine t = temporary.at(0, 0);
  tape_.loop(stage.rope_heads, choices_.unroll_vector, [&](const Affine& head) {
    for (int64_t pair = 0; pair < half; ++pair) {
      tape_.loop(value(stage.a).rows, choices_.unroll_vector, [&](const Affine& row) {
        const Affine low = x.at(row, head * (2 * half) + pair),
                     high = x.at(row, head * (2 * half) + pair + half);
        const Affine to_low = y.at(row, head * (2 * half) + pair),
                     to_high = y.at(row, head * (2 * half) + pair + half);
        tape_.vv(Opcode::kVMulVv, to_low, low, cosines.at(row, pair));
        tape_.vv(Opcode::kVMulVv, t, high, sines.at(row, pair));
        tape_.vv(Opcode::kVSubVv, to_low, to_low, t);
        tape_.vv(Opcode::kVMulVv, to_high, high, cosines.at(row, pair + upper));
        tape_.vv(Opcode::kVMulVv, t, low, sines.at(row, pair + upper));
        tape_.vv(Opcode::kVAddVv, to_high, to_high, t);
      });
    }
  });
  release_panel(temporary);
}

}  // namespace zomboss::plena
