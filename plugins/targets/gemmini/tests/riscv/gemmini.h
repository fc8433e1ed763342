/* A stand-in for the vendor's header, as far as exported kernels use it: the names and parameters of its
 * macros, and instruction words and registers as its instruction set says. Registers are given to the
 * instruction as the macros' arguments are, without a cast that would hide a value of the wrong type. */
#ifndef ZB_STAND_IN_GEMMINI_H
#define ZB_STAND_IN_GEMMINI_H

#include <stdint.h>

#ifndef DIM
#define DIM 16
#endif
#define XCUSTOM_ACC 3
#define OUTPUT_STATIONARY 0
#define WEIGHT_STATIONARY 1

typedef float scale_t;
typedef float acc_scale_t;

static inline uint32_t zb_bits(float value) {
  union {
    float value;
    uint32_t bits;
  } both = {value};
  return both.bits;
}

/* custom-3, both source registers, no destination; `funct` is a literal. */
#define ZB_TEXT2(x) #x
#define ZB_TEXT(x) ZB_TEXT2(x)
#define ROCC_INSTRUCTION_RS1_RS2(x, rs1, rs2, funct) \
  { __asm__ volatile(".insn r 0x7b, 0x3, " ZB_TEXT(funct) ", x0, %0, %1" : : "r"(rs1), "r"(rs2)); }

#ifdef ZB_MARK_FENCES /* a fence does not trap: an instruction behind it tells that it was reached */
#define gemmini_fence() __asm__ volatile("fence\n\t.insn r 0x7b, 0x3, 127, x0, x0, x0")
#else
#define gemmini_fence() __asm__ volatile("fence")
#endif
#define gemmini_flush(skip) ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, skip, 0, 7)

/* A local operand: rows, columns, address. */
#define ZB_OPERAND(address, cols, rows) \
  (((uint64_t)(rows) << 48) | ((uint64_t)(cols) << 32) | (uint64_t)(address))

#define gemmini_extended_mvin(dram, local, cols, rows) \
  ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, dram, ZB_OPERAND(local, cols, rows), 2)
#define gemmini_extended_mvin2(dram, local, cols, rows) \
  ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, dram, ZB_OPERAND(local, cols, rows), 1)
#define gemmini_extended_mvin3(dram, local, cols, rows) \
  ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, dram, ZB_OPERAND(local, cols, rows), 14)
#define gemmini_extended_mvout(dram, local, cols, rows) \
  ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, dram, ZB_OPERAND(local, cols, rows), 3)

#define gemmini_extended_preload(bd, c, bd_cols, bd_rows, c_cols, c_rows) \
  ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, ZB_OPERAND(bd, bd_cols, bd_rows), ZB_OPERAND(c, c_cols, c_rows), 6)
#define gemmini_extended_compute_preloaded(a, bd, a_cols, a_rows, bd_cols, bd_rows) \
  ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, ZB_OPERAND(a, a_cols, a_rows), ZB_OPERAND(bd, bd_cols, bd_rows), 4)
#define gemmini_extended_compute_accumulated(a, bd, a_cols, a_rows, bd_cols, bd_rows) \
  ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, ZB_OPERAND(a, a_cols, a_rows), ZB_OPERAND(bd, bd_cols, bd_rows), 5)

#define gemmini_extended3_config_ex(dataflow, act, shift, scale, c_stride, a_stride, a_transpose,         \
                                    b_transpose, only_strides)                                            \
  ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC,                                                                   \
                           ((uint64_t)zb_bits((acc_scale_t)scale) << 32) | ((uint64_t)(a_stride) << 16) | \
                               ((b_transpose) << 9) | ((a_transpose) << 8) | ((only_strides) << 7) |      \
                               ((act) << 3) | ((dataflow) << 2) | 0,                                      \
                           ((uint64_t)(c_stride) << 48) | (shift), 0)
#define gemmini_extended5_config_ld(stride, scale, shrunk, block_stride, pixel_repeats, id)               \
  ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC,                                                                   \
                           ((uint64_t)zb_bits((scale_t)scale) << 32) | ((uint64_t)(block_stride) << 16) | \
                               ((uint64_t)(pixel_repeats) << 8) | ((id) << 3) | ((shrunk) << 2) | 1,      \
                           stride, 0)
#define gemmini_extended_config_st(stride, act, scale)              \
  ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, ((uint64_t)(act) << 2) | 2, \
                           ((uint64_t)zb_bits((acc_scale_t)scale) << 32) | ((uint32_t)stride), 0)

#endif
