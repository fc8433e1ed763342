#include "core/oracle/inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/hlo/number.h"
#include "core/oracle/numeric.h"
#include "zomboss/sdk/random.h"

namespace zomboss::oracle {
namespace {

Lane draw(Random& random, DType dtype) {
  if (hlo::is_float(dtype)) return to_lane(random.normal());
  if (dtype == DType::Pred) return random.below(2);
  const bool is_signed = hlo::is_signed(dtype);
  const DType range = hlo::dtype_bits(dtype) <= 16 ? dtype : (is_signed ? DType::S16 : DType::U16);
  return to_lane(random.between(hlo::integer_min(range), static_cast<int64_t>(hlo::integer_max(range))));
}

Status generate(const hlo::Shape& shape, uint64_t seed, std::vector<Tensor>& tensors) {
  if (shape.is_tuple()) {
    for (const hlo::Shape& element : shape.elements) ZB_TRY(generate(element, seed, tensors));
    return {};
  }
  if (!computable(shape.dtype)) {
    return unimplemented(fmt::format("there are no default inputs of the type {}", shape.text()));
  }
  ZB_ASSIGN(const int64_t count, element_count(shape.dims));
  if (count > int64_t{1} << 32) {
    return resource_exhausted(fmt::format("an input of the type {} is too large", shape.text()));
  }
  Random random(seed, tensors.size());
  std::vector<Lane> lanes(static_cast<size_t>(count));
  for (Lane& lane : lanes) lane = draw(random, shape.dtype);
  const auto width = static_cast<size_t>(hlo::dtype_bytes(shape.dtype));
  Tensor tensor{shape.dtype, shape.dims, std::vector<uint8_t>(lanes.size() * width)};
  encode(shape.dtype, lanes, tensor.bytes);
  tensors.push_back(std::move(tensor));
  return {};
}

}  // namespace

Result<std::vector<Tensor>> generate_inputs(const hlo::Module& module, uint64_t seed) {
  std::vector<Tensor> tensors;
  const hlo::Computation& entry = module.entry_computation();
  for (const uint32_t parameter : entry.parameters) {
    ZB_TRY(generate(entry.instructions[parameter].shape, seed, tensors));
  }
  return tensors;
}

}  // namespace zomboss::oracle
