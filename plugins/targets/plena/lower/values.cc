// Where values live: tensors in the HBM, panels in the vector SRAM, constant tiles and rows.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "plugins/targets/plena/lower/lowerer.h"

namespace zomboss::plena {
namespace {

int64_t round_up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

HbmTensor Lowerer::add_tensor(std::string name, int64_t batch, int64_t rows, int64_t cols, bool whole_tiles,
                              int32_t input, std::vector<float> data) {
  HbmTensor tensor;
  tensor.name = std::move(name);
  tensor.batch = batch;
  tensor.rows = rows;
  tensor.cols = cols;
  // Transfers move whole groups of rows, and what they find beyond a tensor must be zeros.
  const int64_t group = std::max(machine_.prefetch_v_rows, machine_.writeback_v_rows);
  const bool one_row = batch * rows == 1 && !whole_tiles;
  tensor.padded_rows = whole_tiles ? round_up(rows, machine_.mlen) : one_row ? 1 : round_up(rows, group);
  tensor.padded_cols = round_up(cols, one_row ? machine_.vlen * group : machine_.vlen);
  tensor.address = hbm_end_;
  tensor.block = machine_.mx_block;
  hbm_end_ = static_cast<uint64_t>(
      round_up(static_cast<int64_t>(hbm_end_ + tensor.bytes()), machine_.hbm_block_bytes));
  if (tensor.elements() > std::numeric_limits<uint32_t>::max())
    fail(resource_exhausted(fmt::format("'{}' has {} elements, and offsets in the HBM have 32 bits",
                                        tensor.name, tensor.elements())));
  out_.hbm.push_back({tensor, input, std::move(data)});
  return tensor;
}

void Lowerer::place_inputs() {
  for (size_t id = 0; id < problem_.values.size(); ++id) {
    const Value& each = problem_.values[id];
    if (each.origin == Origin::kStage || (!each.as_rows && !each.as_matrix)) continue;
    const int64_t batch = each.as_matrix ? each.batch : 1;
    add_tensor(each.name, batch, each.rows / batch, each.cols, each.as_matrix, each.input, each.data);
    tensor_index_[static_cast<ValueId>(id)] = out_.hbm.size() - 1;
  }
}

Panel Lowerer::new_panel(int64_t rows, int64_t cols, int64_t before, int64_t after) {
  Panel panel;
  panel.rows = rows;
  panel.tiles = tiles(cols);
  panel.pitch = padded_rows(rows);
  panel.width = machine_.vlen;
  const int64_t begin = space_.allocate(before + panel.size() + after);
  panel.first = begin + before;
  allocation_begin_[panel.first] = begin;
  return panel;
}

// A vector whose tiles are consecutive rows.
Panel Lowerer::one_row_panel(int64_t cols) {
  Panel panel;
  panel.rows = 1;
  panel.tiles = tiles(cols);
  panel.pitch = 1;
  panel.width = machine_.vlen;
  panel.first = space_.allocate(round_up(panel.tiles, machine_.prefetch_v_rows));
  allocation_begin_[panel.first] = panel.first;
  return panel;
}

void Lowerer::release_panel(const Panel& panel) {
  space_.release(allocation_begin_.at(panel.first));
}

void Lowerer::load_rows(const HbmTensor& tensor, const Panel& to) {
  const int64_t step = machine_.prefetch_v_rows;
  if (tensor.batch * tensor.rows == 1) {  // one prefetch brings several tiles
    HbmPlace place = tensor.place(machine_.vlen);
    place.stride = 0;
    tape_.loop((to.tiles + step - 1) / step, choices_.unroll_load, [&](const Affine& i) {
      tape_.prefetch_v(to.at(0, i * step), place, i * (step * machine_.vlen));
    });
    return;
  }
  const int64_t groups = (to.rows + step - 1) / step;
  const auto load = [&](const Affine& group, const Affine& tile) {
    tape_.prefetch_v(to.at(group * step, tile), tensor.place(machine_.vlen),
                     group * (step * tensor.padded_cols) + tile * machine_.vlen);
  };
  if (choices_.vector_load_order == LoadOrder::kColumns) {
    tape_.loop(to.tiles, choices_.unroll_load, [&](const Affine& tile) {
      tape_.loop(groups, choices_.unroll_load, [&](const Affine& group) { load(group, tile); });
    });
  } else {
    tape_.loop(groups, choices_.unroll_load, [&](const Affine& group) {
      tape_.loop(to.tiles, choices_.unroll_load, [&](const Affine& tile) { load(group, tile); });
    });
  }
}

Panel Lowerer::panel(ValueId id) {
  auto& held = panels_[static_cast<size_t>(id)];
  if (held) return *held;
  const HbmTensor tensor = tensor_of(id);
  const int64_t rows = value(id).rows;
  // A transfer writes whole groups of rows; the last one may reach beyond the panel.
  held = rows == 1 ? one_row_panel(value(id).cols)
                   : new_panel(rows, value(id).cols, 0,
                               round_up(rows, machine_.prefetch_v_rows) - padded_rows(rows) > 0
                                   ? machine_.prefetch_v_rows
                                   : 0);
  load_rows(tensor, *held);
  return *held;
}

Panel Lowerer::result_panel(const Stage& stage) {
  const auto a = static_cast<size_t>(stage.a);
  const auto index = static_cast<size_t>(&stage - problem_.stages.data());
  const Panel from = panel(stage.a);
  auto& held = panels_[static_cast<size_t>(stage.out)];
  const bool last =
      last_use_[a] == index || (value(stage.a).origin != Origin::kStage && choices_.reload_vectors != 0);
  if (last && value(stage.a).cols == value(stage.out).cols && stage.b != stage.a && stage.c != stage.a) {
    held = from;
    panels_[a].reset();
    return from;
  }
  held = new_panel(value(stage.out).rows, value(stage.out).cols);
  return *held;
}

// Space of values that no later stage reads is free again.
void Lowerer::finish_stage(size_t index) {
  for (size_t id = 0; id < panels_.size(); ++id) {
    if (!panels_[id]) continue;
    const bool reload = choices_.reload_vectors != 0 && problem_.values[id].origin != Origin::kStage;
    if (last_use_[id] > index && !reload) continue;
    release_panel(*panels_[id]);
    panels_[id].reset();
  }
}

int64_t Lowerer::slots() const {
  const int64_t left = machine_.mram_tiles - static_cast<int64_t>(constant_tiles_.size());
  return std::max<int64_t>(1, std::min(left, choices_.resident_tiles));
}

// Constants lie at the end of the matrix SRAM, in the order of their first use.
int64_t Lowerer::slot(int64_t index) const {
  return index * machine_.tile_elements();
}

void Lowerer::note_tiles(int64_t working) {
  out_.matrix_tiles = std::max(out_.matrix_tiles, working + static_cast<int64_t>(constant_tiles_.size()));
}

int64_t Lowerer::constant_tile(const std::string& name,
                               const std::function<float(int64_t, int64_t)>& element) {
  if (const auto at = constant_tiles_.find(name); at != constant_tiles_.end()) return at->second;
  const int64_t size = machine_.mlen;
  std::vector<float> data(static_cast<size_t>(size * size));
  for (int64_t row = 0; row < size; ++row) {
    for (int64_t col = 0; col < size; ++col) data[static_cast<size_t>(row * size + col)] = element(row, col);
  }
  const HbmTensor tensor = add_tensor(name, 1, size, size, true, -1, std::move(data));
  const auto index =
      static_cast<int64_t>(machine_.mram_tiles) - 1 - static_cast<int64_t>(constant_tiles_.size());
  if (index < 1) {
    fail(resource_exhausted(fmt::format("the matrix SRAM has {} tiles, and constants leave none for matrices",
                                        machine_.mram_tiles)));
    return 0;
  }
  const int64_t address = index * machine_.tile_elements();
  constant_tiles_[name] = address;
  tape_.prefetch_m(address, tensor.place(machine_.mlen), 0);
  return address;
}

Panel Lowerer::constant_row(const std::string& name, const std::function<float(int64_t)>& element) {
  if (const auto at = constant_rows_.find(name); at != constant_rows_.end()) return at->second;
  std::vector<float> data(machine_.vlen);
  for (size_t i = 0; i < data.size(); ++i) data[i] = element(static_cast<int64_t>(i));
  const HbmTensor tensor = add_tensor(name, 1, 1, machine_.vlen, false, -1, std::move(data));
  const Panel panel = one_row_panel(machine_.vlen);
  load_rows(tensor, panel);
  constant_rows_[name] = panel;
  return panel;
}

std::optional<Panel> Lowerer::kept_columns(int64_t cols) {
  const int64_t tail = cols % machine_.vlen;
  if (tail == 0) return std::nullopt;
  return constant_row("keep" + std::to_string(tail), [tail](int64_t i) { return i < tail ? 1.0f : 0.0f; });
}

std::optional<Panel> Lowerer::masked_columns(int64_t cols) {
  const int64_t tail = cols % machine_.vlen;
  if (tail == 0) return std::nullopt;
  return constant_row("tail" + std::to_string(tail), [tail](int64_t i) { return i < tail ? 0.0f : kMasked; });
}

int64_t Lowerer::unit_tile() {
  return constant_tile("unit", [](int64_t row, int64_t col) { return row == col ? 1.0f : 0.0f; });
}

void Lowerer::each_vector(int64_t rows, int64_t tiles,
                          const std::function<void(const Affine& row, const Affine& tile)>& body) {
  tape_.loop(tiles, choices_.unroll_vector, [&](const Affine& tile) {
    tape_.loop(rows, choices_.unroll_vector, [&](const Affine& row) { body(row, tile); });
  });
}

}  // namespace zomboss::plena
