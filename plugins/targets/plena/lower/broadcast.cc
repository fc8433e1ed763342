// Products in the broadcast forms. M_BTMM and M_BMM multiply 64 vectors with a slice of 16 of the tile's
// columns or rows, in four lanes that see different elements of the vectors. The copies of the vectors that
// put each slice's elements before the right lane are made by a product with a constant tile (spread), by
// shifts, or, row by row for M_BTMV, by packing. The other lanes give zeros or garbage, which later
// write-outs overwrite.
#include <algorithm>
#include <cmath>

#include "plugins/targets/plena/lower/lowerer.h"

namespace zomboss::plena {
namespace {

constexpr double kBroadcastScale = 0.25;  // that the machine multiplies the broadcast forms with

}  // namespace

int64_t Lowerer::lanes_for(int64_t rows) const {
  const int64_t blocks = (rows + machine_.mlen - 1) / machine_.mlen;
  return std::clamp<int64_t>(std::min<int64_t>(choices_.lanes, machine_.broadcast_amount), 1,
                             std::max<int64_t>(blocks, 1));
}

// Rows of a panel of its own to the result, where a write-out would overwrite other results.
void Lowerer::copy_rows(const Panel& from, int64_t first, const Product& product, const Affine& row,
                        const Affine& column, int64_t rows) {
  tape_.loop(rows, choices_.unroll_vector, [&](const Affine& i) {
    tape_.vf(Opcode::kVAddVf, product.y(row + i, column), from.at(i + first, 0), tape_.zero());
  });
}

// The constant tile: slice t brings a group's elements into lane t. A product with it and one with the copies
// each multiply with the broadcast scale, which the constant takes back.
int64_t Lowerer::spread_tile(bool transposed, double factor) {
  const auto number = static_cast<float>(factor / (kBroadcastScale * kBroadcastScale));
  const int64_t head = machine_.hlen;
  const int64_t lanes = machine_.broadcast_amount;
  std::string name = transposed ? "identity" : "interleave";
  if (factor != 1) name += "." + std::to_string(number);
  return constant_tile(name, [=](int64_t row, int64_t col) {
    const int64_t lane = col / head;
    const int64_t target = transposed ? col : col % head * lanes + lane;
    return row == target ? number : 0.0f;
  });
}

// Rows of the copies: [group of lanes][inner tile][part][64 rows].
Panel Lowerer::spread_copies(const Product& product, const Product::Address& x, int64_t lanes) {
  const int64_t block = machine_.mlen;
  const int64_t parts = machine_.broadcast_amount;
  const int64_t blocks = (product.rows + block - 1) / block;
  const int64_t groups = (blocks + lanes - 1) / lanes;
  const int64_t tile = spread_tile(product.transposed, product.factor);
  const Panel copies = new_panel(parts * block, groups * product.inner * machine_.vlen);
  tape_.loop(groups, choices_.unroll_product, [&](const Affine& group) {
    tape_.loop(product.inner, choices_.unroll_product, [&](const Affine& k) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        if (group.terms.empty() && group.base * lanes + lane >= blocks) break;
        tape_.btmm(tile + lane * machine_.hlen, x((group * lanes + lane) * block, k));
      }
      tape_.bmm_write(copies.at(0, group * product.inner + k));
    });
  });
  return copies;
}

