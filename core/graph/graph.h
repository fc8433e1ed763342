// The operator graph: an HLO module canonicalised into what accelerators implement. Calls and fusions are
// inlined, dead code is gone, and known spellings are recognised (ops.h). Plain values; a finished Graph is
// not changed, so any thread may read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"
#include "core/hlo/module.h"

namespace zomboss::graph {

using hlo::DType;

// A named property; ops.h says which of the fields an attribute uses.
struct Attribute {
  std::string key;
  std::vector<int64_t> ints;
  std::vector<double> floats;
  std::string text;
  bool operator==(const Attribute&) const = default;
};

struct Node {
  std::string op;                     // an id of ops.h, or the HLO opcode of an operation without a row there
  std::vector<uint32_t> operands;     // indices of earlier nodes
  hlo::Shape shape;                   // without layout
  std::vector<Attribute> attributes;  // sorted by key
  std::string data;                   // of a constant: row-major, little-endian, like hlo::Literal::bytes
  std::string name;                   // of the HLO instruction whose value this is
  Location where;                     // of that instruction

  const Attribute* find(std::string_view key) const;  // null when absent
  // The ints of an attribute; empty when it is absent.
  const std::vector<int64_t>& ints(std::string_view key) const;
  // The only float of an attribute, or `fallback`.
  double number(std::string_view key, double fallback) const;
  std::string_view text(std::string_view key) const;  // "" when absent

  void set(Attribute attribute);  // replaces one of the same key
};

struct Graph {
  std::string name;  // of the HLO module
  std::vector<Node> nodes;
  std::vector<uint32_t> inputs;   // the parameters in order, used or not
  std::vector<uint32_t> outputs;  // the root; of a tuple its elements, depth first

  // One node a line, for tests and reports: "4 = bias s32[8,64] (3, 2) dims={1}  # add.5 at 7:3".
  std::string text() const;
};

}  // namespace zomboss::graph
