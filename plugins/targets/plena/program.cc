#include "plugins/targets/plena/program.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "plugins/targets/plena/sim/isa.h"

namespace zomboss::plena {
namespace {

std::unique_ptr<wire::AttributeT> attribute(std::string key, std::vector<int64_t> ints,
                                            std::string text = "") {
  auto result = std::make_unique<wire::AttributeT>();
  result->key = std::move(key);
  result->ints = std::move(ints);
  result->text = std::move(text);
  return result;
}

template <typename Word>
std::vector<uint8_t> little_endian(const std::vector<Word>& words) {
  std::vector<uint8_t> bytes;
  bytes.reserve(words.size() * sizeof(Word));
  for (const Word word : words) {
    for (size_t i = 0; i < sizeof(Word); ++i) bytes.push_back(static_cast<uint8_t>(word >> (8 * i)));
  }
  return bytes;
}

std::unique_ptr<wire::BufferT> hbm_buffer(const HbmTensor& tensor) {
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = tensor.name;
  buffer->address = tensor.address;
  buffer->bytes = tensor.bytes();
  buffer->memory = "hbm";
  buffer->layout.push_back(attribute("mxfp8", {tensor.batch, tensor.rows, tensor.cols, tensor.padded_rows,
                                               tensor.padded_cols, tensor.block}));
  return buffer;
}

void note_counts(const MachineCode& code, const Lowered& lowered, wire::ProgramT& program) {
  uint64_t total = 0;
  for (uint32_t opcode = 0; opcode < kOpcodeCount; ++opcode) {
    if (code.executed[opcode] == 0) continue;
    total += code.executed[opcode];
    program.notes.push_back(attribute("executed." + std::string(instruction_info(opcode).mnemonic),
                                      {static_cast<int64_t>(code.executed[opcode])}));
  }
  program.notes.push_back(attribute("executed", {static_cast<int64_t>(total)}));
  program.notes.push_back(attribute("instructions", {static_cast<int64_t>(code.words.size())}));
  program.notes.push_back(attribute("loop_depth", {code.loop_depth}));
  program.notes.push_back(attribute("vector_rows", {lowered.vector_rows}));
  program.notes.push_back(attribute("matrix_tiles", {lowered.matrix_tiles}));
}

}  // namespace

uint16_t half_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7E00u);
  const double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude >= 65520.0) return static_cast<uint16_t>(sign | 0x7C00u);
  if (magnitude < 6.103515625e-05)  // subnormal: steps of 2^-24
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 24))));
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
  auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(fraction, 11)));
  if (steps == 2048) {
    steps = 1024;
    ++exponent;
  }
  return static_cast<uint16_t>(sign | static_cast<uint32_t>(exponent + 14) << 10 | (steps - 1024));
}

