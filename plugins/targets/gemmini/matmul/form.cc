#include "plugins/targets/gemmini/matmul/form.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace zomboss::gemmini {
namespace {

constexpr int64_t kMaxSteps = 16'000'000;
constexpr double kMaxRuns = 1'000'000;  // of one axis

constexpr std::array<Tensor, kTensors> kAll = {kA, kB, kC, kD};
constexpr std::array<const char*, kTensors> kNames = {"a", "b", "c", "d"};

// A loop of the matmul with its stride in each tensor (elements; 0 where the tensor does not have it).
struct Loop {
  int64_t extent = 1;
  Offsets stride = {};
};
using Loops = std::array<std::vector<Loop>, 4>;  // by DimKind

constexpr size_t kind_index(DimKind kind) {
  return static_cast<size_t>(kind);
}

// Gives `tensor` a dense layout of its own, batch dimensions first and its unit dimension last, and returns
// the loops between old and new place.
std::vector<CopyLoop> relay(std::vector<MatmulDim>& dims, Tensor tensor, int64_t* elements) {
  std::vector<CopyLoop> copies;
  int64_t stride = 1;
  for (DimKind kind : {DimKind::kK, DimKind::kN, DimKind::kM, DimKind::kBatch}) {
    // B keeps its columns innermost, A its contraction.
    const DimKind wanted = tensor != kB          ? kind
                           : kind == DimKind::kK ? DimKind::kN
                           : kind == DimKind::kN ? DimKind::kK
                                                 : kind;
    if (!has_dim(tensor, wanted)) continue;
    for (size_t i = dims.size(); i-- > 0;) {
      if (dims[i].kind != wanted) continue;
      Dim& old = dims[i].of[tensor];
      const int64_t extent = extent_of(old);
      int64_t inside = stride;
      for (size_t f = old.size(); f-- > 0;) {
        copies.push_back({old[f].extent, old[f].stride, inside});
        inside *= old[f].extent;
      }
      old = extent == 1 ? Dim{} : Dim{{extent, stride}};
      stride *= extent;
    }
  }
  *elements = stride;
  std::reverse(copies.begin(), copies.end());
  return copies;
}

std::optional<Loops> split_loops(const FormInput& input, const std::vector<MatmulDim>& dims) {
  Loops loops;
  for (const MatmulDim& dim : dims) {
    std::vector<Tensor> tensors;
    std::vector<Dim> spelled;
    for (Tensor tensor : kAll) {
      if (!has_dim(tensor, dim.kind) || (tensor == kD && !input.has_bias)) continue;
      tensors.push_back(tensor);
      spelled.push_back(dim.of[tensor]);
    }
    const auto shared = refined(spelled);
    if (!shared) return std::nullopt;
    for (const SharedLoop& from : *shared) {
      Loop loop{from.extent, {}};
      for (size_t t = 0; t < tensors.size(); ++t) loop.stride[tensors[t]] = from.strides[t];
      loops[kind_index(dim.kind)].push_back(loop);
    }
  }
  return loops;
}

// Joins loops of one kind that one loop can walk in every tensor.
void merge_loops(std::vector<Loop>& loops) {
  const auto joins = [](const Loop& outer, const Loop& inner) {
    for (Tensor t : kAll)
      if (outer.stride[t] != inner.extent * inner.stride[t]) return false;
    return true;
  };
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < loops.size() && !again; ++i) {
      for (size_t j = 0; j < loops.size() && !again; ++j) {
        if (i == j || !joins(loops[i], loops[j])) continue;
        loops[j].extent *= loops[i].extent;
        loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(i));
        again = true;
      }
    }
  }
}

Axis make_axis(const FormInput& input, const std::vector<Loop>& loops, const Loop* inner) {
  Axis axis;
  axis.dim = input.dim;
  const auto bytes = [&](Tensor t, int64_t elements) { return elements * input.element_bytes[t]; };
  if (inner != nullptr) {
    axis.run_extent = inner->extent;
    for (Tensor t : kAll) axis.stride[t] = bytes(t, inner->stride[t]);
  }
  for (const Loop& loop : loops) {
    if (&loop == inner) continue;
    std::vector<Offsets> next;
    for (const Offsets& start : axis.runs) {
      for (int64_t i = 0; i < loop.extent; ++i) {
        Offsets at = start;
        for (Tensor t : kAll) at[t] += bytes(t, i * loop.stride[t]);
        next.push_back(at);
      }
    }
    axis.runs = std::move(next);
  }
  return axis;
}

const Loop* unit_loop(const std::vector<Loop>& loops, Tensor tensor) {
  for (const Loop& loop : loops)
    if (loop.stride[tensor] == 1) return &loop;
  return nullptr;
}

