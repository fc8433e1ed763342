#include "plugins/targets/plena/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>

#include "plugins/targets/plena/program.h"
#include "plugins/targets/plena/sim/simulator.h"
#include "zomboss/kit/bf16.h"

namespace zomboss::plena {
namespace {

Result<std::vector<float>> floats_of(const wire::TensorT& tensor) {
  size_t count = 1;
  for (const int64_t dim : tensor.type->dims) count *= static_cast<size_t>(std::max<int64_t>(dim, 0));
  std::vector<float> values(count);
  const auto copy = [&](auto kind) -> Status {
    using Kind = decltype(kind);
    if (tensor.data.size() != count * sizeof(Kind))
      return invalid_argument(fmt::format("plena: the data of '{}' does not fit its type", tensor.name));
    for (size_t i = 0; i < count; ++i) {
      Kind element;
      std::memcpy(&element, tensor.data.data() + i * sizeof(Kind), sizeof(Kind));
      if constexpr (std::is_same_v<Kind, uint16_t>)
        values[i] = kit::bf16_to_float(element);
      else
        values[i] = static_cast<float>(element);
    }
    return {};
  };
  switch (tensor.type->dtype) {
    case wire::DType::BF16:
      ZB_TRY(copy(uint16_t{}));
      break;
    case wire::DType::F32:
      ZB_TRY(copy(float{}));
      break;
    case wire::DType::F64:
      ZB_TRY(copy(double{}));
      break;
    default:
      return unimplemented(fmt::format("plena: the input '{}' is {}, not a float of 16, 32 or 64 bits",
                                       tensor.name, wire::EnumNameDType(tensor.type->dtype)));
  }
  return values;
}

// The output tensor in its own dim order from the panel's bf16 rows.
std::unique_ptr<wire::TensorT> read_output(const OutputPlace& place, const std::vector<uint8_t>& vram) {
  auto tensor = std::make_unique<wire::TensorT>();
  tensor->name = place.name;
  tensor->type = std::make_unique<wire::TensorTypeT>(place.type);
  int64_t count = 1;
  for (const int64_t dim : place.dims) count *= dim;
  const int64_t cols = count / place.panel.rows;
  const size_t rank = place.dims.size();
  std::vector<int64_t> strides(rank, 1);
  for (size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * place.dims[d];
  const size_t width = place.type.dtype == wire::DType::BF16 || place.type.dtype == wire::DType::F16 ? 2
                       : place.type.dtype == wire::DType::F64                                        ? 8
                                                                                                     : 4;
  tensor->data.resize(static_cast<size_t>(count) * width);
  std::vector<int64_t> index(rank, 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < rank; ++d) at += index[d] * strides[place.order[d]];
    const int64_t row = at / cols;
    const int64_t col = at % cols;
    const int64_t element =
        (place.panel.first + col / place.panel.width * place.panel.pitch + row) * place.panel.width +
        col % place.panel.width;
    uint16_t code;
    std::memcpy(&code, vram.data() + 2 * element, 2);
    uint8_t* to = tensor->data.data() + static_cast<size_t>(i) * width;
    const float number = kit::bf16_to_float(code);
    const double wide = number;
    if (width == 2) std::memcpy(to, &code, 2);
    if (width == 4) std::memcpy(to, &number, 4);
    if (width == 8) std::memcpy(to, &wide, 8);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < place.dims[place.order[d]]) break;
      index[d] = 0;
    }
  }
  return tensor;
}

// Calls `put(address, bytes)` for each tensor of the HBM image.
template <typename Put>
Status each_image(const LoadedProgram& program, const wire::TensorsT& inputs, const Put& put) {
  for (const HbmContent& content : program.inputs) {
    const auto index = static_cast<size_t>(content.input);
    if (index >= inputs.tensors.size())
      return invalid_argument(
          fmt::format("plena: the program wants input {}, there are {}", index, inputs.tensors.size()));
    ZB_ASSIGN(const std::vector<float> values, floats_of(*inputs.tensors[index]));
    const HbmTensor& tensor = content.tensor;
    if (static_cast<int64_t>(values.size()) != tensor.batch * tensor.rows * tensor.cols)
      return invalid_argument(fmt::format("plena: input {} has {} elements, its buffer {}", index,
                                          values.size(), tensor.batch * tensor.rows * tensor.cols));
    ZB_ASSIGN(const std::vector<uint8_t> bytes, pack_tensor(tensor, values));
    ZB_TRY(put(tensor.address, bytes));
  }
  for (const auto& image : program.constants) ZB_TRY(put(image.address, image.bytes));
  return {};
}

void add_counter(wire::SimulationT& out, std::string name, uint64_t value, const char* unit) {
  auto counter = std::make_unique<wire::CounterT>();
  counter->name = std::move(name);
  counter->value = static_cast<double>(value);
  counter->unit = unit;
  out.counters.push_back(std::move(counter));
}

void add_span(wire::SimulationT& out, std::string_view engine, const std::string& label, uint64_t start,
              uint64_t time) {
  if (time == 0) return;
  auto span = std::make_unique<wire::SpanT>();
  span->engine = engine;
  span->label = label;
  span->start = start;
  span->end = start + time;
  out.timeline.push_back(std::move(span));
}