Result<wire::ProgramT> make_program(const Problem& problem, const Lowered& lowered, const MachineCode& code,
                                    const std::string& spec_hash) {
  wire::ProgramT program;
  program.target = "plena";
  program.spec_hash = spec_hash;
  program.workload = problem.workload;
  program.format = kProgramFormat;
  program.code = little_endian(code.words);
  for (const HbmContent& content : lowered.hbm) {
    auto buffer = hbm_buffer(content.tensor);
    if (content.input >= 0) {
      buffer->role = wire::BufferRole::Input;
      buffer->index = static_cast<uint32_t>(content.input);
      buffer->type = std::make_unique<wire::TensorTypeT>(problem.input_types[buffer->index]);
    } else if (!content.data.empty()) {
      buffer->role = wire::BufferRole::Constant;
      ZB_ASSIGN(buffer->data, pack_tensor(content.tensor, content.data));
    } else {
      buffer->role = wire::BufferRole::Scratch;
    }
    program.buffers.push_back(std::move(buffer));
  }
  std::vector<uint16_t> halves;
  for (const float slot : code.fp_slots) {
    if (std::isfinite(slot) && std::fabs(slot) > 65504.0f)
      return unimplemented(
          fmt::format("the constant {} is beyond the IEEE halves that the FP SRAM is loaded from", slot));
    halves.push_back(half_of(slot));
  }
  auto fp = std::make_unique<wire::BufferT>();
  fp->name = "fp constants";
  fp->role = wire::BufferRole::Constant;
  fp->memory = "fpsram";
  fp->data = little_endian(halves);
  fp->bytes = fp->data.size();
  program.buffers.push_back(std::move(fp));
  for (size_t i = 0; i < lowered.outputs.size(); ++i) {
    const Panel& panel = lowered.outputs[i];
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->name = fmt::format("output {}", i);
    buffer->role = wire::BufferRole::Output;
    buffer->index = static_cast<uint32_t>(i);
    buffer->memory = "vram";
    buffer->address = static_cast<uint64_t>(panel.first * panel.width);
    buffer->bytes = static_cast<uint64_t>(panel.size() * panel.width * 2);
    buffer->type = std::make_unique<wire::TensorTypeT>(problem.output_types[i]);
    buffer->layout.push_back(attribute("panel", {panel.rows, panel.tiles, panel.pitch}));
    const View& view = problem.outputs[i];
    buffer->layout.push_back(attribute("dims", view.dims));
    buffer->layout.push_back(attribute("order", std::vector<int64_t>(view.order.begin(), view.order.end())));
    program.buffers.push_back(std::move(buffer));
  }
  note_counts(code, lowered, program);
  for (size_t i = 0; i < code.words.size(); ++i) {
    if (i == 0 || code.region_of[i] != code.region_of[i - 1])
      program.notes.push_back(
          attribute("region", {static_cast<int64_t>(i)}, lowered.tape.regions()[code.region_of[i]]));
  }
  return program;
}

