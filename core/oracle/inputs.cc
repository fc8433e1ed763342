#include "core/oracle/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/hlo/number.h"
#include "zomboss/sdk/random.h"

namespace zomboss::oracle {
namespace {

constexpr int64_t kByteLimit = int64_t{1} << 32;

double draw_float(Random& random, const Generator& generator) {
  return generator.distribution == Distribution::kNormal
             ? generator.low + generator.high * random.normal()
             : generator.low + (generator.high - generator.low) * random.unit();
}

int64_t draw_integer(Random& random, const Generator& generator, DType dtype) {
  const auto bring_inside = [&](double value) {
    const auto low = static_cast<double>(hlo::integer_min(dtype));
    const double high = std::min(static_cast<double>(hlo::integer_max(dtype)), 0x1.0p62);
    return static_cast<int64_t>(std::clamp(value, low, high));
  };
  if (generator.distribution == Distribution::kNormal)
    return bring_inside(std::nearbyint(draw_float(random, generator)));
  return random.between(bring_inside(generator.low), bring_inside(generator.high));
}

// The generator for these dims: fan_in_dim resolved.
Result<Generator> fitted(Generator generator, const std::vector<int64_t>& dims) {
  if (generator.fan_in_dim < 0) return generator;
  const auto dim = static_cast<size_t>(generator.fan_in_dim);
  if (dim >= dims.size())
    return invalid_argument(
        fmt::format("fan_in_dim is {}, the input has {} dims", generator.fan_in_dim, dims.size()));
  generator.high /= std::sqrt(static_cast<double>(std::max<int64_t>(dims[dim], 1)));
  return generator;
}

Status add_inputs(const hlo::Shape& shape, const Generator* stated, Storage storage, uint64_t seed,
                  std::vector<Tensor>& tensors) {
  for (const hlo::Shape& element : shape.elements)
    ZB_TRY(add_inputs(element, stated, storage, seed, tensors));
  if (shape.is_tuple()) return {};
  const Generator generator = stated != nullptr ? *stated : default_generator(shape.dtype);
  ZB_ASSIGN(Tensor tensor, generate(generator, shape.dtype, shape.dims, seed, tensors.size()));
  ZB_TRY(round_nearest(tensor, storage));
  tensors.push_back(std::move(tensor));
  return {};
}

}  // namespace

Generator default_generator(DType dtype) {
  if (hlo::is_float(dtype)) return {Distribution::kNormal, 0, 1};
  if (!hlo::is_integer(dtype)) return {Distribution::kUniform, 0, 1};
  const DType range =
      hlo::dtype_bits(dtype) <= 16 ? dtype : (hlo::is_signed(dtype) ? DType::S16 : DType::U16);
  return {Distribution::kUniform, static_cast<double>(hlo::integer_min(range)),
          static_cast<double>(hlo::integer_max(range))};
}

Result<Tensor> generate(const Generator& stated, DType dtype, std::vector<int64_t> dims, uint64_t seed,
                        uint64_t number) {
  const bool is_float = hlo::is_float(dtype);
  if (!is_float && !hlo::is_integer(dtype) && dtype != DType::Pred)
    return unimplemented(fmt::format("inputs of the type {} cannot be generated", hlo::dtype_name(dtype)));
  ZB_ASSIGN(const int64_t count, element_count(dims));
  ZB_ASSIGN(const Generator generator, fitted(stated, dims));
  const int64_t width = hlo::dtype_bytes(dtype);
  if (count > kByteLimit / width)
    return resource_exhausted(fmt::format("an input of {} elements is larger than 4 GiB", count));
  Random random(seed, number);
  std::string data;
  data.reserve(static_cast<size_t>(count * width));
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = is_float ? hlo::encode(dtype, draw_float(random, generator))
                                   : static_cast<uint64_t>(draw_integer(random, generator, dtype));
    hlo::append_bits(dtype, bits, data);
  }
  return Tensor{dtype, std::move(dims), std::vector<uint8_t>(data.begin(), data.end())};
}

Result<std::vector<Tensor>> generate_inputs(const hlo::Module& module, uint64_t seed,
                                            const std::map<std::string, Generator>& stated,
                                            const std::map<std::string, Storage>& storage) {
  std::vector<Tensor> tensors;
  const hlo::Computation& entry = module.entry_computation();
  for (const uint32_t number : entry.parameters) {
    const hlo::Instruction& parameter = entry.instructions[number];
    const auto found = stated.find(parameter.name);
    const auto stored = storage.find(parameter.name);
    Status status = add_inputs(parameter.shape, found == stated.end() ? nullptr : &found->second,
                               stored == storage.end() ? Storage::kExact : stored->second, seed, tensors);
    if (!status.ok()) return std::move(status).with_prefix(fmt::format("input '{}'", parameter.name));
  }
  return tensors;
}

}  // namespace zomboss::oracle