// The machine does one instruction after the other, so its time is told by region: regions in the order of
// the program, and below each one the time of the engines in it, summed up (they take turns).
void add_timeline(const Profile& profile, const LoadedProgram& program, wire::SimulationT& out) {
  uint64_t start = 0;
  for (size_t i = 0; i < program.regions.size(); ++i) {
    const size_t end = i + 1 < program.regions.size() ? program.regions[i + 1].second : program.words.size();
    const auto& [name, begin] = program.regions[i];
    if (begin >= end) continue;
    const RegionTotal total = region_total(profile, begin, end);
    add_span(out, "region", name, start, total.nanoseconds);
    for (size_t engine = 0; engine < kEngineCount; ++engine)
      add_span(out, engine_name(static_cast<Engine>(engine)), name, start,
               total.nanoseconds_by_engine[engine]);
    start += total.nanoseconds;
  }
}

void report(const Profile& profile, const LoadedProgram& program, wire::SimulationT& out) {
  add_timeline(profile, program, out);
  add_counter(out, "executed", profile.instructions, "instructions");
  for (size_t engine = 0; engine < kEngineCount; ++engine)
    add_counter(out, fmt::format("ns.{}", engine_name(static_cast<Engine>(engine))),
                profile.nanoseconds_by_engine[engine], "ns");
  std::map<std::string, uint64_t> regions;
  std::vector<std::string> order;
  for (size_t i = 0; i < program.regions.size(); ++i) {
    const size_t end = i + 1 < program.regions.size() ? program.regions[i + 1].second : program.words.size();
    const auto& [name, begin] = program.regions[i];
    const auto [at, inserted] = regions.try_emplace(name, 0);
    if (inserted) order.push_back(name);
    if (begin < end) at->second += region_total(profile, begin, end).nanoseconds;
  }
  for (const std::string& name : order) add_counter(out, "ns.region." + name, regions[name], "ns");
  for (uint32_t opcode = 0; opcode < kOpcodeCount; ++opcode) {
    if (profile.count_by_opcode[opcode] != 0)
      add_counter(out, fmt::format("executed.{}", instruction_info(opcode).mnemonic),
                  profile.count_by_opcode[opcode], "instructions");
  }
  add_counter(out, "hbm.read", profile.hbm_read_bytes, "bytes");
  add_counter(out, "hbm.written", profile.hbm_written_bytes, "bytes");
  for (const TensorTraffic& each : profile.tensors) {
    if (each.read_bytes != 0) add_counter(out, "hbm.read." + each.name, each.read_bytes, "bytes");
    if (each.written_bytes != 0) add_counter(out, "hbm.written." + each.name, each.written_bytes, "bytes");
  }
  add_counter(out, "vram.rows", profile.vector_rows_used, "rows");
  add_counter(out, "mram.tiles", profile.matrix_tiles_used, "tiles");
}

}  // namespace

Result<std::vector<uint8_t>> hbm_image(const LoadedProgram& program, const wire::TensorsT& inputs) {
  std::vector<uint8_t> image;
  ZB_TRY(each_image(program, inputs, [&](uint64_t address, const std::vector<uint8_t>& bytes) -> Status {
    if (image.size() < address + bytes.size()) image.resize(address + bytes.size(), 0);
    std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<std::ptrdiff_t>(address));
    return {};
  }));
  return image;
}

Result<RunResult> run_program(const wire::ProgramT& message, const wire::TensorsT& inputs,
                              const Machine& machine, uint64_t instruction_limit) {
  ZB_ASSIGN(const LoadedProgram program, read_program(message, machine));
  ZB_ASSIGN(Simulator simulator, Simulator::create(to_settings(machine)));
  ZB_TRY(each_image(program, inputs, [&](uint64_t address, const std::vector<uint8_t>& bytes) {
    return simulator.load_hbm(bytes, address);
  }));
  ZB_TRY(simulator.load_fp_sram(program.fp_sram));
  std::vector<TensorTraffic> tensors;
  for (const auto& buffer : message.buffers) {
    if (buffer->memory == "hbm" && buffer->bytes != 0)
      tensors.push_back({buffer->name, buffer->address, buffer->address + buffer->bytes, 0, 0});
  }
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < tensors.size(); ++i) {
    if (tensors[i].begin < tensors[i - 1].end)
      return invalid_argument(fmt::format("plena: buffers '{}' and '{}' of the program overlap",
                                          tensors[i - 1].name, tensors[i].name));
  }
  simulator.watch_tensors(std::move(tensors));
  simulator.limit_instructions(instruction_limit);
  ZB_TRY(simulator.run(program.words));
  RunResult result;
  wire::SimulationT& out = result.simulation;
  out.latency = simulator.nanoseconds();
  out.unit = "ns";
  out.simulator =
      fmt::format("PLENA transactional, MLEN {} VLEN {} BLEN {}, {} matrix tiles, {} vector rows",
                  machine.mlen, machine.vlen, machine.blen, machine.mram_tiles, machine.vram_rows);
  int64_t rows = 0;
  for (const OutputPlace& place : program.outputs)
    rows = std::max(rows, place.panel.first + place.panel.size());
  result.vram = simulator.dump_vector_sram(static_cast<uint32_t>(rows));
  for (const OutputPlace& place : program.outputs) out.outputs.push_back(read_output(place, result.vram));
  report(simulator.profile(), program, out);
  return result;
}

Result<wire::SimulationT> simulate_program(const wire::ProgramT& program, const wire::TensorsT& inputs,
                                           const Machine& machine, uint64_t instruction_limit) {
  ZB_ASSIGN(RunResult result, run_program(program, inputs, machine, instruction_limit));
  return std::move(result.simulation);
}

}  // namespace zomboss::plena
