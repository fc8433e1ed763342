// Products on the systolic array: BLEN x BLEN results of one M_MM chain at a time.
#include <algorithm>

#include "plugins/targets/plena/lower/lowerer.h"
#include "plugins/targets/plena/lower/unroll.h"

namespace zomboss::plena {
void Lowerer::load_tile(const Product& product, int64_t slot_index, const Affine& inner,
                        const Affine& column) {
  tape_.prefetch_m(slot(slot_index), product.place, product.tile(inner, column));
}

void Lowerer::each_column(const Product& product, int64_t first_inner, int64_t inner,
                          const std::function<void(const Affine& column, const Affine& first_slot)>& body) {
  const int64_t block =
      std::clamp<int64_t>(slots() / inner, 1, std::min(choices_.column_block, product.columns));
  note_tiles(std::min(block * inner, slots()));
  const auto run = [&](const Affine& first, int64_t count) {
    const auto load = [&](const Affine& column, const Affine& k) {
      tape_.prefetch_m((column * inner + k) * machine_.tile_elements(), product.place,
                       product.tile(k + first_inner, first + column));
    };
    if (choices_.load_order == LoadOrder::kColumns) {
      tape_.loop(count, choices_.unroll_load, [&](const Affine& column) {
        tape_.loop(inner, choices_.unroll_load, [&](const Affine& k) { load(column, k); });
      });
    } else {
      tape_.loop(inner, choices_.unroll_load, [&](const Affine& k) {
        tape_.loop(count, choices_.unroll_load, [&](const Affine& column) { load(column, k); });
      });
    }
    tape_.loop(count, choices_.unroll_column,
               [&](const Affine& column) { body(first + column, column * inner); });
  };
  const int64_t whole = product.columns / block;
  tape_.loop(whole, choices_.unroll_column, [&](const Affine& index) { run(index * block, block); });
  if (product.columns % block != 0) run(whole * block, product.columns % block);
}

void Lowerer::array_columns(const Product& product, int64_t first_inner, int64_t inner,
                            const Product::Address& y) {
  const int64_t blen = machine_.blen;
  const int64_t mlen = machine_.mlen;
  const int64_t row_groups = (product.rows + blen - 1) / blen;
  UnrollBudget budget(choices_.unroll_product);
  const int64_t unroll_inner = budget.take(inner);
  const int64_t unroll_part = budget.take(mlen / blen);
  const int64_t unroll_rows = budget.take(row_groups);
  each_column(product, first_inner, inner, [&](const Affine& column, const Affine& first_slot) {
    tape_.loop(row_groups, unroll_rows, [&](const Affine& group) {
      tape_.loop(mlen / blen, unroll_part, [&](const Affine& part) {
        tape_.loop(inner, unroll_inner, [&](const Affine& k) {
          const Affine matrix = (first_slot + k) * machine_.tile_elements() + part * (blen * mlen);
          for (const Product::Address* x : {&product.x, &product.x_low}) {
            if (!*x) continue;
            const Affine vector = (*x)(group * blen, k + first_inner);
            if (product.transposed)
              tape_.tmm(vector, matrix);
            else
              tape_.mm(matrix, vector);
          }
        });
        if (product.residual && first_inner + inner == product.inner) {
          const Affine matrix = unit_tile() + part * (blen * mlen);
          const Affine vector = product.residual(group * blen, column);
          if (product.transposed)
            tape_.tmm(vector, matrix);
          else
            tape_.mm(matrix, vector);
        }
        tape_.mm_write(y(group * blen, column) + part * blen, 1);
      });
    });
  });
}

void Lowerer::array_product(const Product& product) {
  if (product.residual) unit_tile();  // loaded before the loops
  const int64_t chunk = std::min(product.inner, slots());
  array_columns(product, 0, chunk, product.y);
  if (chunk == product.inner) return;
  // The array cannot go on from a written result: later parts are added in the vector engine.
  const int64_t cols = product.columns * machine_.vlen;
  const Panel part = new_panel(product.rows, cols);
  for (int64_t first = chunk; first < product.inner; first += chunk) {
    array_columns(product, first, std::min(chunk, product.inner - first),
                  [&part](const Affine& row, const Affine& tile) { return part.at(row, tile); });
    each_vector(product.rows, product.columns, [&](const Affine& row, const Affine& tile) {
      tape_.vv(Opcode::kVAddVv, product.y(row, tile), product.y(row, tile), part.at(row, tile));
    });
  }
  release_panel(part);
}

void Lowerer::product(const Product& product, ProductForm form) {
  switch (form) {
    case ProductForm::kArray:
      return array_product(product);
    case ProductForm::kSpread:
      return spread_product(product);
    case ProductForm::kShift:
      return shift_product(product);
    case ProductForm::kRowPack:
      return product.transposed ? row_pack_product(product) : spread_product(product);
    case ProductForm::kRowShift:
      return product.transposed ? row_shift_product(product) : shift_product(product);
  }
}

// Rows around a result that the form's write-outs overwrite besides it.
Panel Lowerer::form_panel(int64_t rows, int64_t cols, ProductForm form) {
  const int64_t block = machine_.mlen;
  int64_t before = 0, after = 0;
  if (form == ProductForm::kSpread) after = machine_.broadcast_amount * block;
  if (form == ProductForm::kShift) {
    before = (machine_.broadcast_amount - 1) * block;
    after = block;
  }
  if (form == ProductForm::kRowPack) after = machine_.broadcast_amount;
  if (form == ProductForm::kRowShift) before = machine_.broadcast_amount - 1;
  return new_panel(rows, cols, before, after);
}

Panel Lowerer::output_panel(const Stage& stage, ProductForm form) {
  return form_panel(value(stage.out).rows, value(stage.out).cols, form);
}

ProductForm Lowerer::form_of(const Stage& stage) const {
  ProductForm form = value(stage.out).rows == 1 ? choices_.matvec : choices_.matmul;
  const bool rows_only = form == ProductForm::kRowPack || form == ProductForm::kRowShift;
  if (rows_only && (!stage.transposed || stage.low != kNoValue))
    form = form == ProductForm::kRowPack ? ProductForm::kSpread : ProductForm::kShift;
  return form;
}

bool Lowerer::accumulates(const Stage& stage) const {
  const ProductForm form = form_of(stage);
  return stage.residual != kNoValue && choices_.accumulate_residuals != 0 &&
         (form == ProductForm::kArray || form == ProductForm::kSpread);
}

void Lowerer::stage_matmul(const Stage& stage) {
  const Panel x = panel(stage.a);
  const HbmTensor matrix = tensor_of(stage.b);
  const int64_t rows = value(stage.out).rows / stage.batch;
  const ProductForm form = form_of(stage);
  std::optional<Panel> low, residual;
  if (stage.low != kNoValue) low = panel(stage.low);
  if (accumulates(stage)) residual = panel(stage.residual);
  const Panel y = output_panel(stage, form);
  Product task;
  task.rows = rows;
  task.inner = tiles(value(stage.a).cols);
  task.columns = tiles(value(stage.out).cols);
  task.place = matrix.place(machine_.mlen);
  task.transposed = stage.transposed;
  task.alone = stage.batch == 1;
  const int64_t tile_row = machine_.mlen * matrix.padded_cols;
  for (int64_t index = 0; index < stage.batch; ++index) {
    const int64_t b =
        form == ProductForm::kShift || form == ProductForm::kRowShift ? stage.batch - 1 - index : index;
    task.x = [&, b](const Affine& row, const Affine& tile) { return x.at(row + b * rows, tile); };
    if (low)
      task.x_low = [&, b](const Affine& row, const Affine& tile) { return low->at(row + b * rows, tile); };
    if (residual)
      task.residual = [&](const Affine& row, const Affine& tile) { return residual->at(row, tile); };
    task.y = [&, b](const Affine& row, const Affine& tile) { return y.at(row + b * rows, tile); };
    task.tile = [&, b](const Affine& k, const Affine& column) {
      const Affine& down = stage.transposed ? column : k;
      const Affine& across = stage.transposed ? k : column;
      return down * tile_row + across * machine_.mlen + matrix.batch_offset(b);
    };
    product(task, form);
  }
  panels_[static_cast<size_t>(residual ? stage.sum : stage.out)] = y;
}

}  // namespace zomboss::plena
