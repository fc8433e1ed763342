/* Runs an exported kernel under an emulator that does not know the accelerator's instructions: each of them
 * traps, and the trap's handler writes what stands in the instruction word and the registers as a line, "WORD
 * RS1 RS2", and steps over it. No C library. Exit code: main's. */
#include <stddef.h>
#include <stdint.h>

enum { kWrite = 64, kExit = 93, kSigaction = 134, kIllegal = 4, kSiginfo = 4 };

static long system_call(long number, long a, long b, long c, long d) {
  register long a0 __asm__("a0") = a;
  register long a1 __asm__("a1") = b;
  register long a2 __asm__("a2") = c;
  register long a3 __asm__("a3") = d;
  register long a7 __asm__("a7") = number;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a7) : "memory");
  return a0;
}

/* The begin of Linux' struct ucontext on 64-bit RISC-V: registers[0] is the program counter, [n] is xn. */
struct context {
  unsigned char before[176];
  uint64_t registers[32];
};

static char buffer[1 << 16];
static size_t used;

static void flush_out(void) {
  system_call(kWrite, 1, (long)buffer, (long)used, 0);
  used = 0;
}

static void write_hex(uint64_t value, char end) {
  for (int shift = 60; shift >= 0; shift -= 4) buffer[used++] = "0123456789abcdef"[value >> shift & 15];
  buffer[used++] = end;
}

static void on_illegal(int signal, void* info, struct context* context) {
  (void)signal;
  (void)info;
  uint64_t* x = context->registers;
  const uint64_t counter = x[0];
  uint32_t word = 0; /* instructions are aligned to two bytes */
  for (int i = 0; i < 2; ++i) word |= (uint32_t)((const uint16_t*)counter)[i] << (16 * i);
  const unsigned rs1 = word >> 15 & 31, rs2 = word >> 20 & 31;
  if (used + 64 > sizeof buffer) flush_out();
  write_hex(word, ' ');
  write_hex(rs1 == 0 ? 0 : x[rs1], ' ');
  write_hex(rs2 == 0 ? 0 : x[rs2], '\n');
  if ((word & 0x7f) != 0x7b) { /* not ours: the kernel or this program is broken */
    flush_out();
    system_call(kExit, 99, 0, 0, 0);
  }
  x[0] = counter + 4;
}

/* The format alone, behind "# ": which of its messages the kernel prints. */
int printf(const char* format, ...) {
  if (used + 1024 > sizeof buffer) flush_out();
  buffer[used++] = '#';
  buffer[used++] = ' ';
  for (size_t i = 0; format[i] != '\0' && i < 1000; ++i) buffer[used++] = format[i];
  return 0;
}

int main(void);

void start(void) {
  const struct {
    void (*handler)(int, void*, struct context*);
    unsigned long flags;
    uint64_t mask;
  } action = {on_illegal, kSiginfo, 0};
  if (system_call(kSigaction, kIllegal, (long)&action, 0, 8) != 0) system_call(kExit, 98, 0, 0, 0);
  const int code = main();
  flush_out();
  system_call(kExit, code, 0, 0, 0);
}

/* gp is what the linker's relaxation counts on. */
__asm__(
    ".globl _start\n"
    "_start:\n"
    ".option push\n.option norelax\n"
    "  la gp, __global_pointer$\n"
    ".option pop\n"
    "  andi sp, sp, -16\n"
    "  call start\n");
