#include "plugins/targets/plena/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "plugins/targets/plena/import.h"
#include "plugins/targets/plena/program.h"
#include "plugins/targets/plena/sim/assembler.h"
#include "plugins/targets/plena/simulate.h"

namespace zomboss::plena {
namespace {

void add_file(wire::FilesT& files, std::string path, std::vector<uint8_t> content, std::string purpose,
              bool importable = false) {
  auto file = std::make_unique<wire::FileT>();
  file->path = std::move(path);
  file->content = std::move(content);
  file->purpose = std::move(purpose);
  file->importable = importable;
  files.files.push_back(std::move(file));
}
std::vector<uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

std::string settings_text(const Machine& m) {
  const Latencies& l = m.latencies;
  std::string text = "# The machine that the kernel was made for, in the emulator's layout.\n";
  const auto config = [&](std::string_view key, uint64_t value) {
    text += fmt::format("[TRANSACTIONAL.CONFIG.{}]\nvalue = {}\n", key, value);
  };
  config("DC_EN", 1);
  config("MAX_LOOP_INSTRUCTIONS", m.max_loop);
  config("BLEN", m.blen);
  config("HLEN", m.hlen);
  config("MLEN", m.mlen);
  config("VLEN", m.vlen);
  config("BROADCAST_AMOUNT", m.broadcast_amount);
  config("HBM_SIZE", m.hbm_bytes);
  config("MATRIX_SRAM_SIZE", uint64_t{m.mram_tiles} * m.mlen);
  config("VECTOR_SRAM_SIZE", m.vram_rows);
  config("HBM_M_Prefetch_Amount", m.prefetch_m_rows);
  config("HBM_V_Prefetch_Amount", m.prefetch_v_rows);
  config("HBM_V_Writeback_Amount", m.writeback_v_rows);
  const std::string bf16 =
      "[TRANSACTIONAL.PRECISION.{0}]\nformat = \"Plain\"\n[TRANSACTIONAL.PRECISION.{0}.DATA_TYPE]\n"
      "type = \"Fp\"\nsign = true\nexponent = 8\nmantissa = 7\n";
  for (const char* key : {"MATRIX_SRAM_TYPE", "VECTOR_SRAM_TYPE", "SCALAR_FP"})
    text += fmt::format(fmt::runtime(bf16), key);
  for (const char* key : {"HBM_M_WEIGHT_TYPE", "HBM_M_KV_TYPE", "HBM_V_ACT_TYPE", "HBM_V_KV_TYPE"}) {
    text += fmt::format(
        "[TRANSACTIONAL.PRECISION.{0}]\nformat = \"Mx\"\nblock = {1}\n"
        "[TRANSACTIONAL.PRECISION.{0}.ELEM]\ntype = \"Fp\"\nsign = true\nexponent = 4\nmantissa = 3\n"
        "[TRANSACTIONAL.PRECISION.{0}.SCALE]\ntype = \"Fp\"\nsign = false\nexponent = 8\nmantissa = 0\n",
        key, m.mx_block);
  }
  text +=
      "[TRANSACTIONAL.PRECISION.HBM_V_INT_TYPE]\nformat = \"Plain\"\n"
      "[TRANSACTIONAL.PRECISION.HBM_V_INT_TYPE.DATA_TYPE]\ntype = \"Int\"\nwidth = 32\n";
  const auto latency = [&](std::string_view key, uint32_t value) {
    text += fmt::format("[TRANSACTIONAL.LATENCY.{}]\ndc_lib_en = {}\ndc_lib_dis = {}\n", key, value, value);
  };
  latency("SYSTOLIC_PROCESSING_OVERHEAD", l.systolic_overhead);
  latency("VECTOR_ADD_CYCLES", l.vector_add);
  latency("VECTOR_MUL_CYCLES", l.vector_mul);
  latency("VECTOR_EXP_CYCLES", l.vector_exp);
  latency("VECTOR_PREFIX_SCAN_CYCLES", 9);
  latency("VECTOR_SHIFT_CYCLES", 1);
  latency("VECTOR_RECI_CYCLES", l.vector_reci);
  latency("VECTOR_MAX_CYCLES", l.vector_max);
  latency("VECTOR_SUM_CYCLES", l.vector_sum);
  latency("SCALAR_FP_LONGEST_OPERATE_CYCLES", 4);
  latency("SCALAR_FP_BASIC_CYCLES", l.scalar_fp_basic);
  latency("SCALAR_FP_EXP_CYCLES", l.scalar_fp_exp);
  latency("SCALAR_FP_SQRT_CYCLES", l.scalar_fp_sqrt);
  latency("SCALAR_FP_RECI_CYCLES", l.scalar_fp_reci);
  latency("SCALAR_INT_BASIC_CYCLES", l.scalar_int_basic);
  return text;
}

}  // namespace

Result<wire::FilesT> export_files(const wire::ProgramT& program, const Machine& machine,
                                  const wire::TensorsT& inputs, uint64_t instruction_limit) {
  ZB_ASSIGN(const LoadedProgram loaded, read_program(program, machine));
  ZB_ASSIGN(const std::string assembly, print_program(program, machine));
  ZB_ASSIGN(const std::vector<uint8_t> hbm, hbm_image(loaded, inputs));
  ZB_ASSIGN(const RunResult run, run_program(program, inputs, machine, instruction_limit));
  wire::FilesT files;
  add_file(files, "kernel.asm", bytes_of(assembly), "the kernel in the official assembler's syntax", true);
  add_file(files, "kernel.mem", bytes_of(print_mem(loaded.words)), "its instruction words, for --opcode");
  add_file(files, "hbm.bin", hbm, "inputs and constants, for --hbm");
  add_file(files, "fpsram.bin", loaded.fp_sram, "constants of the FP SRAM as IEEE halves, for --fpsram");
  add_file(files, "intsram.bin", {}, "the INT SRAM, which the kernel does not read, for --intsram");
  add_file(files, "plena_settings.toml", bytes_of(settings_text(machine)), "the machine, for --settings");
  add_file(files, "run.txt",
           bytes_of("transactional_emulator --opcode kernel.mem --hbm hbm.bin --fpsram fpsram.bin --intsram "
                    "intsram.bin "
                    "--settings plena_settings.toml\n"),
           "the official emulator's command line; it writes vram_dump.bin");
  add_file(files, "expected_vram.bin", run.vram, "the first bytes of vram_dump.bin");
  std::string expected = fmt::format("latency {} ns\n", run.simulation.latency);
  for (const OutputPlace& place : loaded.outputs) {
    expected += fmt::format(
        "{}: from byte {} of vram_dump.bin, bf16 rows of {}; {} rows, {} tiles of columns {} rows apart\n",
        place.name, place.panel.first * place.panel.width * 2, place.panel.width, place.panel.rows,
        place.panel.tiles, place.panel.pitch);
  }
  add_file(files, "expected.txt", bytes_of(expected),
           "what the emulator must report, and where the outputs lie");
  return files;
}

}  // namespace zomboss::plena
