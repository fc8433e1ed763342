// Inputs, movements, element by element and row by row operators.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "plugins/targets/plena/problem/reader.h"

namespace zomboss::plena {
namespace {

size_t element_bytes(wire::DType dtype) {
  switch (dtype) {
    case wire::DType::BF16:
    case wire::DType::F16:
      return 2;
    case wire::DType::F32:
    case wire::DType::S32:
      return 4;
    case wire::DType::F64:
    case wire::DType::S64:
      return 8;
    default:
      return 0;
  }
}

double element(wire::DType dtype, const uint8_t* bytes) {
  const auto read = [bytes](auto kind) {
    decltype(kind) result;
    std::memcpy(&result, bytes, sizeof result);
    return result;
  };
  switch (dtype) {
    case wire::DType::BF16:
      return std::bit_cast<float>(uint32_t{read(uint16_t{})} << 16);
    case wire::DType::F32:
      return read(float{});
    case wire::DType::F64:
      return read(double{});
    case wire::DType::S32:
      return read(int32_t{});
    case wire::DType::S64:
      return static_cast<double>(read(int64_t{}));
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

bool same_place(const View& a, const View& b) {
  return a.dims == b.dims && a.split == b.split && a.order == b.order;
}

View uniform_view(double number, std::vector<int64_t> shape) {
  View view;
  view.is_uniform = true;
  view.uniform = number;
  view.shape = std::move(shape);
  return view;
}

}  // namespace

std::optional<View> Reader::with_split(const View& view, size_t split) {
  if (view.split == split) return view;
  if (value(view.value).origin == Origin::kStage || !view.in_order()) {
    // Dims of size 1 may change sides.
    if (product(view.dims, 0, split) == view.rows() && view.in_order())
      return view_of(view.value, view.dims, split);
    return std::nullopt;
  }
  for (size_t i = 0; i < problem_.values.size(); ++i) {  // the same input read this way before
    Value& other = problem_.values[i];
    if (other.input == value(view.value).input && other.origin == value(view.value).origin &&
        other.data == value(view.value).data && other.rows == product(view.dims, 0, split))
      return view_of(static_cast<ValueId>(i), view.dims, split);
  }
  Value copy = value(view.value);
  if (!copy.as_rows && !copy.as_matrix) {  // nobody reads it otherwise
    value(view.value).rows = product(view.dims, 0, split);
    value(view.value).cols = product(view.dims, split, view.dims.size());
    return view_of(view.value, view.dims, split);
  }
  copy.as_rows = copy.as_matrix = false;
  copy.rows = product(view.dims, 0, split);
  copy.cols = product(view.dims, split, view.dims.size());
  problem_.values.push_back(std::move(copy));
  return view_of(static_cast<ValueId>(problem_.values.size() - 1), view.dims, split);
}

void Reader::parameter(const Node& node) {
  const std::vector<int64_t>& dims = node.type->dims;
  if (element_bytes(node.type->dtype) == 0)
    return refuse(node, fmt::format("inputs are floating point, this one is {}",
                                    wire::EnumNameDType(node.type->dtype)));
  const size_t split = dims.empty() ? 0 : dims.size() - 1;
  const ValueId id = new_value(node, product(dims, 0, split), product(dims, split, dims.size()));
  value(id).origin = Origin::kInput;
  for (size_t i = 0; i < workload_.inputs.size(); ++i) {
    if (workload_.inputs[i] == node.id) value(id).input = static_cast<int32_t>(i);
  }
  set(node, view_of(id, dims, split));
}

void Reader::constant(const Node& node) {
  const size_t width = element_bytes(node.type->dtype);
  const auto count = static_cast<size_t>(product(node.type->dims, 0, node.type->dims.size()));
  if (width == 0 || node.data.size() != count * width) {
    if (node.type->dtype == wire::DType::Pred) return;  // of masks; whoever needs it refuses
    return refuse(node, "a constant of this type has no number format on the machine");
  }
  std::vector<float> data(count);
  bool uniform = true;
  for (size_t i = 0; i < count; ++i) {
    data[i] = static_cast<float>(element(node.type->dtype, node.data.data() + i * width));
    uniform = uniform && std::bit_cast<uint32_t>(data[i]) == std::bit_cast<uint32_t>(data[0]);
  }
  if (uniform) return set(node, uniform_view(element(node.type->dtype, node.data.data()), node.type->dims));
  const size_t split = node.type->dims.size() - 1;
  const ValueId id = new_value(node, product(node.type->dims, 0, split), node.type->dims.back());
  value(id).origin = Origin::kConstant;
  value(id).data = std::move(data);
  set(node, view_of(id, node.type->dims, split));
}

void Reader::broadcast(const Node& node) {
  View view = operand(node, 0);
  const std::vector<int64_t>& shape = node.type->dims;
  if (view.is_uniform) return set(node, uniform_view(view.uniform, shape));
  const std::vector<int64_t> dims = ints_of(node, "dims");
  if (view.shape == shape) return set(node, std::move(view));
  std::vector<int64_t> along(shape.size(), -1);
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto at = static_cast<size_t>(dims[i]);
    const int64_t inner = view.along.empty() ? static_cast<int64_t>(i) : view.along[i];
    if (view.shape[i] == shape[at]) along[at] = inner;
  }
  view.along = std::move(along);
  view.shape = shape;
  set(node, std::move(view));
}

void Reader::transpose(const Node& node) {
  View view = operand(node, 0);
  const std::vector<int64_t> dims = ints_of(node, "dims");
  const View from = view;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto d = static_cast<size_t>(dims[i]);
    view.shape[i] = from.shape[d];
    if (!from.along.empty())
      view.along[i] = from.along[d];
    else if (!from.is_uniform)
      view.order[i] = from.order[d];
  }
  set(node, std::move(view));
}

void Reader::reshape(const Node& node) {
  View view = operand(node, 0);
  if (view.is_uniform) return set(node, uniform_view(view.uniform, node.type->dims));
  if (value(view.value).origin != Origin::kStage && view.in_order() && view.along.empty()) {
    const std::vector<int64_t>& dims = node.type->dims;
    if (!reshape_view(view, dims)) {  // memory order is all that an unread input has
      const size_t split = dims.empty() ? 0 : dims.size() - 1;
      auto other = with_split(view_of(view.value, dims, dims.size() + 1), split);
      if (!other) return refuse(node, "its rows and columns are mixed");
      view = *other;
    }
    return set(node, std::move(view));
  }
  if (!reshape_view(view, node.type->dims))
    return refuse(node,
                  "it mixes the rows and columns of a matrix on chip, or follows a transpose that does");
  set(node, std::move(view));
}

void Reader::map(const Node& node, MapKind kind) {
  const View& a = operand(node, 0);
  if (a.is_uniform || !a.along.empty()) return refuse(node, "its operand is a constant or a broadcast");
  value(a.value).as_rows = true;
  Stage& stage = new_stage(StageKind::kMap, node);
  stage.map = kind;
  stage.a = a.value;
  View out = a;
  out.value = stage.out = new_value(node, a.rows(), a.cols());
  set(node, std::move(out));
}

std::optional<ValueId> Reader::repeated_row(const View& view, const View& full) {
  if (view.along.empty() || view.rows() != 1 || view.cols() != full.cols()) return std::nullopt;
  for (size_t i = 0; i < full.shape.size(); ++i) {
    const bool is_row = full.order[i] < full.split;
    if (full.shape[i] != 1 && is_row != (view.along[i] < 0)) return std::nullopt;
  }
  return view.value;
}

std::optional<ValueId> Reader::repeated_column(const View& view, const View& full) {
  if (view.along.empty() || view.cols() != 1 || view.rows() != full.rows()) return std::nullopt;
  for (size_t i = 0; i < full.shape.size(); ++i) {
    const bool is_row = full.order[i] < full.split;
    if (full.shape[i] != 1 && is_row != (view.along[i] >= 0)) return std::nullopt;
  }
  return view.value;
}

void Reader::elementwise(const Node& node, BinaryKind kind, const View& first, const View& second) {
  View a = first;
  View b = second;
  bool reversed = false;
  if (a.is_uniform || (!a.along.empty() && b.along.empty())) {
    std::swap(a, b);
    reversed = true;
  }
  if (a.is_uniform || !a.along.empty()) return refuse(node, "both operands are constants or broadcasts");
  const auto start = [&](StageKind stage_kind) -> Stage& {
    value(a.value).as_rows = true;
    Stage& stage = new_stage(stage_kind, node);
    stage.binary = kind;
    stage.a = a.value;
    stage.reversed = reversed;
    return stage;
  };
  const auto finish = [&] {
    View out = a;
    out.value = new_value(node, a.rows(), a.cols());
    problem_.stages.back().out = out.value;
    set(node, std::move(out));
  };
  if (b.is_uniform) {
    start(StageKind::kScalar).number = b.uniform;
    return finish();
  }
  const auto row = repeated_row(b, a);
  const auto column = row ? std::nullopt : repeated_column(b, a);
  if (column) {
    start(StageKind::kColumn).b = *column;
    return finish();
  }
  if (!row && b.along.empty() && !same_place(a, b)) {
    if (const auto other =
            value(b.value).origin == Origin::kStage ? with_split(a, b.split) : with_split(b, a.split))
      (value(b.value).origin == Origin::kStage ? a : b) = *other;
  }
  if (!row && (!b.along.empty() || !same_place(a, b)))
    return refuse(node, "its operands do not lie alike (a broadcast over some columns, or a transpose)");
  if (kind == BinaryKind::kMaximum || kind == BinaryKind::kMinimum)
    return refuse(node,
                  "the machine has no maximum or minimum of two vectors, only of a vector and a number");
  value(b.value).as_rows = true;
  start(StageKind::kBinary).b = row ? *row : b.value;
  finish();
}

void Reader::reduce(const Node& node) {
  const View& a = operand(node, 0);
  const View& start = operand(node, 1);
  const std::string_view reducer = text_of(node, "reducer");
  const bool sum = reducer == "add";
  const double neutral = sum ? 0.0 : -std::numeric_limits<double>::infinity();
  if (!sum && reducer != "maximum") return refuse(node, "only sums and maxima of rows exist");
  if (!start.is_uniform || start.uniform != neutral)
    return refuse(node, "its start is not the neutral element");
  if (a.is_uniform || !a.along.empty()) return refuse(node, "its operand is a constant or a broadcast");
  std::vector<int64_t> left;
  std::vector<bool> gone(a.shape.size(), false);
  for (const int64_t d : ints_of(node, "dims")) gone[static_cast<size_t>(d)] = true;
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (!gone[i]) left.push_back(a.shape[i]);
    if (a.shape[i] != 1 && gone[i] != (a.order[i] >= a.split))
      return refuse(node, "only whole rows of a matrix are reduced");
  }
  value(a.value).as_rows = true;
  Stage& stage = new_stage(StageKind::kReduce, node);
  stage.binary = sum ? BinaryKind::kAdd : BinaryKind::kMaximum;
  stage.a = a.value;
  stage.out = new_value(node, a.rows(), 1);
  set(node, view_of(stage.out, left, left.size()));
}

