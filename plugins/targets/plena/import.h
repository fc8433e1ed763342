// Programs as text: the official assembler's syntax, with directives in comments that say where tensors are.
//
//   ;@ input 0 hbm=0 mxfp8=1,4,64,4,64,8         address; batch, rows, cols, padded rows, padded cols, block
//   ;@ constant identity hbm=9216 mxfp8=1,64,64,64,64,8
//   ;@ data 0 3f003f...                           bytes of the constant above, from this offset on; others
//   are 0
//   ;@ scratch keys hbm=13824 mxfp8=1,64,64,64,64,8
//   ;@ fp 16 1 -inf                               the FP SRAM, from slot 0
//   ;@ output 0 vram=0 panel=4,1,4 dims=4,64 order=0,1   address in elements; rows, tiles, pitch; stored
//   dims;
//                                                 the stored dim of each dim of the output
//   ;@ region q_proj                              the code from here on, in profiles
//
// Inputs without a directive lie as `default_inputs` puts them: one after the other, matrices padded to
// tiles. print_program writes the same text. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "plugins/targets/plena/machine_model.h"
#include "plugins/targets/plena/problem/problem.h"
#include "zomboss/schema/program_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

// Errors read "NAME:LINE:COL: error: ...".
Result<wire::ProgramT> parse_program(const Problem& problem, const Machine& machine,
                                     const std::string& spec_hash, std::string_view name,
                                     std::string_view text);

Result<std::string> print_program(const wire::ProgramT& program, const Machine& machine);

}  // namespace zomboss::plena
