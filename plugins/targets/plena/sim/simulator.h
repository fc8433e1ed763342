// The functional and time-exact simulator of PLENA: runs a program of instruction words on one machine and
// gives the bits and the nanoseconds of the official transactional emulator. Execution is strictly in order
// and nothing overlaps. Owns all memories; one Simulator is used by one thread, and several may run at the
// same time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plugins/targets/plena/sim/hbm.h"
#include "plugins/targets/plena/sim/isa.h"
#include "plugins/targets/plena/sim/kernels.h"
#include "plugins/targets/plena/sim/profile.h"
#include "plugins/targets/plena/sim/settings.h"
#include "plugins/targets/plena/sim/vector_memory.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

// An instruction ready to run.
struct Instruction {
  Opcode opcode = Opcode::kInvalid;
  uint8_t rd = 0;
  uint8_t rs1 = 0;
  uint8_t rs2 = 0;
  uint8_t rs3 = 0;
  uint8_t function = 0;
  uint32_t immediate = 0;  // imm22 for S_LUI_INT and C_LOOP_START, else imm18
  uint32_t cost = 0;       // ns; transfers with the HBM add theirs
};

// Called after each instruction with its pc and the time at which it ended. For tests and traces; slow.
class TraceSink {
 public:
  virtual ~TraceSink() = default;
  virtual void executed(size_t pc, uint64_t nanoseconds) = 0;
};

// Nanoseconds of an instruction that runs, transfers with the HBM without the transfer; V_TOPK with policy 0.
uint32_t instruction_cost(Opcode opcode, const Settings& settings);

class Simulator {
 public:
  static constexpr size_t kScalarSramWords = 1024;

  // Fails when `settings` are not valid or memory runs out.
  static Result<Simulator> create(const Settings& settings);

  // Images as the files hold them; each fails when it is larger than the memory. HBM: raw bytes from address
  // 0; FP SRAM: IEEE half; INT SRAM: u32; vector SRAM: packed elements. All little-endian; partial words are
  // ignored.
  Status load_hbm(std::span<const uint8_t> image, uint64_t address = 0);
  Status load_fp_sram(std::span<const uint8_t> halves);
  Status load_int_sram(std::span<const uint8_t> words);
  void load_vector_sram(std::span<const uint8_t> packed) { vectors_.load(packed); }
  // Other kernels than the best of this machine: results are the same, for tests that prove it.
  void use_kernels(const Kernels& kernels) {
    kernels_ = &kernels;
    vectors_.use_kernels(kernels);
  }
  // Tensors whose traffic the profile tells apart: sorted, disjoint ranges.
  void watch_tensors(std::vector<TensorTraffic> tensors) { hbm_.watch(std::move(tensors)); }

  // Refuse to run more than this many instructions (resource_exhausted): a program may loop for ever.
  void limit_instructions(uint64_t limit) { instruction_limit_ = limit; }

  // Runs from pc 0 to the end of `words`. An abort of the machine is an error that reads "pc N (INSTRUCTION):
  // REASON"; the state stays as it was when it happened. To be called once.
  Status run(std::span<const uint32_t> words, TraceSink* trace = nullptr);

  // After run(): the time, counts and marks; the pc of an abort is where the program stopped.
  Profile profile() const;
  uint64_t nanoseconds() const { return now_; }
  size_t pc() const { return pc_; }

  // Memories as the official dumps hold them; of the vector SRAM, which may be large, the first `rows` rows.
  std::vector<uint8_t> dump_vector_sram(uint32_t rows = ~0u) const { return vectors_.dump(rows); }
  std::vector<uint8_t> dump_matrix_sram() const;
  std::vector<uint8_t> dump_fp_sram() const;
  std::vector<uint8_t> dump_int_sram() const;
  const ByteMemory& hbm() const { return hbm_.bytes(); }

 private:
  struct Loop {
    size_t start_pc = 0;
    uint64_t start_count = 0;  // instructions executed when the current trip began
    uint8_t reg = 0;
  };
  // Number tables of one HBM type.
  struct Decoder {
    NumberType type;
    std::vector<float> elements;  // by code, for elements of at most 8 bits
  };
  // Where the rows of a transfer lie in the HBM.
  struct Transfer {
    const Decoder* decoder = nullptr;
    uint64_t element_base = 0;
    uint64_t scale_base = 0;
    uint32_t stride = 0;
    uint32_t elements = 0;     // per row
    uint32_t row_bytes = 0;    // of elements
    uint32_t scale_bytes = 0;  // per row, 0 without scales
    float scale_step = 0.0f;
  };

  explicit Simulator(const Settings& settings);