const Loop* largest_loop(const std::vector<Loop>& loops) {
  const Loop* best = nullptr;
  for (const Loop& loop : loops)
    if (best == nullptr || loop.extent > best->extent) best = &loop;
  return best;
}

bool few_runs(const std::vector<Loop>& loops, const Loop* inner) {
  double runs = 1;
  for (const Loop& loop : loops) runs *= &loop == inner ? 1.0 : static_cast<double>(loop.extent);
  return runs <= kMaxRuns;
}

// Chooses the inner loops; false when some tensor has no unit-stride loop where the array needs one.
bool choose_axes(const FormInput& input, const Loops& loops, Form* form) {
  const auto& m = loops[kind_index(DimKind::kM)];
  const auto& n = loops[kind_index(DimKind::kN)];
  const auto& k = loops[kind_index(DimKind::kK)];
  // Extents of 1 left no loop: then any stride will do.
  const Loop* n_inner = unit_loop(n, kC);
  if (!n.empty() && (n_inner == nullptr || (input.has_bias && n_inner->stride[kD] != 1))) return false;
  const Loop* k_inner = nullptr;
  const Loop* m_inner = nullptr;
  if (n_inner == nullptr || n_inner->stride[kB] == 1) {
    k_inner = k.empty() ? nullptr : unit_loop(k, kA);
    if (!k.empty() && k_inner == nullptr) {
      m_inner = unit_loop(m, kA);
      if (!m.empty() && m_inner == nullptr) return false;
      form->a_transposed = true;
      k_inner = largest_loop(k);
    }
  } else {
    k_inner = unit_loop(k, kB);
    if (!k.empty() && (k_inner == nullptr || k_inner->stride[kA] != 1)) return false;
    form->b_transposed = true;
  }
  if (m_inner == nullptr) m_inner = largest_loop(m);
  if (!few_runs(m, m_inner) || !few_runs(n, n_inner) || !few_runs(k, k_inner)) return false;
  form->m = make_axis(input, m, m_inner);
  form->n = make_axis(input, n, n_inner);
  form->k = make_axis(input, k, k_inner);
  form->batches = make_axis(input, loops[kind_index(DimKind::kBatch)], nullptr).runs;
  return true;
}

FormInput exchanged_operands(FormInput input) {
  std::swap(input.buffer[kA], input.buffer[kB]);
  std::swap(input.element_bytes[kA], input.element_bytes[kB]);
  for (MatmulDim& dim : input.dims) {
    std::swap(dim.of[kA], dim.of[kB]);
    if (dim.kind == DimKind::kM)
      dim.kind = DimKind::kN;
    else if (dim.kind == DimKind::kN)
      dim.kind = DimKind::kM;
  }
  return input;
}

// The form in which exactly the tensors of `relaid` (a bit each) are rearranged.
std::optional<Form> make_form(const FormInput& input, unsigned relaid) {
  Form form;
  form.buffer = input.buffer;
  form.element_bytes = input.element_bytes;
  form.has_bias = input.has_bias;
  std::vector<MatmulDim> dims = input.dims;
  for (Tensor tensor : kAll) {
    if ((relaid >> tensor & 1) == 0) continue;
    int64_t elements = 0;
    Copy copy;
    copy.loops = relay(dims, tensor, &elements);
    copy.element_bytes = input.element_bytes[tensor];
    const uint32_t scratch = input.buffers + static_cast<uint32_t>(form.scratch.size());
    form.scratch.push_back({fmt::format("relaid_{}", kNames[tensor]), elements, copy.element_bytes});
    copy.source = tensor == kC ? scratch : input.buffer[tensor];
    copy.target = tensor == kC ? input.buffer[tensor] : scratch;
    if (tensor == kC)
      for (CopyLoop& loop : copy.loops) std::swap(loop.source_stride, loop.target_stride);
    form.buffer[tensor] = scratch;
    form.copied_elements += elements;
    (tensor == kC ? form.after : form.before).push_back(std::move(copy));
  }
  auto loops = split_loops(input, dims);
  if (!loops) return std::nullopt;
  for (auto& kind : *loops) merge_loops(kind);
  if (!choose_axes(input, *loops, &form)) return std::nullopt;
  return form;
}

// Array cycles and DRAM row requests, with rearranged elements far dearer than either.
double rank(const Form& form) {
  const auto batches = static_cast<double>(form.batches.size());
  const auto runs = [](const Axis& axis) { return static_cast<double>(axis.blocks()); };
  const auto rows = [](const Axis& axis) { return static_cast<double>(axis.elements()); };
  const double steps = static_cast<double>(form.steps()) * form.m.dim * (form.b_transposed ? 2 : 1);
  const double a = form.a_transposed ? rows(form.k) * runs(form.m) : rows(form.m) * runs(form.k);
  const double b = form.b_transposed ? rows(form.n) * runs(form.k) : rows(form.k) * runs(form.n);
  const double c = rows(form.m) * runs(form.n);
  return steps + batches * (a + b + 2 * c) + 8.0 * static_cast<double>(form.copied_elements);
}