namespace {

const std::vector<int64_t>* layout_of(const wire::BufferT& buffer, std::string_view key) {
  for (const auto& each : buffer.layout) {
    if (each->key == key) return &each->ints;
  }
  return nullptr;
}

Status bad(const wire::BufferT& buffer, std::string_view why) {
  return invalid_argument(fmt::format("plena: buffer '{}' of the program {}", buffer.name, why));
}

constexpr int64_t kSizeLimit = int64_t{1} << 31;

// Each within 1..limit, and so their product.
bool sizes_ok(std::initializer_list<int64_t> sizes) {
  int64_t total = 1;
  for (const int64_t size : sizes) {
    if (size < 1 || size > kSizeLimit || total > kSizeLimit / size) return false;
    total *= size;
  }
  return true;
}

Status read_hbm(const wire::BufferT& buffer, const Machine& machine, LoadedProgram& out) {
  const auto* layout = layout_of(buffer, "mxfp8");
  if (layout == nullptr || layout->size() != 6) return bad(buffer, "has no layout \"mxfp8\" of six numbers");
  const auto& l = *layout;
  HbmContent content;
  content.tensor = {buffer.name, l[0], l[1], l[2], l[3], l[4], buffer.address, static_cast<uint32_t>(l[5])};
  const HbmTensor& tensor = content.tensor;
  if (l[5] != machine.mx_block || !sizes_ok({l[0], l[3], l[4]}) || l[1] < 1 || l[2] < 1 || l[1] > l[3] ||
      l[2] > l[4] || l[4] % l[5] != 0)
    return bad(buffer, "has an impossible layout");
  if (tensor.bytes() > machine.hbm_bytes || buffer.address > machine.hbm_bytes - tensor.bytes())
    return bad(buffer, "does not fit the HBM");
  if (buffer.role == wire::BufferRole::Input) {
    const int64_t group = std::max(machine.prefetch_v_rows, machine.writeback_v_rows);
    if (l[3] - l[1] >= std::max<int64_t>(machine.mlen, group) || l[4] - l[2] >= machine.vlen * group)
      return bad(buffer, "is padded by more than transfers need");
    content.input =
        static_cast<int32_t>(std::min<uint32_t>(buffer.index, std::numeric_limits<int32_t>::max()));
    out.inputs.push_back(std::move(content));
  } else if (buffer.role == wire::BufferRole::Constant) {
    if (buffer.data.size() != tensor.bytes()) return bad(buffer, "has data of another size than its layout");
    out.constants.push_back({buffer.address, buffer.data});
  }
  return {};
}

Status read_output(const wire::BufferT& buffer, const Machine& machine, LoadedProgram& out) {
  const auto* panel = layout_of(buffer, "panel");
  const auto* dims = layout_of(buffer, "dims");
  const auto* order = layout_of(buffer, "order");
  if (panel == nullptr || panel->size() != 3 || dims == nullptr || order == nullptr ||
      order->size() != dims->size() || !buffer.type)
    return bad(buffer, "has no layout \"panel\", \"dims\" and \"order\"");
  OutputPlace place;
  place.name = buffer.name;
  place.type = *buffer.type;
  place.panel = {static_cast<int64_t>(buffer.address / machine.vlen), (*panel)[0], (*panel)[1], (*panel)[2],
                 machine.vlen};
  const Panel& p = place.panel;
  if (!sizes_ok({p.tiles, p.pitch, machine.vlen}) || p.rows < 1 || p.rows > p.pitch ||
      buffer.address % machine.vlen != 0 || p.first > machine.vram_rows ||
      p.size() > machine.vram_rows - p.first)
    return bad(buffer, "does not fit the vector SRAM");
  int64_t elements = 1;
  for (const int64_t dim : *dims) {
    if (!sizes_ok({elements, dim})) return bad(buffer, "has impossible dims");
    elements *= dim;
  }
  std::vector<bool> seen(order->size(), false);
  for (const int64_t axis : *order) {
    if (axis < 0 || axis >= static_cast<int64_t>(order->size()) || seen[static_cast<size_t>(axis)])
      return bad(buffer, "has an impossible order");
    seen[static_cast<size_t>(axis)] = true;
  }
  if (elements % p.rows != 0 || elements / p.rows > p.tiles * machine.vlen)
    return bad(buffer, "has more elements than its panel");
  int64_t typed = 1;
  for (const int64_t dim : place.type.dims) {
    if (!sizes_ok({typed, dim})) return bad(buffer, "has a type of impossible dims");
    typed *= dim;
  }
  if (typed != elements) return bad(buffer, "has another number of elements than its type");
  place.dims = *dims;
  place.order.assign(order->begin(), order->end());
  if (buffer.index != out.outputs.size()) return bad(buffer, "is out of order");
  out.outputs.push_back(std::move(place));
  return {};
}

}  // namespace

Result<LoadedProgram> read_program(const wire::ProgramT& program, const Machine& machine) {
  if (program.format != kProgramFormat)
    return invalid_argument(
        fmt::format("plena: a program of format '{}' is not \"{}\"", program.format, kProgramFormat));
  if (program.code.size() % 4 != 0)
    return invalid_argument("plena: the program's code is no whole number of words");
  LoadedProgram out;
  for (size_t i = 0; i < program.code.size(); i += 4) {
    uint32_t word = 0;
    for (size_t k = 0; k < 4; ++k) word |= uint32_t{program.code[i + k]} << (8 * k);
    out.words.push_back(word);
  }
  for (const auto& buffer : program.buffers) {
    if (buffer->role == wire::BufferRole::Output) {
      ZB_TRY(read_output(*buffer, machine, out));
    } else if (buffer->memory == "fpsram") {
      if (buffer->data.size() > 2 * size_t{machine.fp_slots})
        return bad(*buffer, "is larger than the FP SRAM");
      out.fp_sram = buffer->data;
    } else {
      ZB_TRY(read_hbm(*buffer, machine, out));
    }
  }
  for (const auto& note : program.notes) {
    if (note->key == "region" && note->ints.size() == 1 && note->ints[0] >= 0 &&
        note->ints[0] <= static_cast<int64_t>(out.words.size()))
      out.regions.emplace_back(note->text, static_cast<size_t>(note->ints[0]));
  }
  return out;
}

}  // namespace zomboss::plena
