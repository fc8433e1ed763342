// XLA HLO text to a Module. See docs/hlo.md for what is accepted, refused and warned about.
// All functions here are pure apart from the Diagnostics they fill; any thread may call them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/base/source.h"
#include "core/hlo/module.h"
#include "zomboss/sdk/status.h"

namespace zomboss::hlo {

// Parses and checks one module. Time and memory are linear in the size of the text. Warnings stay in
// `diagnostics`; after an error (at most 20 are collected) the result is diagnostics.status().
Result<Module> parse_module(const Source& source, Diagnostics& diagnostics);

// What the free names of a statement block mean. All is borrowed for the duration of the call.
struct StatementScope {
  // Every entry becomes parameter(i) of the entry computation, whether the block uses it or not.
  std::span<const std::pair<std::string, Shape>> tensors;
  // Value of the integer expression source.text()[begin, end), which has no blanks or comments at its ends
  // and is not a plain number. A failing call has added an error to the Diagnostics itself. May be empty:
  // then only numbers are taken.
  std::function<std::optional<int64_t>(size_t begin, size_t end)> evaluate;
};

// Parses and checks source.text()[begin, end) as a sequence of HLO instruction statements without `ENTRY name
// {}` and without parameters: the meaning of a machine instruction. Differences from a computation body:
// - dimensions, numbers in attributes and scalar constants may be expressions (`s32[n*2,DIM]`,
//   `slice={[0:n]}`, `constant(shift)`), evaluated by `scope.evaluate`;
// - a statement may end with ';', and '#' starts a comment that runs to the end of the line (except in
// `x#1`);
// - to_apply may name the reducers add, multiply, maximum, minimum, and, or; they become computations of the
//   operand's element type.
// The entry computation of the result, "block", holds the parameters first, then one instruction per
// statement under its name (find_instruction); its root is the ROOT or last statement. Locations are those of
// `source`. Light enough to call once per attribute assignment. An empty block is an error.
Result<Module> parse_statements(const Source& source, size_t begin, size_t end, const StatementScope& scope,
                                Diagnostics& diagnostics);

// Index of the instruction of that name. Linear.
std::optional<uint32_t> find_instruction(const Computation& computation, std::string_view name);

}  // namespace zomboss::hlo
