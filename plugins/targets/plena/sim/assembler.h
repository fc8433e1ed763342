// Text to instruction words and back, in the official assembler's syntax: one instruction a line, a mnemonic
// and comma separated operands (gpN, fN, aN, decimal integers), comments from ';' or "//". Own extension:
// ".word 0x..." stands for itself. Pure functions, usable from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "zomboss/sdk/status.h"

namespace zomboss::plena {

// Errors read "NAME:LINE:COL: error: ..." with a hint. As in the official assembler any register kind may
// stand where a register is wanted: only its number is encoded.
Result<std::vector<uint32_t>> assemble(std::string_view text, std::string_view name);

// The line that assembles to `word`, or ".word 0x..." when no instruction does.
std::string disassemble(uint32_t word);
// One line per word, each ended by a newline.
std::string disassemble_program(std::span<const uint32_t> words);

// The hex words of an opcode file (.mem): separated by white space, each with or without 0x, at most 32 bits.
Result<std::vector<uint32_t>> parse_mem(std::string_view text, std::string_view name);
// The opcode file as the official assembler writes it: "0x%08X", one a line.
std::string print_mem(std::span<const uint32_t> words);

}  // namespace zomboss::plena
