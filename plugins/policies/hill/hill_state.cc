#include "plugins/policies/common/state_bytes.h"
#include "plugins/policies/hill/hill_policy.h"

namespace zomboss::policies {
namespace {

constexpr uint32_t kMagic = 0x4c48425a;  // "ZBHL"
constexpr uint32_t kVersion = 2;

Point read_point(const Space& space, StateReader& reader) {
  Point point;
  for (const SpaceKnob& knob : space.knobs) {
    point.push_back(reader.u32());
    if (point.back() >= knob.values.size()) reader.fail();
  }
  return point;
}

double read_latency(StateReader& reader) {
  const double latency = reader.f64();
  if (!(latency > 0) || latency > 1e300) reader.fail();
  return latency;
}

bool read_flag(StateReader& reader) {
  const uint32_t flag = reader.u32();
  if (flag > 1) reader.fail();
  return flag == 1;
}

}  // namespace

std::string save_state(const Space& space, const HillState& state) {
  StateWriter writer;
  writer.u32(kMagic);
  writer.u32(kVersion);
  writer.u64(space.fingerprint);
  writer.point(state.current);
  writer.f64(state.latency);
  writer.u32(state.best_neighbour.empty() ? 0 : 1);
  if (!state.best_neighbour.empty()) {
    writer.point(state.best_neighbour);
    writer.f64(state.best_latency);
  }
  writer.u32(state.restarting ? 1 : 0);
  writer.u64(state.restarts);
  writer.u64(state.random_position);
  writer.u64(state.visited.size());
  for (const Point& point : state.visited) writer.point(point);
  writer.u64(state.pending.size());
  for (const Point& point : state.pending) writer.point(point);
  for (const auto& levels : state.effects.levels())
    for (const double level : levels) writer.f64(level);
  writer.u64(state.evaluated.size());
  for (const Evaluated& each : state.evaluated) {
    writer.point(each.point);
    writer.f64(each.cost);
    writer.f64(each.latency);
  }
  return std::move(writer).finish();
}

Result<HillState> load_state(const Space& space, const HillState& fresh, Bytes bytes) {
  StateReader reader(bytes);
  if (reader.u32() != kMagic || reader.u32() != kVersion || reader.u64() != space.fingerprint) reader.fail();
  HillState state = fresh;
  state.current = read_point(space, reader);
  state.latency = read_latency(reader);
  if (read_flag(reader)) {
    state.best_neighbour = read_point(space, reader);
    state.best_latency = read_latency(reader);
  }
  state.restarting = read_flag(reader);
  state.restarts = reader.u64();
  state.random_position = reader.u64();
  const size_t point_bytes = 4 * space.knobs.size();
  for (size_t left = reader.count(point_bytes); left > 0; --left)
    state.visited.insert(read_point(space, reader));
  for (size_t left = reader.count(point_bytes); left > 0; --left)
    state.pending.push_back(read_point(space, reader));
  std::vector<std::vector<double>> levels = state.effects.levels();
  for (auto& row : levels)
    for (double& level : row) level = reader.f64();
  if (!state.effects.set_levels(std::move(levels))) reader.fail();
  state.evaluated.clear();
  for (size_t left = reader.count(point_bytes + 16); left > 0; --left) {
    Evaluated each{read_point(space, reader), reader.f64(), 0};
    if (!(each.cost >= 0) || each.cost > 1e300 || (each.cost == 0) != space.costs.empty()) reader.fail();
    each.latency = read_latency(reader);
    state.evaluated.push_back(std::move(each));
  }
  if (state.evaluated.empty() == space.catalog) reader.fail();
  ZB_TRY(reader.finish("hill"));
  return state;
}

}  // namespace zomboss::policies