std::optional<Form> best_form(const FormInput& input) {
  std::optional<Form> best;
  for (unsigned relaid = 0; relaid < 16; ++relaid) {
    if ((relaid >> kD & 1) != 0 && !input.has_bias) continue;
    auto form = make_form(input, relaid);
    if (form && (!best || rank(*form) < rank(*best))) best = std::move(form);
  }
  return best;
}

// Whole blocks only: folding must not cost array steps. Worth it where a row of A or C is shorter than a
// move.
std::optional<Form> folded(const Form& form, int64_t fold, int64_t widest) {
  const Axis& m = form.m;
  const auto dense = [&](Tensor tensor, const Axis& columns) {
    const int64_t row = columns.elements() * form.element_bytes[tensor];
    return columns.runs.size() == 1 && columns.elements() % columns.dim == 0 && m.stride[tensor] == row &&
           row * fold <= widest;
  };
  if (form.a_transposed || m.runs.size() != 1 || m.run_extent % (fold * m.dim) != 0) return std::nullopt;
  if (!dense(kA, form.k) && !(form.element_bytes[kC] == 1 && dense(kC, form.n))) return std::nullopt;
  Form result = form;
  result.fold = fold;
  result.m.run_extent = m.run_extent / fold;
  result.m.runs.clear();
  for (int64_t r = 0; r < fold; ++r) {
    Offsets start = m.runs.front();
    for (Tensor tensor : kAll) start[tensor] += r * m.stride[tensor];
    result.m.runs.push_back(start);
  }
  for (Tensor tensor : kAll) result.m.stride[tensor] *= fold;
  return result;
}

}  // namespace

bool has_dim(Tensor tensor, DimKind kind) {
  switch (kind) {
    case DimKind::kBatch:
      return true;
    case DimKind::kM:
      return tensor != kB;
    case DimKind::kN:
      return tensor != kA;
    case DimKind::kK:
      return tensor == kA || tensor == kB;
  }
  return false;
}

uint32_t Axis::extent(int64_t block) const {
  const int64_t start = block % blocks_per_run() * dim;
  return static_cast<uint32_t>(std::min<int64_t>(dim, run_extent - start));
}

int64_t Axis::offset(Tensor tensor, int64_t block) const {
  const auto run = static_cast<size_t>(block / blocks_per_run());
  return runs[run][tensor] + block % blocks_per_run() * dim * stride[tensor];
}

Result<std::vector<Form>> make_forms(const FormInput& input) {
  // The array steps needed are at least this many, whatever the form: refuse before tables of that size are
  // made.
  double steps = 1;
  for (const MatmulDim& dim : input.dims) {
    const auto extent = static_cast<double>(extent_of(dim.of[dim.kind == DimKind::kN ? kB : kA]));
    steps *= dim.kind == DimKind::kBatch ? extent : std::max(1.0, extent / input.dim);
  }
  if (steps > kMaxSteps) {
    return resource_exhausted(
        fmt::format("gemmini: the product needs {:.0f} array steps; at most {} are scheduled, cut it into "
                    "smaller products",
                    steps, kMaxSteps));
  }
  std::vector<Form> forms;
  for (bool exchange : {false, true}) {
    auto form = best_form(exchange ? exchanged_operands(input) : input);
    if (!form) continue;
    form->exchanged = exchange;
    forms.push_back(std::move(*form));
  }
  if (forms.empty()) return internal_error("gemmini: no loop nest found for a matmul");
  std::stable_sort(forms.begin(), forms.end(),
                   [](const Form& x, const Form& y) { return rank(x) < rank(y); });
  const int64_t copied = forms.front().copied_elements;
  std::erase_if(forms, [&](const Form& form) {
    return form.copied_elements > copied || form.steps() > 2 * forms.front().steps() ||
           form.steps() > kMaxSteps;
  });
  if (forms.empty()) {
    return resource_exhausted(fmt::format(
        "gemmini: the product has too many short runs: more than {} array steps; reorder its dimensions",
        kMaxSteps));
  }
  std::vector<Form> all;
  for (const Form& form : forms) {
    all.push_back(form);
    for (int64_t fold : {int64_t{2}, int64_t{4}})
      if (auto more = folded(form, fold, input.widest_move)) all.push_back(std::move(*more));
  }
  return all;
}

}  // namespace zomboss::gemmini
