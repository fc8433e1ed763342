// The reference result of a workload, computed from the HLO alone. It shares no code with any target and does
// not look at the operator graph. All functions are pure; any thread may call them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"
#include "core/hlo/module.h"
#include "core/oracle/tensor.h"
#include "zomboss/sdk/status.h"

namespace zomboss::oracle {

// Integers are always exact and wrap at their width. Floats are always computed in f64; this says when they
// are rounded (to nearest, ties to even).
enum class Rounding : uint8_t {
  // The result of each operation is rounded to its declared type. For f32 operands + - * / and sqrt are then
  // the exact f32 operations, because f64 has more than twice the bits; exponentials and the like are those
  // of
  // the C library in f64, rounded. Dots, convolutions and reductions accumulate in f64 in index order and are
  // rounded once. The choice when the result must match bit for bit, e.g. integer outputs.
  kDeclared,
  // Floats stay f64 from operation to operation and are rounded where the program says so: parameters,
  // constants, a `convert` to a type that cannot hold every value of its source, and outputs. The choice for
  // outputs that are compared within a tolerance.
  kWide,
};

// A value that is kept in memory in a storage format on its way to its users, e.g. the keys of an attention
// in a KV cache: the instruction with this name and place.
struct StoredValue {
  std::string name;
  Location where;
  int64_t dim = 0;  // along which the blocks of the format lie
  bool operator==(const StoredValue&) const = default;
};

struct Options {
  Rounding rounding = Rounding::kDeclared;
  // Limit for the values that are alive at one time; every element takes 8 bytes while it is computed with.
  int64_t byte_limit = int64_t{4} << 30;
  // Limit for multiply-adds, element operations and the like: ends loops that do not end, about a minute or
  // two.
  int64_t work_limit = int64_t{1} << 37;
  std::string source_name = {};  // for messages; the module's name when empty
  // Values that go through round_store (storage.h) after they are computed; they must be arrays of floats.
  // One entry for each time that the entry computation reaches the instruction, so that a helper that is
  // called for other values as well is refused and not rounded for those.
  std::vector<StoredValue> stored = {};
};

// Evaluates the entry computation. `module` is as parse_module returned it. `inputs` are the parameters in
// order; a tuple parameter takes one tensor per array, depth first, and a tuple result is flattened likewise.
// Fails with
// - invalid argument: inputs that do not fit the parameters, elided constants, or a stored value that is no
//   array of floats of the module;
// - unimplemented: all operations that the oracle does not know, each with file:line:col; a stored value in a
//   computation that is called for other values too, or in a loop, branch or reducer;
// - resource exhausted: a limit of Options, or memory; nesting of calls beyond 200.
Result<std::vector<Tensor>> evaluate(const hlo::Module& module, std::span<const Tensor> inputs,
                                     const Options& options = {});

// Adds an error for everything in `module` that evaluate() would refuse whatever the inputs: operations and
// element types that the oracle does not know, elided constants, dynamic dimensions. Code that the entry
// computation's root does not need is not looked at.
void check_evaluable(const hlo::Module& module, Diagnostics& diagnostics);

// True when the oracle has a rule for the opcode.
bool knows_opcode(std::string_view opcode);

}  // namespace zomboss::oracle
