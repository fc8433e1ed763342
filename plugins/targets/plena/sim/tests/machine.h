// A small machine and a way to run a few lines of assembly on it, for unit tests.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/plena/sim/assembler.h"
#include "plugins/targets/plena/sim/simulator.h"

namespace zomboss::plena::testing {

// MLEN = VLEN = 8, BLEN = HLEN = 4, two heads; 4 tiles, 64 vector rows, 64 KiB of HBM.
inline Settings small_settings() {
  Settings settings;
  settings.mlen = settings.vlen = 8;
  settings.blen = settings.hlen = 4;
  settings.broadcast = 2;
  settings.matrix_sram_rows = 32;
  settings.vector_sram_rows = 64;
  settings.hbm_bytes = 65536;
  settings.prefetch_m_rows = 8;
  settings.prefetch_v_rows = 2;
  settings.writeback_v_rows = 2;
  return settings;
}

class Machine {
 public:
  explicit Machine(const Settings& settings = small_settings()) : simulator_(*Simulator::create(settings)) {}

  Simulator& simulator() { return simulator_; }

  // Numbers that bf16 holds exactly, row 0 first.
  void set_vectors(const std::vector<float>& values) {
    std::vector<uint8_t> bytes;
    for (const float value : values) {
      const uint32_t code = std::bit_cast<uint32_t>(value) >> 16;
      bytes.push_back(static_cast<uint8_t>(code));
      bytes.push_back(static_cast<uint8_t>(code >> 8));
    }
    simulator_.load_vector_sram(bytes);
  }
  // IEEE half codes from FP SRAM index 0 on.
  void set_halves(const std::vector<uint16_t>& codes) {
    std::vector<uint8_t> bytes;
    for (const uint16_t code : codes) {
      bytes.push_back(static_cast<uint8_t>(code));
      bytes.push_back(static_cast<uint8_t>(code >> 8));
    }
    ASSERT_TRUE(simulator_.load_fp_sram(bytes).ok());
  }

  Status run(const std::string& assembly) {
    const auto words = assemble(assembly, "test.asm");
    if (!words.ok()) return words.status();
    return simulator_.run(*words);
  }
  void must_run(const std::string& assembly) {
    const Status status = run(assembly);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  std::vector<float> row(size_t index, size_t elements = 8) {
    return floats(simulator_.dump_vector_sram(), index * elements, elements);
  }
  float fp(size_t index) { return floats(simulator_.dump_fp_sram(), index, 1)[0]; }
  uint32_t integer(size_t index) {
    const auto bytes = simulator_.dump_int_sram();
    uint32_t value = 0;
    for (size_t n = 0; n < 4; ++n) value |= uint32_t{bytes[4 * index + n]} << (8 * n);
    return value;
  }

 private:
  static std::vector<float> floats(const std::vector<uint8_t>& bytes, size_t first, size_t count) {
    std::vector<float> out;
    for (size_t n = first; n < first + count; ++n) {
      out.push_back(std::bit_cast<float>((uint32_t{bytes[2 * n]} | uint32_t{bytes[2 * n + 1]} << 8) << 16));
    }
    return out;
  }

  Simulator simulator_;
};

}  // namespace zomboss::plena::testing
