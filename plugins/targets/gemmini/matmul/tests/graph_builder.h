// Hand-made operator graphs for tests. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/tensors_generated.h"
#include "zomboss/schema/workload_generated.h"

namespace zomboss::gemmini {

using Dims = std::vector<int64_t>;

// Nodes are numbered as they are added; node i stands on line i + 1, column 3.
class GraphBuilder {
 public:
  uint32_t parameter(const Dims& dims, wire::DType dtype = wire::DType::S8);
  uint32_t constant_s32(const Dims& dims, const std::vector<int32_t>& values);
  uint32_t matmul(uint32_t lhs, uint32_t rhs, const Dims& lhs_contract, const Dims& rhs_contract,
                  const Dims& lhs_batch = {}, const Dims& rhs_batch = {});
  uint32_t bias(uint32_t x, uint32_t b, const Dims& dims);
  uint32_t quantize(uint32_t x, double scale, double low = -128, double high = 127);
  uint32_t relu(uint32_t x);
  uint32_t transpose(uint32_t x, const Dims& dims);
  uint32_t reshape(uint32_t x, const Dims& dims);
  uint32_t broadcast(uint32_t x, const Dims& dims, const Dims& to);
  uint32_t node(const std::string& op, const std::vector<uint32_t>& operands, const Dims& dims,
                wire::DType dtype);

  // The last node is the output.
  wire::WorkloadT finish() const;
  const Dims& dims(uint32_t id) const { return workload_.nodes[id]->type->dims; }
  wire::NodeT& at(uint32_t id) { return *workload_.nodes[id]; }

 private:
  wire::WorkloadT workload_;
};

// A dim x dim machine with the capacities of the vendor's default: 256 KiB scratchpad, 64 KiB accumulator.
Machine default_machine(uint32_t dim = 16);

// Seeded inputs: s8 over its whole range, s32 within +-30000.
wire::TensorsT random_inputs(const wire::WorkloadT& workload, uint64_t seed);

// The graph evaluated node by node with plain loops, independent of the target. The output's bytes.
std::vector<uint8_t> reference_output(const wire::WorkloadT& workload, const wire::TensorsT& inputs);

}  // namespace zomboss::gemmini
