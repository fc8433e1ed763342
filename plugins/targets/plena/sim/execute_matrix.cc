// The matrix unit. All sums run over ascending k in binary32.
#include <fmt/format.h>

#include <algorithm>

#include "plugins/targets/plena/sim/kernels.h"
#include "plugins/targets/plena/sim/simulator.h"

namespace zomboss::plena {
namespace {

constexpr float kBroadcastScale = 0.25f;

}  // namespace

bool Simulator::run_matrix(const Instruction& in) {
  const uint32_t write_address = gp_[in.rd] + in.immediate;
  switch (in.opcode) {
    case Opcode::kMMm:
      return matrix_matrix(gp_[in.rs1], gp_[in.rs2], false);
    case Opcode::kMTmm:
      return matrix_matrix(gp_[in.rs2], gp_[in.rs1], true);
    case Opcode::kMMmWo:
      return write_out_matrix(write_address, in.rs1 == 0 ? 1 : gp_[in.rs1]);
    case Opcode::kMMv:
      return matrix_vector(gp_[in.rs1], gp_[in.rs2], false);
    case Opcode::kMTmv:
      return matrix_vector(gp_[in.rs1], gp_[in.rs2], true);
    case Opcode::kMMvWo:
      return write_out_vector(write_address);
    case Opcode::kMBmm:
      return matrix_broadcast(gp_[in.rs1], gp_[in.rs2]);
    case Opcode::kMBtmm:
      return matrix_broadcast_transposed(gp_[in.rs1], gp_[in.rs2], false);
    case Opcode::kMBtmv:
      return matrix_broadcast_transposed(gp_[in.rs1] + gp_[in.rd], gp_[in.rs2], true);
    case Opcode::kMBmmWo:
      return write_out_heads(write_address, head_matrix_sum_);
    case Opcode::kMBmvWo:
      return write_out_heads(write_address, head_vector_sum_);
    default:
      return fail("the machine cannot run M_BMV: its result does not fit its accumulator");
  }
}

// Points row_pointers_ at `count` consecutive rows from `address` on.
bool Simulator::gather_rows(uint32_t address, uint32_t count) {
  for (uint32_t n = 0; n < count; ++n) {
    uint32_t row = 0;
    if (!vector_row(address + n * settings_.mlen, row)) return false;
    row_pointers_[n] = vectors_.read(row, gathered_.data() + size_t{n} * settings_.mlen);
  }
  return true;
}

const float* Simulator::transposed_tile_rows(const float* tile, uint32_t first_row, uint32_t rows,
                                             uint32_t first_column, uint32_t columns) {
  transpose(tile + size_t{first_row} * settings_.mlen + first_column, settings_.mlen, rows, columns,
            transposed_.data());
  return transposed_.data();
}

bool Simulator::matrix_matrix(uint32_t matrix, uint32_t vector, bool transposed) {
  const uint32_t mlen = settings_.mlen;
  const uint32_t blen = settings_.blen;
  const uint32_t offset = matrix % (mlen * mlen);
  const uint32_t first = offset / mlen;
  if (first * mlen != offset || first % blen != 0) {
    return fail(
        fmt::format("offset {} in the tile is not a multiple of MLEN * BLEN, {}", offset, mlen * blen));
  }
  uint32_t tile = 0;
  if (!matrix_tile(matrix - offset, tile) || !gather_rows(vector, blen)) return false;
  const float* values = tiles_.data() + size_t{tile} * mlen * mlen;
  DotArguments dots;
  dots.rows = row_pointers_.data();
  dots.row_count = blen;
  dots.matrix = transposed ? transposed_tile_rows(values, first, blen, 0, mlen) : values + first;
  dots.pitch = transposed ? blen : mlen;
  dots.width = blen;
  dots.depth = mlen;
  dots.accumulator = matrix_sum_.data();
  kernels_->accumulate_dots(dots);
  return true;
}

bool Simulator::matrix_vector(uint32_t matrix, uint32_t vector, bool transposed) {
  const uint32_t mlen = settings_.mlen;
  const uint32_t blen = settings_.blen;
  const uint32_t offset = matrix % (mlen * mlen);
  if (offset >= mlen || offset % blen != 0 || (transposed && offset != 0)) {
    return fail(fmt::format(
        "offset {} in the tile is not {}", offset,
        transposed ? std::string("0") : fmt::format("a multiple of BLEN, {}, below MLEN, {}", blen, mlen)));
  }
  uint32_t tile = 0;
  if (!matrix_tile(matrix - offset, tile) || !gather_rows(vector, 1)) return false;
  const float* values = tiles_.data() + size_t{tile} * mlen * mlen;
  DotArguments dots;
  dots.rows = row_pointers_.data();
  dots.row_count = 1;
  dots.matrix = transposed ? transposed_tile_rows(values, 0, blen, 0, mlen) : values + offset;
  dots.pitch = transposed ? blen : mlen;
  dots.width = blen;
  dots.depth = mlen;
  dots.accumulator = vector_sum_.data();
  kernels_->accumulate_dots(dots);
  return true;
}

// Queries interleave the heads: element d * BROADCAST + b of a row belongs to head b.
bool Simulator::matrix_broadcast(uint32_t matrix, uint32_t vector) {
  const uint32_t mlen = settings_.mlen;
  const uint32_t head = matrix % (mlen * settings_.blen);
  if (settings_.broadcast * settings_.hlen != mlen) return fail("BROADCAST_AMOUNT * HLEN is not MLEN");
  if (head >= mlen || head % settings_.hlen != 0) {
    return fail(fmt::format("head offset {} is not a multiple of HLEN, {}, below MLEN, {}", head,
                            settings_.hlen, mlen));
  }
  uint32_t tile = 0;
  if (!matrix_tile(matrix - head, tile) || !gather_rows(vector, mlen)) return false;
  DotArguments dots;
  dots.rows = row_pointers_.data();
  dots.row_count = mlen;
  dots.step = settings_.broadcast;
  dots.matrix = tiles_.data() + (size_t{tile} * mlen + head) * mlen;
  dots.pitch = mlen;
  dots.width = mlen;
  dots.depth = settings_.hlen;
  dots.scale = kBroadcastScale;
  for (uint32_t b = 0; b < settings_.broadcast; ++b) {
    dots.accumulator = head_matrix_sum_.data() + size_t{b} * mlen * mlen;
    kernels_->accumulate_dots(dots);
    for (const float*& row : row_pointers_) ++row;
  }
  return true;
}

bool Simulator::matrix_broadcast_transposed(uint32_t matrix, uint32_t vector, bool single_row) {
  const uint32_t mlen = settings_.mlen;
  const uint32_t hlen = settings_.hlen;
  const uint32_t head = matrix % (mlen * mlen);
  if (settings_.broadcast * hlen != mlen) return fail("BROADCAST_AMOUNT * HLEN is not MLEN");
  if (head >= mlen) return fail(fmt::format("offset {} in the tile is not below MLEN, {}", head, mlen));
  if (head % hlen != 0)
    return fail(fmt::format("offset {} in the tile is not a multiple of HLEN, {}", head, hlen));
  const uint32_t rows = single_row ? 1 : mlen;
  uint32_t tile = 0;
  if (!matrix_tile(matrix - head, tile) || !gather_rows(vector, rows)) return false;
  DotArguments dots;
  dots.rows = row_pointers_.data();
  dots.row_count = rows;
  dots.matrix = transposed_tile_rows(tiles_.data() + size_t{tile} * mlen * mlen, 0, mlen, head, hlen);
  dots.pitch = mlen;
  dots.width = mlen;
  dots.depth = hlen;
  dots.scale = kBroadcastScale;
  LazyFloats& sums = single_row ? head_vector_sum_ : head_matrix_sum_;
  for (uint32_t b = 0; b < settings_.broadcast; ++b) {
    dots.accumulator = sums.data() + size_t{b} * rows * mlen;
    kernels_->accumulate_dots(dots);
    for (uint32_t n = 0; n < rows; ++n) row_pointers_[n] += hlen;
  }
  return true;
}

// Replaces BLEN elements from `offset` on in the row at `address`.
bool Simulator::write_part(uint32_t address, uint32_t offset, const float* values) {
  uint32_t row = 0;
  if (!vector_row(address, row)) return false;
  vectors_.write_part(row, offset, values, settings_.blen, row_a_.data());
  return true;
}

bool Simulator::write_out_matrix(uint32_t address, uint32_t stride) {
  const uint32_t blen = settings_.blen;
  const uint32_t offset = address % settings_.mlen;
  if (offset % blen != 0) return fail(fmt::format("column {} is not a multiple of BLEN, {}", offset, blen));
  for (uint32_t i = 0; i < blen; ++i) {
    const uint32_t row_address = address - offset + i * settings_.mlen * stride;
    if (!write_part(row_address, offset, matrix_sum_.data() + size_t{i} * blen)) return false;
  }
  std::fill(matrix_sum_.begin(), matrix_sum_.end(), 0.0f);
  return true;
}

bool Simulator::write_out_vector(uint32_t address) {
  const uint32_t offset = address % settings_.mlen;
  if (offset % settings_.blen != 0) {
    return fail(fmt::format("column {} is not a multiple of BLEN, {}", offset, settings_.blen));
  }
  if (!write_part(address - offset, offset, vector_sum_.data())) return false;
  std::fill(vector_sum_.begin(), vector_sum_.end(), 0.0f);
  return true;
}

bool Simulator::write_out_heads(uint32_t address, LazyFloats& accumulator) {
  const uint32_t mlen = settings_.mlen;
  const auto rows = static_cast<uint32_t>(accumulator.size() / mlen);
  for (uint32_t n = 0; n < rows; ++n) {
    uint32_t row = 0;
    if (!vector_row(address + n * mlen, row)) return false;
    vectors_.write(row, accumulator.data() + size_t{n} * mlen);
  }
  std::fill_n(accumulator.data(), accumulator.size(), 0.0f);
  return true;
}

}  // namespace zomboss::plena