void Reader::rowwise(const Node& node, StageKind kind) {
  const View& a = operand(node, 0);
  if (a.is_uniform || !a.along.empty()) return refuse(node, "its operand is a constant or a broadcast");
  std::vector<bool> inside(a.shape.size(), false);
  for (const int64_t d : ints_of(node, "dims")) inside[static_cast<size_t>(d)] = true;
  View view = a;
  bool whole = true;
  for (size_t i = 0; i < a.shape.size(); ++i)
    whole = whole && (a.shape[i] == 1 || inside[i] == (a.order[i] >= a.split));
  if (!whole) {
    size_t outside = 0;
    while (outside < inside.size() && !inside[outside]) ++outside;
    const auto other = with_split(a, outside);
    for (size_t i = 0; i < a.shape.size(); ++i) whole = other && inside[i] == (i >= outside);
    if (!whole) return refuse(node, "it must run over whole rows of a matrix");
    view = *other;
  }
  value(view.value).as_rows = true;
  Stage& stage = new_stage(kind, node);
  stage.a = view.value;
  stage.epsilon = number_of(node, "epsilon", 0);
  const auto flag = [&node](std::string_view key) {
    const auto ints = ints_of(node, key);
    return !ints.empty() && ints[0] != 0;
  };
  size_t next = 1;
  for (const auto& [key, slot] : {std::pair{"scale", &Stage::b}, std::pair{"shift", &Stage::c}}) {
    if (!flag(key) || next >= node.operands.size()) continue;
    const View& vector = operand(node, next++);
    if (vector.is_uniform || value(vector.value).rows * value(vector.value).cols != view.cols())
      return refuse(node, fmt::format("its {} is not one number per column", key));
    const auto row = with_split(vector, 0);
    if (!row) return refuse(node, fmt::format("its {} is computed as a column", key));
    value(row->value).as_rows = true;
    problem_.stages.back().*slot = row->value;
  }
  View out = view;
  out.value = new_value(node, view.rows(), view.cols());
  problem_.stages.back().out = out.value;
  set(node, std::move(out));
}

