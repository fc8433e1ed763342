// The tape: a program before its registers are assigned. Instructions name numbers (affine.h), scalars and
// places in the HBM; loops that stay loops are marked; code that is unrolled is simply there several times.
// assign.h turns a tape into instruction words. Plain values; one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/targets/plena/code/affine.h"
#include "plugins/targets/plena/sim/isa.h"

namespace zomboss::plena {

// A floating-point number of a program: a constant (a slot of the FP SRAM) or a variable that instructions
// write.
using ScalarId = int32_t;
inline constexpr ScalarId kNoScalar = -1;

struct Scalar {
  bool is_constant = false;
  float value = 0;  // of a constant, a bf16
};

// Where rows of a transfer lie in the HBM: elements from `address`, their scales `scale_distance` bytes
// behind, rows `stride` bytes apart (0 = as dense as the machine's row).
struct HbmPlace {
  uint64_t address = 0;
  uint32_t scale_distance = 0;
  uint32_t stride = 0;
  bool operator==(const HbmPlace&) const = default;
};

enum class ItemKind : uint8_t { kInstruction, kLoopBegin, kLoopEnd };

struct Item {
  ItemKind kind = ItemKind::kInstruction;
  Opcode opcode = Opcode::kInvalid;
  uint8_t gp_count = 0;
  std::array<Affine, 3> gp;                                     // in operand order
  std::array<ScalarId, 3> fp{kNoScalar, kNoScalar, kNoScalar};  // rd, rs1, rs2
  uint32_t immediate = 0;                                       // of M_*_WO
  int32_t mask = -1;                                            // V_MASK value; -1 = unmasked
  bool reverse = false;                                         // V_SUB_VF
  HbmPlace place;                                               // of H_*
  LoopId loop = 0;                                              // of the marks
  uint32_t trips = 0;                                           // of kLoopBegin
  uint32_t match = 0;                                           // index of the other mark
  uint16_t region = 0;
};

class Tape {
 public:
  Tape();

  // Instructions from here on belong to this region; profiles name it.
  void region(std::string_view name);

  // Scalars. Equal constants are one scalar. A variable is known inside the loop body that made it.
  ScalarId constant(float value);
  ScalarId variable();
  ScalarId zero() const { return 0; }  // the constant 0, register f0

  // Runs `body` with the trip number 0..count-1. Emits min(unroll, count) copies a trip of a rolled loop, or
  // all of them without a loop when unroll >= count; the trips that do not fill a copy group follow the loop.
  void loop(int64_t count, int64_t unroll, const std::function<void(const Affine&)>& body);

  // Matrix engine. Addresses are element addresses.
  void mm(Affine matrix, Affine vector);
  void tmm(Affine vector, Affine matrix);
  void bmm(Affine matrix, Affine vector);
  void btmm(Affine matrix, Affine vector);
  void mv(Affine matrix, Affine vector);
  void btmv(Affine matrix, Affine slice, Affine vector);  // matrix + slice is the address
  void mm_write(Affine to, int64_t row_stride);           // row_stride in rows
  void mv_write(Affine to);
  void bmm_write(Affine to);
  void bmv_write(Affine to);

  // Vector engine. mask: a V_MASK value, or -1 for all of the row.
  void vv(Opcode opcode, Affine to, Affine a, Affine b, int32_t mask = -1);
  void vf(Opcode opcode, Affine to, Affine a, ScalarId f, int32_t mask = -1);
  void v_sub_f(Affine to, Affine a, ScalarId f, bool reverse, int32_t mask = -1);
  void v_exp(Affine to, Affine a);
  void v_reci(Affine to, Affine a);
  void v_shift(Affine to, Affine a, int64_t by);
  void red_sum(ScalarId to, Affine a);  // to += sum
  void red_max(ScalarId to, Affine a);  // to = max(to, row)

  // Scalar engine.
  void s_fp(Opcode opcode, ScalarId to, ScalarId a, ScalarId b = kNoScalar);
  void set(ScalarId to, float value);     // a variable to a constant
  void s_load(ScalarId to, Affine slot);  // from the FP SRAM
  void s_store(ScalarId from, Affine slot);

  // HBM. `offset` in bytes from place.address.
  void prefetch_m(Affine to, HbmPlace place, Affine offset);
  void prefetch_v(Affine to, HbmPlace place, Affine offset);
  void store_v(Affine from, HbmPlace place, Affine offset);

  const std::vector<Item>& items() const { return items_; }
  const std::vector<Scalar>& scalars() const { return scalars_; }
  const std::vector<std::string>& regions() const { return regions_; }
  uint32_t loop_count() const { return loops_; }

 private:
  Item& add(Opcode opcode, std::initializer_list<Affine> gp);
  void masked(Item& item, int32_t mask);

  std::vector<Item> items_;
  std::vector<Scalar> scalars_;
  std::vector<std::string> regions_;
  uint16_t region_ = 0;
  LoopId loops_ = 0;
};

}  // namespace zomboss::plena
