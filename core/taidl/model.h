// A Spec with its parameters fixed: every declaration is a number, every expression of an instruction has the
// parameters replaced by their values. Plain values; a Model that is not changed may be read by any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hlo/module.h"
#include "core/taidl/expr.h"
#include "core/taidl/spec.h"

namespace zomboss::taidl {

// Never empty. `values` (sorted, distinct) when it is a list; otherwise low, low + step, .., at most high.
struct Domain {
  int64_t low = 0, high = 0, step = 1;
  std::vector<int64_t> values;
  bool any = false;  // every 64-bit integer; low and high are the limits of the type

  bool contains(int64_t value) const;
  uint64_t size() const;             // saturates at 2^63
  int64_t at(uint64_t index) const;  // index < size(), not for `any`
  int64_t last() const;              // the largest value
};

struct Param {
  std::string name;
  int64_t value = 0;
  bool overridden = false;
};

// Number format of a memory or register: an HLO type, or block-scaled (`block` != 0) with `dtype` the element
// type. A unit of a block-scaled memory has one scale per `block` elements, rounded up.
struct Format {
  std::string name;
  hlo::DType dtype = hlo::DType::Invalid;
  int64_t block = 0;
  hlo::DType scale = hlo::DType::Invalid;

  hlo::DType value_dtype() const;  // of the values that semantics see: f32 for block-scaled formats
};

struct Memory {
  std::string name;
  Format format;
  int64_t rows = 0;  // units; 0 = unbounded
  std::vector<int64_t> unit_dims;
  int64_t unit_bytes = 0;
  int64_t banks = 1, align = 1;
  bool offchip = false;
  Location where;
};

struct Regfile {
  std::string name;
  Format format;
  int64_t count = 0;
  int64_t zero = -1;  // register that is always zero, or -1
  Location where;
};

struct State {
  std::string name;
  std::optional<hlo::Shape> shape;  // of a tensor state
  Domain domain;                    // of an integer state
  double initial = 0;               // of a tensor: of every element
  StateRole role = StateRole::kPlain;
  Location where;
};

struct Operand {
  std::string name;
  OperandKind kind = OperandKind::kInteger;
  std::string base;   // memory or register file
  Domain domain;      // legal values: addresses by alignment, register numbers, integers, 0..2^bits-1
  int64_t align = 1;  // of an address
  int64_t bits = 0;   // of an immediate
};

struct Instr {
  std::string name;
  std::string engine;  // "" when none is named
  std::vector<Operand> operands;
  std::vector<Clause> clauses;
  Location where;
};

struct Rule {
  std::string name;
  Expr condition;
  std::string message;  // `{expr}` parts that are constant are replaced by their value
  Location where, message_where;
};

struct Hwloop {
  std::string name, begin, end;
  int64_t depth = 0;
  std::string counter;  // register file of the trip counter; "" when none is named
  int64_t body = 0;     // most instructions that one trip executes; 0 = unlimited
  Domain count;
};

struct Model {
  std::string target, title;
  std::string profile;  // "" when the parameters are as declared
  std::string storage;  // format of tensors off-chip unless a contract says otherwise; "" when none is given
  std::string hash;     // of the canonical text with the overrides applied
  std::vector<Param> params;
  std::vector<std::string> engines;
  std::vector<Memory> memories;
  std::vector<Regfile> regfiles;
  std::vector<State> states;
  std::vector<Instr> instrs;
  std::vector<Hwloop> hwloops;
  std::vector<Rule> rules;
  Location where;

  const Param* find_param(std::string_view name) const;
  const Memory* find_memory(std::string_view name) const;
  const Regfile* find_regfile(std::string_view name) const;
  const State* find_state(std::string_view name) const;
  const Instr* find_instr(std::string_view name) const;
};

using Overrides = std::vector<std::pair<std::string, int64_t>>;

// Reads "NAME=INTEGER" (decimal or 0x..), as after --param.
Result<std::pair<std::string, int64_t>> parse_override(std::string_view text);

// Resolves and evaluates the declarations. An override must name a parameter and lie in its domain;
// parameters computed from it follow. Names inside of instructions are resolved by check_model (checker.h).
// `diagnostics` must belong to the Source of the spec.
Result<Model> instantiate(const Spec& spec, std::span<const std::pair<std::string, int64_t>> overrides,
                          Diagnostics& diagnostics);

// parse_spec + instantiate + check_model. Warnings stay in `diagnostics`.
Result<Model> load_model(const Source& source, std::span<const std::pair<std::string, int64_t>> overrides,
                         Diagnostics& diagnostics);

}  // namespace zomboss::taidl