  Status decode(std::span<const uint32_t> words);
  uint32_t cost_of(Opcode opcode, const Fields& fields) const;
  Status abort_status(std::span<const uint32_t> words) const;
  template <bool kTrace>
  bool execute(TraceSink* trace);
  bool dispatch(const Instruction& in);

  // All of these return false after fail().
  [[gnu::cold]] bool fail(std::string reason);
  bool vector_row(uint32_t address, uint32_t& row);
  bool matrix_tile(uint32_t address, uint32_t& tile);
  bool fp_register(uint8_t index);
  bool scalar_index(uint32_t index, const char* memory);
  bool check_limits();
  void update_stop();

  bool run_scalar(const Instruction& in);
  bool run_scalar_memory(const Instruction& in);
  bool run_control(const Instruction& in);
  bool loop_end(uint8_t reg);
  bool loop_break();

  bool run_vector(const Instruction& in);
  bool vector_binary(const Instruction& in);
  bool vector_with_scalar(const Instruction& in);
  bool vector_unary(const Instruction& in);
  bool vector_shift(const Instruction& in);
  bool vector_reduce(const Instruction& in);
  bool vector_topk(const Instruction& in);
  bool map_scalars(const Instruction& in);
  void keep_unselected(const float* source, float* out) const;
  void exp_row(const float* in, float* out) const;

  bool run_matrix(const Instruction& in);
  bool matrix_matrix(uint32_t matrix, uint32_t vector, bool transposed);
  bool matrix_vector(uint32_t matrix, uint32_t vector, bool transposed);
  bool matrix_broadcast(uint32_t matrix, uint32_t vector);
  bool matrix_broadcast_transposed(uint32_t matrix, uint32_t vector, bool single_row);
  bool write_out_matrix(uint32_t address, uint32_t stride);
  bool write_out_vector(uint32_t address);
  bool write_out_heads(uint32_t address, LazyFloats& accumulator);
  bool gather_rows(uint32_t address, uint32_t count);
  bool write_part(uint32_t address, uint32_t offset, const float* values);
  const float* transposed_tile_rows(const float* tile, uint32_t first_row, uint32_t rows,
                                    uint32_t first_column, uint32_t columns);

  bool run_memory(const Instruction& in);
  bool transfer_of(const Instruction& in, const Decoder& decoder, uint32_t elements, Transfer& out);
  void read_rows(const Transfer& transfer, uint32_t count);
  bool decode_row(const Transfer& transfer, uint32_t index, float* out);
  void decode_elements(const Transfer& transfer, const uint8_t* bytes, const uint8_t* scales,
                       float* out) const;
  uint64_t scale_address(const Transfer& transfer, uint32_t index) const;
  bool prefetch_matrix(const Instruction& in);
  bool prefetch_vector(const Instruction& in);
  bool store_vector(const Instruction& in);
  bool store_row(const Transfer& transfer, uint32_t index, const float* values);

  Settings settings_;
  const Kernels* kernels_ = &best_kernels();
  std::vector<Instruction> code_;
  std::vector<uint64_t> count_by_pc_;
  std::vector<uint64_t> transfer_ns_by_pc_;

  // Architectural state.
  std::array<uint32_t, 16> gp_{};
  std::array<float, 8> fp_{};  // values of bf16
  std::array<uint64_t, 16> address_{};
  uint32_t scale_register_ = 0;
  uint32_t stride_register_ = 1;
  uint32_t mask_register_ = 0;
  std::array<float, kScalarSramWords> fp_sram_{};
  std::array<uint32_t, kScalarSramWords> int_sram_{};
  VectorMemory vectors_;
  LazyFloats tiles_;               // the matrix SRAM
  std::vector<float> matrix_sum_;  // blen x blen
  std::vector<float> vector_sum_;  // blen
  LazyFloats head_matrix_sum_;     // broadcast x mlen x mlen
  LazyFloats head_vector_sum_;     // broadcast x mlen
  Hbm hbm_;

  // Progress.
  size_t pc_ = 0;
  uint64_t now_ = 0;
  uint64_t executed_ = 0;
  uint64_t stop_at_ = 0;  // check_limits() when this many have been executed
  uint64_t instruction_limit_ = uint64_t{1} << 40;
  std::vector<Loop> loops_;
  uint32_t tiles_used_ = 0;
  std::string failure_;
  Code failure_code_ = Code::kInvalidArgument;

  // Scratch and tables.
  std::array<Decoder, 4> decoders_;
  std::vector<float> row_a_, row_b_, row_out_;
  LazyFloats gathered_, transposed_;
  std::vector<const float*> row_pointers_;
  std::vector<uint64_t> blocks_;
  std::vector<uint8_t> bytes_;
  std::vector<uint8_t> scale_bytes_;
  std::vector<uint32_t> codes_;
};

}  // namespace zomboss::plena
