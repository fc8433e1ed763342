#include "plugins/targets/gemmini/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>

namespace zomboss::gemmini {
namespace {

constexpr size_t kRecord = 20;
constexpr uint64_t kMaxDramBytes = uint64_t{1} << 31;

void put(std::vector<uint8_t>& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}
uint64_t get(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

std::unique_ptr<wire::BufferT> wire_buffer(const Buffer& buffer, uint64_t address) {
  auto result = std::make_unique<wire::BufferT>();
  result->name = buffer.name;
  result->role = buffer.role;
  result->index = buffer.index;
  result->address = address;
  result->bytes = static_cast<uint64_t>(buffer.bytes);
  result->type = std::make_unique<wire::TensorTypeT>(buffer.type);
  result->data = buffer.data;
  return result;
}

void note(wire::ProgramT& program, std::string key, uint64_t value) {
  auto attribute = std::make_unique<wire::AttributeT>();
  attribute->key = std::move(key);
  attribute->ints.push_back(static_cast<int64_t>(value));
  program.notes.push_back(std::move(attribute));
}

}  // namespace

std::vector<uint8_t> pack(std::span<const Command> commands) {
  std::vector<uint8_t> code;
  code.reserve(commands.size() * kRecord);
  for (const Command& command : commands) {
    put(code, command.funct, 4);
    put(code, command.rs1, 8);
    put(code, command.rs2, 8);
  }
  return code;
}

Result<std::vector<Command>> unpack(std::span<const uint8_t> code) {
  if (code.size() % kRecord != 0)
    return data_loss(fmt::format("gemmini: the code has {} bytes, no whole number of {}-byte commands",
                                 code.size(), kRecord));
  std::vector<Command> commands;
  commands.reserve(code.size() / kRecord);
  for (size_t at = 0; at < code.size(); at += kRecord) {
    commands.push_back({static_cast<uint32_t>(get(code.subspan(at, 4))), get(code.subspan(at + 4, 8)),
                        get(code.subspan(at + 12, 8))});
  }
  return commands;
}

void add_notes(wire::ProgramT& program, std::span<const Command> commands) {
  uint64_t loads = 0, stores = 0, steps = 0, configs = 0, fences = 0, loops = 0, in = 0, out = 0;
  std::array<bool, 3> shrink = {};
  for (const Command& command : commands) {
    const Operand local = decode_operand(command.rs2);
    const auto elements = uint64_t{local.rows} * local.cols;
    switch (static_cast<Funct>(command.funct)) {
      case Funct::kConfig: {
        ++configs;
        const ConfigLd config = decode_config_ld(command);
        if (config_kind(command) == ConfigKind::kLoad && config.state < 3)
          shrink[config.state] = config.shrink;
        break;
      }
      case Funct::kMvin:
      case Funct::kMvin2:
      case Funct::kMvin3: {
        ++loads;
        const bool wide =
            is_accumulator(local.address) && !shrink[static_cast<size_t>(load_state_of(command.funct))];
        if (command.rs1 != 0) in += elements * (wide ? 4 : 1);
        break;
      }
      case Funct::kMvout:
        ++stores;
        out += elements * (is_accumulator(local.address) && (local.address & kFullRowBit) != 0 ? 4 : 1);
        break;
      case Funct::kComputeFlip:
      case Funct::kComputeStay:
        ++steps;
        break;
      case Funct::kFence:
        ++fences;
        break;
      case Funct::kLoopWs:
      case Funct::kLoopConv:
        ++loops;
        break;
      default:
        break;
    }
  }
  note(program, "commands", commands.size());
  note(program, "loads", loads);
  note(program, "stores", stores);
  note(program, "steps", steps);
  note(program, "configs", configs);
  note(program, "fences", fences);
  note(program, "loops", loops);
  note(program, "bytes_loaded", in);
  note(program, "bytes_stored", out);
}

wire::ProgramT make_program(const ProgramIdentity& identity, std::span<const PlacedBuffer> buffers,
                            std::span<const Command> commands) {
  wire::ProgramT program;
  program.target = "gemmini";
  program.spec_hash = identity.spec_hash;
  program.workload = identity.workload_hash;
  program.format = kProgramFormat;
  program.code = pack(commands);
  for (const PlacedBuffer& placed : buffers)
    program.buffers.push_back(wire_buffer(placed.buffer, placed.address));
  add_notes(program, commands);
  return program;
}

Result<Dram> initial_dram(const wire::ProgramT& program, const wire::TensorsT& inputs) {
  Dram dram;
  uint64_t total = 0;
  std::vector<bool> given(inputs.tensors.size());
  for (const auto& buffer : program.buffers) {
    if (buffer->bytes == 0) continue;
    if (buffer->bytes > kMaxDramBytes || (total += buffer->bytes) > kMaxDramBytes)
      return resource_exhausted(
          fmt::format("gemmini: the program's buffers have more than {} bytes", kMaxDramBytes));
    std::vector<uint8_t> bytes;
    if (buffer->role == wire::BufferRole::Constant) {
      bytes = buffer->data;
    } else if (buffer->role == wire::BufferRole::Input) {
      if (buffer->index >= inputs.tensors.size() || inputs.tensors[buffer->index] == nullptr)
        return invalid_argument(
            fmt::format("gemmini: input {} ('{}') is not given", buffer->index, buffer->name));
      bytes = inputs.tensors[buffer->index]->data;
      given[buffer->index] = true;
    } else {
      bytes.resize(buffer->bytes);
    }
    if (bytes.size() != buffer->bytes)
      return invalid_argument(fmt::format("gemmini: buffer '{}' has {} bytes, its data has {}", buffer->name,
                                          buffer->bytes, bytes.size()));
    ZB_TRY(dram.add(buffer->address, std::move(bytes)).with_prefix(fmt::format("buffer '{}'", buffer->name)));
  }
  return dram;
}

Result<std::vector<wire::TensorT>> read_outputs(const wire::ProgramT& program, Dram& dram) {
  std::map<uint32_t, wire::TensorT> outputs;
  for (const auto& buffer : program.buffers) {
    if (buffer->role != wire::BufferRole::Output) continue;
    wire::TensorT tensor;
    tensor.name = buffer->name;
    if (buffer->type == nullptr)
      return data_loss(fmt::format("gemmini: output '{}' has no type", buffer->name));
    tensor.type = std::make_unique<wire::TensorTypeT>(*buffer->type);
    const uint8_t* bytes = buffer->bytes == 0 ? nullptr : dram.find(buffer->address, buffer->bytes);
    if (bytes == nullptr) return data_loss(fmt::format("gemmini: output '{}' has no bytes", buffer->name));
    tensor.data.assign(bytes, bytes + buffer->bytes);
    if (!outputs.emplace(buffer->index, std::move(tensor)).second)
      return data_loss(fmt::format("gemmini: the program has output {} twice", buffer->index));
  }
  std::vector<wire::TensorT> result;
  for (auto& [index, tensor] : outputs) {
    if (index != result.size())
      return data_loss(fmt::format("gemmini: the program has no output {}", result.size()));
    result.push_back(std::move(tensor));
  }
  return result;
}

}  // namespace zomboss::gemmini