void Reader::rope(const Node& node) {
  const View& x = operand(node, 0);
  const View& cosines = operand(node, 1);
  const View& sines = operand(node, 2);
  for (const View* each : {&x, &cosines, &sines}) {
    if (each->is_uniform || !each->along.empty())
      return refuse(node, "an operand is a constant or a broadcast");
  }
  const bool half = text_of(node, "table") == "half";
  const std::vector<int64_t> dims = ints_of(node, "dims");
  const int64_t width = x.shape.back();
  const int64_t table_width = half ? width / 2 : width;
  if (!x.in_order() || dims.empty() || dims.back() != static_cast<int64_t>(x.shape.size()) - 1 ||
      cosines.cols() != table_width || sines.cols() != table_width || cosines.rows() != x.rows() ||
      sines.rows() != x.rows())
    return refuse(node, "it rotates the last dim by tables of [rows, features]");
  for (const View* each : {&x, &cosines, &sines}) value(each->value).as_rows = true;
  Stage& stage = new_stage(StageKind::kRope, node);
  stage.a = x.value;
  stage.b = cosines.value;
  stage.c = sines.value;
  stage.interleaved = text_of(node, "layout") == "interleaved";
  stage.half_table = half;
  stage.rope_heads = x.cols() / width;
  View out = x;
  out.value = new_value(node, x.rows(), x.cols());
  problem_.stages.back().out = out.value;
  set(node, std::move(out));
}

}  // namespace zomboss::plena
