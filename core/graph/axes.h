// Names for the dims of several tensors that reshape, transpose and broadcast connect: each dim is a list of
// atoms, major to minor, and a reshape moves or splits atoms. Internal to core/graph.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/rewriter.h"

namespace zomboss::graph {

using Atoms = std::vector<int>;

// A tensor with the atoms of its dims.
struct Labelled {
  uint32_t node = 0;
  std::vector<Atoms> dims;
};

class Axes {
 public:
  int make(int64_t size);  // a new atom
  int64_t size(int atom) const { return sizes_[static_cast<size_t>(atom)]; }

  // The atoms with all that were split replaced by their parts.
  Atoms expand(const Atoms& atoms) const;
  Atoms flatten(const std::vector<Atoms>& dims) const;  // of all dims in order, expanded

  // The same elements under other sizes, splitting atoms where that is needed and `may_split`. A size of 1
  // takes an atom of size 1 when it is next; those that no size takes are dropped. Nothing when the sizes do
  // not fit.
  std::optional<std::vector<Atoms>> regroup(const std::vector<Atoms>& dims, std::span<const int64_t> sizes,
                                            bool may_split);

  // From the result of a transpose, reshape or float convert to its operand; false, changing nothing, at
  // other nodes and at reshapes that do not fit.
  bool step_back(const Rewriter& rewriter, Labelled& tensor, bool may_split);

 private:
  void split(int atom, int64_t minor);

  std::vector<int64_t> sizes_;
  std::vector<std::pair<int, int>> parts_;  // of an atom that was split; else -1
};

}  // namespace zomboss::graph
