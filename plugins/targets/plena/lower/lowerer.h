// Lowers a Problem under Choices: places tensors in the HBM, panels in the vector SRAM and tiles in the
// matrix SRAM, and writes the stages onto a tape. One object per lowering; one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/targets/plena/code/tape.h"
#include "plugins/targets/plena/lower/choices.h"
#include "plugins/targets/plena/lower/storage.h"
#include "plugins/targets/plena/lower/vector_space.h"
#include "plugins/targets/plena/problem/problem.h"

namespace zomboss::plena {

// A tensor of the HBM image: an input of the workload (by position), constant data, or zeros.
struct HbmContent {
  HbmTensor tensor;
  int32_t input = -1;
  std::vector<float> data;  // of a constant; empty for scratch
};

// A finished lowering before register assignment.
struct Lowered {
  Tape tape;
  std::vector<HbmContent> hbm;
  std::vector<Panel> outputs;  // by position in Problem::outputs
  int64_t vector_rows = 0;     // of the vector SRAM, in use at one time at most
  int64_t matrix_tiles = 0;
};

// A product of vectors with one matrix in the HBM.
struct Product {
  using Address = std::function<Affine(const Affine& row, const Affine& tile)>;
  int64_t rows = 0;                // vectors
  int64_t inner = 0, columns = 0;  // tiles
  Address x, y;
  Address x_low;  // a second part of the vectors, empty when there is none; not in the row forms
  // Byte offset of the matrix tile (inner, column) from the tensor's address.
  std::function<Affine(const Affine& inner, const Affine& column)> tile;
  HbmPlace place;
  bool transposed = false;
  bool alone = true;  // no other product writes rows of the same panel tiles
  double factor = 1;  // of the result, a power of two; not in the array form
  // Spread form: one more column, whose matrix is a constant tile in the matrix SRAM for all inner tiles.
  std::optional<int64_t> constant_column;
  std::function<Affine(const Affine& row)> constant_y;
  Address residual;  // vectors that are added to the result, or empty; in the array and spread forms
};

// Added to a score that must not count. Large against any score, small enough for bf16 and MX.
inline constexpr float kMasked = -16384.0f;

class Lowerer {
 public:
  Lowerer(const Problem& problem, const Machine& machine, const Choices& choices);
  Result<Lowered> run();

 private:
  // ---- values (values.cc)
  Panel new_panel(int64_t rows, int64_t cols, int64_t before = 0, int64_t after = 0);
  Panel one_row_panel(int64_t cols);
  void release_panel(const Panel& panel);
  // The value in the vector SRAM, loaded when it is an input and not there.
  Panel panel(ValueId id);
  Panel form_panel(int64_t rows, int64_t cols, ProductForm form);  // a result, with what its write-outs spoil
  Panel output_panel(const Stage& stage, ProductForm form);
  // The panel of `stage.out`, in place of `stage.a` when nobody reads that later.
  Panel result_panel(const Stage& stage);
  void load_rows(const HbmTensor& tensor, const Panel& to);
  void finish_stage(size_t index);
  HbmTensor tensor_of(ValueId id) const { return out_.hbm[tensor_index_.at(id)].tensor; }
  HbmTensor add_tensor(std::string name, int64_t batch, int64_t rows, int64_t cols, bool whole_tiles,
                       int32_t input, std::vector<float> data);
  void place_inputs();
  // A constant matrix tile, kept in the matrix SRAM from its first use on. Returns its element address.
  int64_t constant_tile(const std::string& name, const std::function<float(int64_t, int64_t)>& element);
  int64_t slot(int64_t index) const;  // element address of a working tile
  int64_t slots() const;              // working tiles
  void note_tiles(int64_t working);
  // One row of the vector SRAM with constant elements.
  // For columns that fill no whole tile, a row for the last one: 1 inside and 0 outside; 0 inside and kMasked
  // outside.
  std::optional<Panel> kept_columns(int64_t cols);
  std::optional<Panel> masked_columns(int64_t cols);
  int64_t unit_tile();  // the constant tile of the identity
  Panel constant_row(const std::string& name, const std::function<float(int64_t)>& element);

  // ---- products (products.cc, broadcast.cc)
  void product(const Product& product, ProductForm form);
  void array_product(const Product& product);
  void array_columns(const Product& product, int64_t first_inner, int64_t inner, const Product::Address& y);
  // Runs the body for groups of columns whose matrix tiles (inner of them each) fit the working tiles
  // together: loads those, then calls body(column, index of the column's first working tile).
  void each_column(const Product& product, int64_t first_inner, int64_t inner,
                   const std::function<void(const Affine& column, const Affine& first_slot)>& body);
  void spread_product(const Product& product);
  void shift_product(const Product& product);
  void row_pack_product(const Product& product);
  void row_shift_product(const Product& product);
  Panel spread_copies(const Product& product, const Product::Address& x, int64_t lanes);
  void copy_rows(const Panel& from, int64_t first, const Product& product, const Affine& row,
                 const Affine& column, int64_t rows);
  Panel shifted_copies(const Product& product, const Product::Address& x);
  int64_t spread_tile(bool transposed, double factor);
  void load_tile(const Product& product, int64_t slot_index, const Affine& inner, const Affine& column);
  ProductForm form_of(const Stage& stage) const;  // of a matmul
  bool accumulates(const Stage& stage) const;     // its residual in the accumulators
  int64_t lanes_for(int64_t rows) const;
  void stage_matmul(const Stage& stage);

