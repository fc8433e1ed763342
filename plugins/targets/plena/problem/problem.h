// What the target understands of a workload: a list of stages over values that are matrices. Every value has
// rows and columns; a tensor of higher rank is a matrix whose rows and columns are products of its dims, in
// row-major order. Plain values; any thread may read a finished Problem.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/plena/machine_model.h"
#include "plugins/targets/plena/problem/view.h"
#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

// How a value lies where it starts, before any stage.
enum class Origin : uint8_t { kStage, kInput, kConstant };

// A matrix, or `batch` of them one below the other (rows counts all of them).
struct Value {
  std::string name;
  Origin origin = Origin::kStage;
  int32_t input = -1;  // position in Workload.inputs
  int64_t batch = 1;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<float> data;  // of a constant, row-major
  bool as_rows = false;     // some stage reads it as vectors of the vector SRAM
  bool as_matrix = false;   // some stage reads it as tiles of the matrix SRAM

  int64_t batch_rows() const { return rows / batch; }
};

enum class StageKind : uint8_t {
  kMatmul,     // out = a * b [+ c]; b comes from the HBM
  kAttention,  // out = softmax(scale * a b^T + mask) c, per head
  kSoftmax,    // over the columns
  kLayerNorm,  // a, gamma b, beta c
  kRmsNorm,    // a, gamma b
  kMap,        // element by element
  kBinary,     // a op b; b of the same shape, or one row that all rows use
  kScalar,     // a op number
  kRope,       // a, cosines b, sines c
  kReduce,     // of each row, to a value with one column
  kColumn,     // a op b, b with one column
};

enum class MapKind : uint8_t {
  kRelu,
  kSilu,
  kGeluErf,
  kGeluTanh,
  kGeluSigmoid,
  kLogistic,
  kExp,
  kNegate,
  kReciprocal,
  kTanh,
  kSquare
};
enum class BinaryKind : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kMaximum, kMinimum };
enum class MaskKind : uint8_t { kNone, kCausal, kAdditive, kBoolean };

struct Stage {
  StageKind kind = StageKind::kMap;
  std::string name;  // of the HLO instruction
  ValueId out = kNoValue;
  ValueId a = kNoValue, b = kNoValue, c = kNoValue, d = kNoValue;

  // Matmul. b is [in, out] (natural) or, transposed, [out, in]; with a batch, one matrix for each.
  bool transposed = false;
  int64_t batch = 1;

  // Attention. The query's columns are heads of head_dim; the keys' and values' columns kv_heads of them.
  int64_t heads = 1, kv_heads = 1;
  int64_t head_dim = 0, value_dim = 0;
  bool heads_in_rows = false;  // heads lie below each other instead (one of each per key head)
  // Keys and values are not computed: b holds what their projections read, and these the projections'
  // matrices. softmax(scale * (a key^T) b^T) (b value) then takes the place of the projected form.
  ValueId absorbed_key = kNoValue, absorbed_value = kNoValue;
  double scale = 1;
  MaskKind mask = MaskKind::kNone;  // d is the mask value when it is additive or boolean

  // What bf16 loses of a normalised row, for products whose result it would spoil: the output of a norm
  // beside `out`, and the second vector operand of a matmul.
  ValueId low = kNoValue;

  // A matmul whose result goes to one sum and nowhere else: what is added, and the sum. `added_by` of the
  // sum's stage is the matmul's index.
  ValueId residual = kNoValue, sum = kNoValue;
  int32_t added_by = -1;
  bool takes_rounded = false;  // a matmul: the workload itself rounds its vectors

  bool precise = false;  // a norm or activation of a workload that needs it rounded once, not at each step

  double epsilon = 0;                    // norms
  MapKind map = MapKind::kRelu;          // kMap
  BinaryKind binary = BinaryKind::kAdd;  // kBinary, kScalar, kColumn; kReduce: add, maximum or minimum
  bool reversed = false;                 // kScalar, kColumn: number (or b) op a
  double number = 0;                     // kScalar
  bool interleaved = false, half_table = false;  // kRope
  int64_t rope_heads = 1;
};

struct Problem {
  std::string workload;
  std::vector<Value> values;
  std::vector<Stage> stages;             // in the order of execution
  std::vector<std::string> input_names;  // by position in Workload.inputs
  std::vector<wire::TensorTypeT> input_types;
  std::vector<View> outputs;  // by position in Workload.outputs
  std::vector<wire::TensorTypeT> output_types;
  bool store_rounds_kv = true;    // contract option kv_storage
  double absolute_tolerance = 0;  // of the contract

  // The last stage that reads each value; stages.size() for an output.
  std::vector<size_t> last_use() const;
};

// Unimplemented, with every operator that has no lowering and its place, when the workload is not for this
// machine; invalid argument when a contract asks for storage that its HBM does not have.
Result<Problem> read_problem(const wire::WorkloadT& workload, const Machine& machine);

}  // namespace zomboss::plena
