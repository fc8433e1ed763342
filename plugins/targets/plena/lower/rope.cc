// Rotary position embedding. Features that rotate into each other lie in two vectors (half layout from two
// tiles on), or in one; then a product with a constant tile, or for inputs a second load, turns them around.
#include <algorithm>

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

// A half table at full width: each number for both features that it rotates.
Panel Lowerer::widened_table(const Stage& stage, const Panel& half, const char* what) {
  const int64_t rows = value(stage.a).rows;
  const int64_t width = value(stage.a).cols / stage.rope_heads;
  const Panel full = new_panel(rows, width, 0, machine_.broadcast_amount * machine_.mlen);
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
}

// x turned by a quarter: in half layout (-upper, lower) of each head, interleaved (-odd, even) of each pair.
void Lowerer::turn_by_product(const Stage& stage, const Panel& x, const Panel& turned) {
  const int64_t width = value(stage.a).cols / stage.rope_heads;
  const int64_t half = width / 2;
  constant_product(stage.name + ".turn", x, turned, value(stage.a).rows, [&](int64_t k, int64_t n) {
    if (stage.interleaved) return n % 2 == 0 ? (k == n + 1 ? -1.0f : 0.0f) : (k == n - 1 ? 1.0f : 0.0f);
    return n % width < half ? (k == n + half ? -1.0f : 0.0f) : (k == n - half ? 1.0f : 0.0f);
  });
}

void Lowerer::stage_rope(const Stage& stage) {
  const int64_t rows = value(stage.a).rows;
  const int64_t width = value(stage.a).cols / stage.rope_heads;
  const int64_t vlen = machine_.vlen;
  const int64_t half = width / 2;
  if (!stage.interleaved && width >= 2 * vlen) return rotate_tile_pairs(stage);
  const bool again = rope_loads_again(stage);
  Panel turned;
  if (again) {  // the upper half comes to the lower by a load that starts half a row later
    turned = new_panel(rows, value(stage.a).cols, 0, machine_.prefetch_v_rows);
    const HbmTensor tensor = tensor_of(stage.a);
    const int64_t step = machine_.prefetch_v_rows;
    tape_.loop(turned.tiles, choices_.unroll_load, [&](const Affine& tile) {
      tape_.loop((rows + step - 1) / step, choices_.unroll_load, [&](const Affine& group) {
        tape_.prefetch_v(turned.at(group * step, tile), tensor.place(vlen),
                         group * (step * tensor.padded_cols) + tile * vlen + half);
      });
    });
  }
  const Panel x = panel(stage.a);
  Panel cosines = panel(stage.b);
  Panel sines = panel(stage.c);
  std::vector<Panel> own;
  if (stage.half_table) {
    own.push_back(cosines = widened_table(stage, cosines, "cosines"));
    own.push_back(sines = widened_table(stage, sines, "sines"));
  }
  if (!again) {
    turned = new_panel(rows, value(stage.a).cols, 0, machine_.broadcast_amount * machine_.mlen);
    turn_by_product(stage, x, turned);
  }
  own.push_back(turned);
  const Panel y = result_panel(stage);
  const Panel temporary = new_panel(1, vlen);
  const Affine t = temporary.at(0, 0);
  const int64_t table_tiles = std::max<int64_t>(1, width / vlen);
  const auto low = static_cast<int32_t>((int64_t{1} << (half / machine_.hlen)) - 1);
  tape_.loop(x.tiles / table_tiles, choices_.unroll_vector, [&](const Affine& head) {
    for (int64_t table = 0; table < table_tiles; ++table) {
      tape_.loop(rows, choices_.unroll_vector, [&](const Affine& row) {
        const Affine tile = head * table_tiles + table;
        const Affine from = x.at(row, tile), to = y.at(row, tile);
        Affine other = turned.at(row, tile);
        if (again) {
          tape_.v_shift(t, from, half);
          tape_.vv(Opcode::kVSubVv, t, t, other, low);  // lower half: 0 - upper x; upper half: lower x
          other = t;
        }
        tape_.vv(Opcode::kVMulVv, t, other, sines.at(row, table));
        tape_.vv(Opcode::kVMulVv, to, from, cosines.at(row, table));
        tape_.vv(Opcode::kVAddVv, to, to, t);
      });
    }
  });
  release_panel(temporary);
  for (const Panel& each : own) release_panel(each);
}

bool Lowerer::rope_loads_again(const Stage& stage) const {
  const int64_t width = value(stage.a).cols / stage.rope_heads;
  return choices_.rope_turn == RopeTurn::kLoad && value(stage.a).origin == Origin::kInput &&
         !stage.interleaved && width == machine_.vlen && width / 2 % machine_.hlen == 0;
}

// Half layout of two or more tiles a head: whole vectors rotate into each other.
void Lowerer::rotate_tile_pairs(const Stage& stage) {
  const Panel x = panel(stage.a);
  const Panel cosines = panel(stage.b);
  const Panel sines = panel(stage.c);
  const Panel y = new_panel(value(stage.a).rows, value(stage.a).cols);
  panels_[static_cast<size_t>(stage.out)] = y;
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