  // ---- attention (attention.cc)
  void stage_attention(const Stage& stage);
  HbmTensor store_heads(ValueId id, int64_t heads, int64_t width, bool heads_in_rows,
                        const std::string& name);
  void soft_rows(const Panel& from, const Panel& to, const std::vector<std::pair<int64_t, int64_t>>& ranges,
                 int64_t cols, double scale, const std::optional<Panel>& mask, bool divide);
  void stage_absorbed_attention(const Stage& stage);
  Panel mask_panel(const Stage& stage, int64_t queries, int64_t keys);
  void stage_softmax(const Stage& stage);
  void online_attention(const Stage& stage, Product scores, Product weighted, const Panel& s,
                        const std::vector<std::pair<int64_t, int64_t>>& ranges, int64_t keys, double scale,
                        const std::optional<Panel>& mask);

  // ---- rows (norms.cc, maps.cc, rope.cc)
  void stage_norm(const Stage& stage);
  struct NormFactor {
    ScalarId factor = kNoScalar, correction = kNoScalar;  // the factor is factor * (1 + correction)
    ScalarId upper = kNoScalar, lower = kNoScalar;        // halves of factor
  };
  void stage_precise_norm(const Stage& stage);
  void center_rows(const Stage& stage, const Panel& x, const Panel& y, const std::optional<Panel>& keep);
  void halve_scalar(ScalarId number, ScalarId upper, ScalarId lower);
  void divide_by(ScalarId number, ScalarId low, float cols);
  void halve_vector(const Affine& number, const Affine& upper, const Affine& lower, const Affine& part);
  // `lost`: what the vector of squares lacks.
  NormFactor norm_factor(const Affine& squares, const std::optional<Affine>& lost, float cols, float epsilon);
  // An operator element by element, ready to be written for each vector.
  struct VectorStep {
    int64_t rows = 0, tiles = 0;
    std::function<void(const Affine& row, const Affine& tile)> body;
    std::vector<Panel> temporaries;
  };
  size_t stage_vectors(size_t first);
  VectorStep map_step(const Stage& stage);
  VectorStep binary_step(const Stage& stage);
  VectorStep scalar_step(const Stage& stage);
  bool is_accumulated(const Stage& stage) const {  // done by the product before
    return stage.added_by >= 0 && accumulates(problem_.stages[static_cast<size_t>(stage.added_by)]);
  }
  void precise_silu(const Affine& to, const Affine& from, const Panel& scratch);
  void stage_rope(const Stage& stage);
  void rotate_tile_pairs(const Stage& stage);
  bool rope_loads_again(const Stage& stage) const;
  Panel widened_table(const Stage& stage, const Panel& half, const char* what);
  void turn_by_product(const Stage& stage, const Panel& x, const Panel& turned);
  void constant_product(const std::string& name, const Panel& from, const Panel& to, int64_t rows,
                        const std::function<float(int64_t, int64_t)>& element);
  void stage_reduce(const Stage& stage);
  void stage_column(const Stage& stage);
  int64_t column_slots(ValueId id);  // first slot of the FP SRAM
  // Runs the body for each vector of the panels' rows (all of the same shape): with the address of a row and
  // tile given by each panel's at().
  void each_vector(int64_t rows, int64_t tiles,
                   const std::function<void(const Affine& row, const Affine& tile)>& body);

  int64_t tiles(int64_t cols) const { return (cols + machine_.vlen - 1) / machine_.vlen; }
  int64_t padded_rows(int64_t rows) const {
    return (rows + machine_.blen - 1) / machine_.blen * machine_.blen;
  }
  Value const& value(ValueId id) const { return problem_.values[static_cast<size_t>(id)]; }
  void fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  const Problem& problem_;
  const Machine& machine_;
  const Choices& choices_;
  Lowered out_;
  Tape& tape_;
  Status status_;
  VectorSpace space_;
  std::vector<size_t> last_use_;
  std::vector<std::optional<Panel>> panels_;     // by value
  std::map<int64_t, int64_t> allocation_begin_;  // panel.first -> first row of its allocation
  std::map<ValueId, size_t> tensor_index_;       // into out_.hbm
  uint64_t hbm_end_ = 0;
  std::map<std::string, int64_t> constant_tiles_;
  std::map<std::string, Panel> constant_rows_;
  std::map<ValueId, int64_t> columns_;
  int64_t columns_end_ = 0;
};

// Fails with resource_exhausted, with the numbers, when a memory is too small.
Result<Lowered> lower_problem(const Problem& problem, const Machine& machine, const Choices& choices);

}  // namespace zomboss::plena
