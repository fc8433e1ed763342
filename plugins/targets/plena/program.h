// The Program message of this target (format "plena/1": instruction words, little-endian) and what of the
// lowering it carries. Buffers: inputs and constants in the HBM (layout "mxfp8": batch, rows, cols, padded
// rows, padded cols, elements per scale; all scales behind all elements), constants of the FP SRAM (memory
// "fpsram": IEEE halves from slot 0), outputs in the vector SRAM (memory "vram", address in elements; layout
// "panel": rows, tiles, pitch in rows; "dims": the stored tensor's dims; "order": the stored dim of each dim
// of the output). Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/plena/code/assign.h"
#include "plugins/targets/plena/lower/lowerer.h"
#include "plugins/targets/plena/machine_model.h"
#include "plugins/targets/plena/problem/problem.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

inline constexpr std::string_view kProgramFormat = "plena/1";

// Unimplemented when a constant is not what the FP SRAM's file format or the HBM can hold.
Result<wire::ProgramT> make_program(const Problem& problem, const Lowered& lowered, const MachineCode& code,
                                    const std::string& spec_hash);

// A Program's parts, checked: sizes, ranges and layouts are sound. The program may come from anywhere.
struct OutputPlace {
  std::string name;
  wire::TensorTypeT type;
  Panel panel;
  std::vector<int64_t> dims;
  std::vector<size_t> order;
};
struct LoadedProgram {
  std::vector<uint32_t> words;
  std::vector<HbmContent> inputs;  // by buffer; `input` says which
  struct Image {
    uint64_t address = 0;
    std::vector<uint8_t> bytes;
  };
  std::vector<Image> constants;
  std::vector<uint8_t> fp_sram;
  std::vector<OutputPlace> outputs;                     // by output
  std::vector<std::pair<std::string, size_t>> regions;  // name and first word of each stretch of code
};
Result<LoadedProgram> read_program(const wire::ProgramT& program, const Machine& machine);

// binary32 to IEEE binary16, to nearest, ties to even; overflow gives an infinity.
uint16_t half_of(float value);

}  // namespace zomboss::plena
