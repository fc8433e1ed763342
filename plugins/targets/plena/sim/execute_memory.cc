// Transfers between the HBM and the on-chip memories.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plugins/targets/plena/sim/simulator.h"
#include "zomboss/kit/mx.h"

namespace zomboss::plena {
namespace {

constexpr uint64_t kBlockMask = ~uint64_t{0} / kHbmBlockBytes;

}  // namespace

bool Simulator::run_memory(const Instruction& in) {
  const uint64_t before = now_;
  bool done = false;
  if (in.opcode == Opcode::kHPrefetchM) {
    done = prefetch_matrix(in);
  } else if (in.opcode == Opcode::kHPrefetchV) {
    done = prefetch_vector(in);
  } else {
    done = store_vector(in);
  }
  transfer_ns_by_pc_[pc_] += now_ - before;
  return done;
}

// Stride and offsets are bytes of elements; scales lie `ratio` times denser.
bool Simulator::transfer_of(const Instruction& in, const Decoder& decoder, uint32_t elements, Transfer& out) {
  const auto element_bits = static_cast<uint32_t>(decoder.type.element.bits());
  const bool store = in.opcode == Opcode::kHStoreV;
  if (!store && element_bits % 8 != 0) {
    return fail(
        fmt::format("elements of {} bits cannot be prefetched; the machine takes whole bytes", element_bits));
  }
  if (element_bits * elements % 8 != 0) {
    return fail(
        fmt::format("a row of {} elements of {} bits does not fill whole bytes", elements, element_bits));
  }
  const uint64_t base = address_[in.rs2];
  const uint32_t offset = gp_[in.rs1];
  out.decoder = &decoder;
  out.elements = elements;
  out.stride = in.rs3 == 1 ? stride_register_ : elements;
  out.element_base = base + offset;
  out.row_bytes = element_bits * elements / 8;
  if (decoder.type.scaled()) {
    const uint32_t block_bits = element_bits * decoder.type.block;
    out.scale_bytes = elements / decoder.type.block;
    out.scale_base = base + scale_register_ + uint64_t{offset} * 8 / block_bits;
    out.scale_step = static_cast<float>(out.stride) / (static_cast<float>(block_bits) / 8.0f);
  }
  return true;
}

uint64_t Simulator::scale_address(const Transfer& transfer, uint32_t index) const {
  return transfer.scale_base + static_cast<uint64_t>(static_cast<float>(index) * transfer.scale_step);
}

// The time of a prefetch: for each row the blocks of its elements, then one block of scales.
void Simulator::read_rows(const Transfer& transfer, uint32_t count) {
  blocks_.clear();
  for (uint32_t index = 0; index < count; ++index) {
    const uint64_t address = transfer.element_base + index * transfer.stride;
    const uint64_t last =
        (address % kHbmBlockBytes + transfer.row_bytes + kHbmBlockBytes - 1) / kHbmBlockBytes;
    for (uint64_t n = 0; n < last; ++n) blocks_.push_back((address / kHbmBlockBytes + n) & kBlockMask);
    if (transfer.scale_bytes != 0) blocks_.push_back(scale_address(transfer, index) / kHbmBlockBytes);
  }
  now_ = hbm_.read_blocks(blocks_, now_);
}

// The numbers of one row. Scales past the end of the block that holds the first one were not read and are 0.
bool Simulator::decode_row(const Transfer& transfer, uint32_t index, float* out) {
  bytes_.resize(transfer.row_bytes);
  hbm_.bytes().read(transfer.element_base + index * transfer.stride, bytes_);
  scale_bytes_.assign(transfer.scale_bytes, 0);
  if (transfer.scale_bytes != 0) {
    const uint64_t address = scale_address(transfer, index);
    const uint64_t room = kHbmBlockBytes - address % kHbmBlockBytes;
    hbm_.bytes().read(address, std::span(scale_bytes_).first(std::min<uint64_t>(transfer.scale_bytes, room)));
  }
  decode_elements(transfer, bytes_.data(), scale_bytes_.data(), out);
  return true;
}

void Simulator::decode_elements(const Transfer& transfer, const uint8_t* bytes, const uint8_t* scales,
                                float* out) const {
  const Decoder& decoder = *transfer.decoder;
  if (!decoder.elements.empty()) {
    const float* table = decoder.elements.data();
    for (uint32_t n = 0; n < transfer.elements; ++n) out[n] = table[bytes[n]];
  } else {
    const uint32_t element_bytes = transfer.row_bytes / transfer.elements;
    for (uint32_t n = 0; n < transfer.elements; ++n) {
      uint32_t code = 0;
      for (uint32_t byte = 0; byte < element_bytes; ++byte)
        code |= uint32_t{bytes[n * element_bytes + byte]} << (8 * byte);
      out[n] = kit::decode_float(code, decoder.type.element);
    }
  }
  for (uint32_t block = 0; block < transfer.scale_bytes; ++block) {
    const float scale = kit::e8m0_to_float(scales[block]);
    float* first = out + size_t{block} * decoder.type.block;
    for (uint32_t n = 0; n < decoder.type.block; ++n) first[n] *= scale;
  }
}

bool Simulator::prefetch_matrix(const Instruction& in) {
  const uint32_t mlen = settings_.mlen;
  const uint32_t tiles = std::max(1u, (settings_.prefetch_m_rows + mlen - 1) / mlen);
  Transfer transfer;
  if (!transfer_of(in, decoders_[in.function == 0 ? 0 : 1], mlen, transfer)) return false;
  read_rows(transfer, tiles * mlen);
  for (uint32_t n = 0; n < tiles; ++n) {
    uint32_t tile = 0;
    if (!matrix_tile(gp_[in.rd] + n * mlen * mlen, tile)) return false;
    tiles_used_ = std::max(tiles_used_, tile + 1);
    for (uint32_t row = 0; row < mlen; ++row) {
      decode_row(transfer, n * mlen + row, tiles_.data() + (size_t{tile} * mlen + row) * mlen);
    }
  }
  return true;
}

bool Simulator::prefetch_vector(const Instruction& in) {
  Transfer transfer;
  if (!transfer_of(in, decoders_[in.function == 0 ? 2 : 3], settings_.vlen, transfer)) return false;
  read_rows(transfer, settings_.prefetch_v_rows);
  const uint32_t address = gp_[in.rd];
  const uint32_t first = address / settings_.vlen;
  if (first * settings_.vlen != address) {
    return fail(fmt::format("vector SRAM address {} is not a multiple of VLEN, {}", address, settings_.vlen));
  }
  for (uint32_t n = 0; n < settings_.prefetch_v_rows; ++n) {
    if (uint64_t{first} + n >= vectors_.rows()) break;  // rows past the end are dropped
    decode_row(transfer, n, row_out_.data());
    vectors_.write(first + n, row_out_.data());
  }
  return true;
}

bool Simulator::store_vector(const Instruction& in) {
  Transfer transfer;
  if (!transfer_of(in, decoders_[in.function == 0 ? 2 : 3], settings_.vlen, transfer)) return false;
  for (uint32_t n = 0; n < settings_.writeback_v_rows; ++n) {
    uint32_t row = 0;
    if (!vector_row(gp_[in.rd] + n * settings_.vlen, row)) return false;
    if (!store_row(transfer, n, vectors_.read(row, row_a_.data()))) return false;
  }
  return true;
}

bool Simulator::store_row(const Transfer& transfer, uint32_t index, const float* values) {
  const NumberType& type = transfer.decoder->type;
  scale_bytes_.resize(transfer.scale_bytes);
  for (uint32_t block = 0; block < transfer.scale_bytes; ++block) {
    const size_t first = size_t{block} * type.block;
    scale_bytes_[block] = kit::quantise_block({values + first, type.block}, type.element,
                                              std::span(codes_).subspan(first, type.block));
  }
  if (!type.scaled()) {
    for (uint32_t n = 0; n < transfer.elements; ++n) codes_[n] = kit::encode_float(values[n], type.element);
  }
  const auto element_bits = static_cast<uint32_t>(type.element.bits());
  bytes_.assign(transfer.row_bytes, 0);
  if (element_bits == 8) {
    for (uint32_t n = 0; n < transfer.elements; ++n) bytes_[n] = static_cast<uint8_t>(codes_[n]);
  } else {
    for (uint32_t bit = 0; bit < element_bits * transfer.elements; ++bit) {
      const uint32_t value = codes_[bit / element_bits] >> (bit % element_bits) & 1u;
      bytes_[bit / 8] = static_cast<uint8_t>(bytes_[bit / 8] | value << (bit % 8));
    }
  }
  if (hbm_.merge(transfer.element_base + index * transfer.stride, bytes_, now_) &&
      hbm_.merge(scale_address(transfer, index), scale_bytes_, now_)) {
    return true;
  }
  return fail(
      fmt::format("row {} of the store ends past the HBM capacity of {} bytes", index, settings_.hbm_bytes));
}

}  // namespace zomboss::plena
