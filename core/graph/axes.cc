#include "core/graph/axes.h"

#include <utility>

#include "core/graph/match.h"

namespace zomboss::graph {

int Axes::make(int64_t size) {
  sizes_.push_back(size);
  parts_.emplace_back(-1, -1);
  return static_cast<int>(sizes_.size()) - 1;
}

void Axes::split(int atom, int64_t minor) {
  const int64_t size = sizes_[static_cast<size_t>(atom)];
  const int first = make(size / minor);
  const int second = make(minor);
  parts_[static_cast<size_t>(atom)] = {first, second};
}

Atoms Axes::expand(const Atoms& atoms) const {
  Atoms expanded;
  Atoms stack(atoms.rbegin(), atoms.rend());
  while (!stack.empty()) {
    const int atom = stack.back();
    stack.pop_back();
    const auto [first, second] = parts_[static_cast<size_t>(atom)];
    if (first < 0) {
      expanded.push_back(atom);
    } else {
      stack.push_back(second);
      stack.push_back(first);
    }
  }
  return expanded;
}

Atoms Axes::flatten(const std::vector<Atoms>& dims) const {
  Atoms flat;
  for (const Atoms& dim : dims) {
    const Atoms expanded = expand(dim);
    flat.insert(flat.end(), expanded.begin(), expanded.end());
  }
  return flat;
}

std::optional<std::vector<Atoms>> Axes::regroup(const std::vector<Atoms>& dims,
                                                std::span<const int64_t> sizes, bool may_split) {
  const Atoms flat = flatten(dims);
  Atoms pending(flat.rbegin(), flat.rend());
  std::vector<Atoms> result(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] <= 0) return std::nullopt;
    if (sizes[d] == 1) {
      if (pending.empty() || size(pending.back()) != 1) continue;
      result[d].push_back(pending.back());
      pending.pop_back();
      continue;
    }
    for (int64_t left = sizes[d]; left != 1;) {
      if (pending.empty()) return std::nullopt;
      const int atom = pending.back();
      pending.pop_back();
      if (size(atom) == 1) continue;
      if (size(atom) > left) {  // only its major part belongs here
        if (!may_split || size(atom) % left != 0) return std::nullopt;
        split(atom, size(atom) / left);
        pending.push_back(parts_[static_cast<size_t>(atom)].second);
        result[d].push_back(parts_[static_cast<size_t>(atom)].first);
        left = 1;
      } else {
        if (left % size(atom) != 0) return std::nullopt;
        result[d].push_back(atom);
        left /= size(atom);
      }
    }
  }
  for (const int atom : pending) {
    if (size(atom) != 1) return std::nullopt;
  }
  return result;
}

bool Axes::step_back(const Rewriter& rewriter, Labelled& tensor, bool may_split) {
  const Node& node = rewriter.node(tensor.node);
  if (node.op == "transpose") {
    const std::vector<int64_t>& dims = node.ints("dims");
    std::vector<Atoms> before(dims.size());
    for (size_t d = 0; d < dims.size(); ++d) before[static_cast<size_t>(dims[d])] = tensor.dims[d];
    tensor.dims = std::move(before);
  } else if (node.op == "reshape") {
    Axes tried = *this;
    auto dims =
        tried.regroup(tensor.dims, rewriter.node(rewriter.operand(tensor.node, 0)).shape.dims, may_split);
    if (!dims) return false;
    *this = std::move(tried);
    tensor.dims = *std::move(dims);
  } else if (!is_float_convert(rewriter, tensor.node)) {
    return false;
  }
  tensor.node = rewriter.operand(tensor.node, 0);
  return true;
}

}  // namespace zomboss::graph