void Lowerer::spread_product(const Product& product) {
  const int64_t block = machine_.mlen;
  const int64_t parts = machine_.broadcast_amount;
  const int64_t lanes = lanes_for(product.rows);
  const int64_t groups = ((product.rows + block - 1) / block + lanes - 1) / lanes;
  std::vector<Panel> copies = {spread_copies(product, product.x, lanes)};
  if (product.x_low) copies.push_back(spread_copies(product, product.x_low, lanes));
  const auto multiply = [&](const Affine& slot_address, const Affine& group, const Affine& k) {
    for (int64_t part = 0; part < parts; ++part) {
      const Affine matrix = slot_address + part * machine_.hlen;
      for (const Panel& each : copies) {
        const Affine vectors = each.at(part * block, group * product.inner + k);
        if (product.transposed)
          tape_.btmm(matrix, vectors);
        else
          tape_.bmm(matrix, vectors);
      }
    }
  };
  std::optional<Panel> residual;
  int64_t unit = 0;
  if (product.residual) {
    unit = unit_tile();
    Product added = product;
    added.inner = product.columns;
    residual = spread_copies(added, product.residual, lanes);
  }
  const auto add_residual = [&](const Affine& group, const Affine& column) {
    for (int64_t part = 0; residual && part < parts; ++part) {
      const Affine vectors = residual->at(part * block, group * product.columns + column);
      if (product.transposed)
        tape_.btmm(unit + part * machine_.hlen, vectors);
      else
        tape_.bmm(unit + part * machine_.hlen, vectors);
    }
  };
  std::optional<Panel> aside;
  if (!product.alone) aside = new_panel(parts * block, machine_.vlen);
  const auto write = [&](const Affine& group, int64_t rows, const Affine& column) {
    add_residual(group, column);
    tape_.bmm_write(aside ? aside->at(0, 0) : product.y(group * (lanes * block), column));
    if (aside) copy_rows(*aside, 0, product, group * (lanes * block), column, rows);
  };
  // Whole groups of lanes, then the rows that are left.
  const auto each_group = [&](const std::function<void(const Affine& group, int64_t rows)>& body) {
    const int64_t whole = product.rows / (lanes * block);
    tape_.loop(whole, choices_.unroll_product, [&](const Affine& group) { body(group, lanes * block); });
    if (product.rows % (lanes * block) != 0) body(whole, product.rows % (lanes * block));
  };
  if (product.inner <= slots()) {
    each_column(product, 0, product.inner, [&](const Affine& column, const Affine& first_slot) {
      each_group([&](const Affine& group, int64_t rows) {
        tape_.loop(product.inner, choices_.unroll_product,
                   [&](const Affine& k) { multiply((first_slot + k) * machine_.tile_elements(), group, k); });
        write(group, rows, column);
      });
    });
  } else {  // the accumulators take all inner tiles, one after the other through one working tile
    note_tiles(1);
    tape_.loop(product.columns, choices_.unroll_column, [&](const Affine& column) {
      each_group([&](const Affine& group, int64_t rows) {
        tape_.loop(product.inner, choices_.unroll_product, [&](const Affine& k) {
          load_tile(product, 0, k, column);
          multiply(slot(0), group, k);
        });
        write(group, rows, column);
      });
    });
  }
  if (aside) release_panel(*aside);
  if (product.constant_column) {
    tape_.loop(groups, choices_.unroll_product, [&](const Affine& group) {
      tape_.loop(product.inner, choices_.unroll_product,
                 [&](const Affine& k) { multiply(*product.constant_column, group, k); });
      tape_.bmm_write(product.constant_y(group * (lanes * block)));
    });
  }
  if (residual) release_panel(*residual);
  for (const Panel& each : copies) release_panel(each);
}

// Copies for the last lane: [inner tile][part][rows]. Transposed: part p is shifted up by whole groups, so
// that group p stands where the last one stood. Natural: element 4d + p moves to 4d + 3.
Panel Lowerer::shifted_copies(const Product& product, const Product::Address& x) {
  const int64_t parts = machine_.broadcast_amount;
  const Panel copies =
      new_panel(padded_rows(product.rows), parts * product.inner * machine_.vlen, 0, machine_.mlen);
  const ScalarId four = tape_.constant(static_cast<float>(product.factor / kBroadcastScale));
  const int64_t step = product.transposed ? machine_.hlen : 1;
  tape_.loop(product.inner, choices_.unroll_vector, [&](const Affine& k) {
    tape_.loop(product.rows, choices_.unroll_vector, [&](const Affine& row) {
      const Affine last = copies.at(row, k * parts + (parts - 1));
      tape_.vf(Opcode::kVMulVf, last, x(row, k), four);
      for (int64_t part = 0; part + 1 < parts; ++part)
        tape_.v_shift(copies.at(row, k * parts + part), last, step * (parts - 1 - part));
    });
  });
  return copies;
}

// The last lane's result lies above three blocks of garbage: whole blocks are written from the last column
// and block to the first; others go through a panel of their own.
void Lowerer::shift_product(const Product& product) {
  const int64_t block = machine_.mlen;
  const int64_t parts = machine_.broadcast_amount;
  const int64_t blocks = (product.rows + block - 1) / block;
  std::vector<Panel> copies = {shifted_copies(product, product.x)};
  if (product.x_low) copies.push_back(shifted_copies(product, product.x_low));
  note_tiles(1);
  const int64_t below = (parts - 1) * block * machine_.vlen;
  std::optional<Panel> aside;
  if (product.rows % block != 0 || !product.alone) aside = new_panel(parts * block, machine_.vlen);
  HbmPlace residue = product.place;  // every fourth row of the matrix
  const auto row_bytes = static_cast<int64_t>(residue.stride == 0 ? machine_.mlen : residue.stride);
  residue.stride = static_cast<uint32_t>(parts * row_bytes);
  const int64_t chunks = (product.inner + parts - 1) / parts;
  for (int64_t column = product.columns; column-- > 0;) {
    for (int64_t index = blocks; index-- > 0;) {
      if (product.transposed) {
        tape_.loop(product.inner, choices_.unroll_product, [&](const Affine& k) {
          load_tile(product, 0, k, column);
          for (int64_t part = 0; part < parts; ++part)
            for (const Panel& each : copies)
              tape_.btmm(slot(0) + part * machine_.hlen, each.at(index * block, k * parts + part));
        });
      } else {
        for (int64_t chunk = 0; chunk < chunks; ++chunk) {
          for (int64_t part = 0; part < parts; ++part) {
            tape_.prefetch_m(slot(0), residue, product.tile(chunk * parts, column) + part * row_bytes);
            for (int64_t slice = 0; slice < std::min(parts, product.inner - chunk * parts); ++slice)
              for (const Panel& each : copies)
                tape_.bmm(slot(0) + slice * machine_.hlen,
                          each.at(index * block, (chunk * parts + slice) * parts + part));
          }
        }
      }
      if (!aside) {
        tape_.bmm_write(product.y(index * block, column) - below);
        continue;
      }
      tape_.bmm_write(aside->at(0, 0));
      copy_rows(*aside, (parts - 1) * block, product, index * block, column,
                std::min(block, product.rows - index * block));
    }
  }
  if (aside) release_panel(*aside);
  for (const Panel& each : copies) release_panel(each);
}

