// The mapping decisions of a plan as the lowering reads them. surface.cc publishes them as knobs, whose
// first values are Candidate-0; a decision that is no knob of a workload keeps the value that stands here.
#pragma once

#include <cstdint>

namespace zomboss::plena {

// How a product with a matrix is computed.
enum class ProductForm : int64_t {
  kArray = 0,     // M_MM or M_TMM: BLEN x BLEN results at a time
  kSpread = 1,    // broadcast forms; copies of the vectors made by a product with a constant tile
  kShift = 2,     // broadcast forms; copies made by V_SHFT_V
  kRowPack = 3,   // M_BTMV; four rows packed through a constant tile. Transposed matrices only
  kRowShift = 4,  // M_BTMV row by row on shifted copies. Transposed matrices only
};

enum class ScaleFold : int64_t { kScores = 0, kQuery = 1, kCopies = 2 };
enum class RowSum : int64_t { kPerVector = 0, kAddFirst = 1, kOnesColumn = 2 };
enum class NormSums : int64_t { kPerVector = 0, kAddFirst = 1 };
enum class LayerNormForm : int64_t { kMoments = 0, kCentered = 1 };
enum class GeluForm : int64_t { kTanh = 0, kSigmoid = 1 };
enum class KvLayout : int64_t { kRowMajor = 0, kPerHead = 1 };
enum class LoadOrder : int64_t { kColumns = 0, kRows = 1 };
enum class RopeTurn : int64_t { kLoad = 0, kProduct = 1 };
enum class SoftmaxForm : int64_t { kWhole = 0, kOnline = 1 };

struct Choices {
  // Algorithm.
  ProductForm matmul = ProductForm::kArray;
  ProductForm matvec = ProductForm::kArray;  // products of a single row
  ProductForm scores = ProductForm::kArray;
  ProductForm weighted = ProductForm::kArray;  // probabilities times values
  SoftmaxForm softmax = SoftmaxForm::kWhole;
  RowSum row_sum = RowSum::kPerVector;
  NormSums norm_sums = NormSums::kPerVector;
  LayerNormForm layer_norm = LayerNormForm::kMoments;
  GeluForm gelu = GeluForm::kTanh;
  RopeTurn rope_turn = RopeTurn::kLoad;
  int64_t accumulate_residuals = 0;  // what is added to a product goes through its accumulators
  // Matrix decomposition.
  int64_t lanes = 4;         // row blocks that share the lanes of a broadcast form
  int64_t column_block = 1;  // tiles of columns whose matrix tiles are loaded together
  int64_t stack_heads = 1;   // query heads of one key head as rows of one product
  // Vector decomposition.
  int64_t fuse_vectors = 0;  // chains of element by element operators vector by vector
  // Placement.
  int64_t resident_tiles = 4;  // tiles of the matrix SRAM for streamed matrices
  int64_t reload_vectors = 0;  // inputs are loaded again for each stage
  KvLayout kv_layout = KvLayout::kRowMajor;
  // Memory pipeline.
  LoadOrder load_order = LoadOrder::kColumns;  // of the tiles of a column block
  LoadOrder vector_load_order = LoadOrder::kColumns;
  int64_t early_loads = 0;  // vectors of all inputs before the first stage
  // Precision.
  int64_t precise_norm = 0;  // where the problem does not ask for it
  int64_t precise_silu = 1;  // where the problem asks for it
  ScaleFold scale_fold = ScaleFold::kScores;
  // Loop structure.
  int64_t unroll_product = 1;
  int64_t unroll_column = 1;
  int64_t unroll_vector = 1;
  int64_t unroll_load = 1;
  int64_t hoist = 1;
  int64_t write_immediates = 0;
  int64_t cached_numbers = 15;
};

inline bool broadcasts(ProductForm form) {
  return form == ProductForm::kSpread || form == ProductForm::kShift || form == ProductForm::kRowPack ||
         form == ProductForm::kRowShift;
}

}  // namespace zomboss::plena
