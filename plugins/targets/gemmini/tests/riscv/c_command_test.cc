// Registers as C writes them: numbers with all their bits, addresses as places in arrays.
#include "plugins/targets/gemmini/c_command.h"

#include <gtest/gtest.h>

#include <memory>

#include "plugins/targets/gemmini/sim/loop_command.h"

namespace zomboss::gemmini {
namespace {

// An input at 0x1000 and an output at 0x2000, 256 bytes each.
wire::ProgramT two_buffers() {
  wire::ProgramT program;
  for (const uint64_t address : {0x1000, 0x2000}) {
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->role = address == 0x1000 ? wire::BufferRole::Input : wire::BufferRole::Output;
    buffer->address = address;
    buffer->bytes = 256;
    program.buffers.push_back(std::move(buffer));
  }
  return program;
}

std::string statement(const Command& command) {
  const auto text = c_statement(two_buffers(), command);
  return text.ok() ? *text : text.status().message();
}

TEST(CCommand, NumbersKeepTheirBits) {
  EXPECT_EQ(statement({9, 0x80000000u, 0xffffffffffffffffu}),
            "ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, 0x80000000ull, 0xffffffffffffffffull, 9);");
  EXPECT_EQ(statement({2, 0x1010, encode_operand({0x80000005u, 16, 32})}),
            "gemmini_extended_mvin((int8_t *)input_0 + 16, 0x80000005u, 32, 16);");
  EXPECT_EQ(statement(fence()), "gemmini_fence();");
}

TEST(CCommand, LoopsHaveTwoAddresses) {
  const auto funct = [](Funct which) { return static_cast<uint32_t>(which); };
  EXPECT_EQ(statement({funct(Funct::kLoopWsAddressDC), 0, 0x2008}),
            "ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, 0x0ull, (uintptr_t)output_0 + 8, 11);");
  // A bias at 1 is one that the hardware does not read.
  EXPECT_EQ(statement({funct(Funct::kLoopConvAddressBI), 1, 0x10ff}),
            "ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, 0x1ull, (uintptr_t)input_0 + 255, 21);");
  // Strides are numbers, whatever they look like.
  EXPECT_EQ(statement({funct(Funct::kLoopWsStrideAB), 0x1000, 0x2000}),
            "ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, 0x1000ull, 0x2000ull, 12);");
}

TEST(CCommand, AnAddressInNoBufferIsRefused) {
  EXPECT_EQ(statement({3, 0x2100, encode_operand({0, 1, 1})}), "gemmini: the address 0x2100 is in no buffer");
  EXPECT_EQ(statement({10, 0x1000, 0x1800}), "gemmini: the address 0x1800 is in no buffer");
}

}  // namespace
}  // namespace zomboss::gemmini