// M_BTMV with a slice of the identity takes one row apart into four; four rows in four lanes fill them.
void Lowerer::row_pack_product(const Product& product) {
  const int64_t lanes = machine_.broadcast_amount;
  const int64_t groups = (product.rows + lanes - 1) / lanes;
  const int64_t tile = spread_tile(true, product.factor);
  const Panel packed = new_panel(lanes, groups * product.inner * machine_.vlen);
  const auto pack = [&](const Affine& group, int64_t rows) {
    tape_.loop(product.inner, choices_.unroll_product, [&](const Affine& k) {
      for (int64_t lane = 0; lane < rows; ++lane)
        tape_.btmv(tile, lane * machine_.hlen, product.x(group * lanes + lane, k));
      tape_.bmv_write(packed.at(0, group * product.inner + k));
    });
  };
  const int64_t whole = product.rows / lanes;
  tape_.loop(whole, choices_.unroll_product, [&](const Affine& group) { pack(group, lanes); });
  if (product.rows % lanes != 0) pack(whole, product.rows % lanes);
  std::optional<Panel> aside;
  if (!product.alone) aside = new_panel(lanes, machine_.vlen);
  const auto columns = [&](const Affine& column, const std::function<Affine(const Affine&)>& slot_of,
                           const std::function<void(const Affine&)>& before) {
    const auto result = [&](const Affine& group, int64_t rows) {
      tape_.loop(product.inner, choices_.unroll_product, [&](const Affine& k) {
        before(k);
        for (int64_t part = 0; part < lanes; ++part)
          tape_.btmv(slot_of(k), part * machine_.hlen, packed.at(part, group * product.inner + k));
      });
      tape_.bmv_write(aside ? aside->at(0, 0) : product.y(group * lanes, column));
      if (aside) copy_rows(*aside, 0, product, group * lanes, column, rows);
    };
    tape_.loop(whole, choices_.unroll_product, [&](const Affine& group) { result(group, lanes); });
    if (product.rows % lanes != 0) result(whole, product.rows % lanes);
  };
  if (product.inner <= slots()) {
    each_column(product, 0, product.inner, [&](const Affine& column, const Affine& first_slot) {
      columns(
          column, [&](const Affine& k) { return (first_slot + k) * machine_.tile_elements(); },
          [](const Affine&) {});
    });
  } else {
    note_tiles(1);
    tape_.loop(product.columns, choices_.unroll_column, [&](const Affine& column) {
      columns(
          column, [&](const Affine&) { return Affine(slot(0)); },
          [&](const Affine& k) { load_tile(product, 0, k, column); });
    });
  }
  if (aside) release_panel(*aside);
  release_panel(packed);
}

// One row at a time; the result is the last of four rows, so the rows go from the last to the first.
void Lowerer::row_shift_product(const Product& product) {
  const int64_t parts = machine_.broadcast_amount;
  const Panel copies = shifted_copies(product, product.x);
  const int64_t below = (parts - 1) * machine_.vlen;
  std::optional<Panel> aside;
  if (!product.alone) aside = new_panel(parts, machine_.vlen);
  const bool resident = product.inner <= slots();
  note_tiles(resident ? product.inner : 1);
  for (int64_t column = product.columns; column-- > 0;) {
    if (resident) {
      tape_.loop(product.inner, choices_.unroll_load, [&](const Affine& k) {
        tape_.prefetch_m(k * machine_.tile_elements(), product.place, product.tile(k, column));
      });
    }
    for (int64_t row = product.rows; row-- > 0;) {
      tape_.loop(product.inner, choices_.unroll_product, [&](const Affine& k) {
        if (!resident) load_tile(product, 0, k, column);
        const Affine tile = resident ? k * machine_.tile_elements() : Affine(slot(0));
        for (int64_t part = 0; part < parts; ++part)
          tape_.btmv(tile, part * machine_.hlen, copies.at(row, k * parts + part));
      });
      if (aside) {
        tape_.bmv_write(aside->at(0, 0));
        copy_rows(*aside, parts - 1, product, row, column, 1);
      } else {
        tape_.bmv_write(product.y(row, column) - below);
      }
    }
  }
  if (aside) release_panel(*aside);
  release_panel(copies);
}

}  // namespace zomboss::plena
