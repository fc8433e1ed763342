#include "plugins/policies/common/state_bytes.h"
#include "plugins/policies/genetic/genetic_policy.h"

namespace zomboss::policies {
namespace {

constexpr uint32_t kMagic = 0x4e47425a;  // "ZBGN"
constexpr uint32_t kVersion = 1;

Point read_point(const Space& space, StateReader& reader) {
  Point point;
  for (const SpaceKnob& knob : space.knobs) {
    point.push_back(reader.u32());
    if (point.back() >= knob.values.size()) reader.fail();
  }
  return point;
}

void write_individuals(const std::vector<Individual>& individuals, StateWriter& writer) {
  writer.u64(individuals.size());
  for (const Individual& each : individuals) {
    writer.point(each.point);
    writer.f64(each.latency);
  }
}

std::vector<Individual> read_individuals(const Space& space, StateReader& reader) {
  std::vector<Individual> individuals;
  for (size_t left = reader.count(4 * space.knobs.size() + 8); left > 0; --left) {
    individuals.push_back({read_point(space, reader), 0});
    individuals.back().latency = reader.f64();
    if (!(individuals.back().latency > 0) || individuals.back().latency > 1e300) reader.fail();
  }
  return individuals;
}

}  // namespace

std::string save_state(const Space& space, const GeneticState& state) {
  StateWriter writer;
  writer.u32(kMagic);
  writer.u32(kVersion);
  writer.u64(space.fingerprint);
  write_individuals(state.population, writer);
  write_individuals(state.children, writer);
  writer.u64(state.generation);
  writer.u64(state.answered);
  writer.u64(state.duplicates);
  writer.u64(state.random_position);
  writer.u64(state.seen.size());
  for (const Point& point : state.seen) writer.point(point);
  return std::move(writer).finish();
}

Result<GeneticState> load_state(const Space& space, Bytes bytes) {
  StateReader reader(bytes);
  if (reader.u32() != kMagic || reader.u32() != kVersion || reader.u64() != space.fingerprint) reader.fail();
  GeneticState state;
  state.population = read_individuals(space, reader);
  state.children = read_individuals(space, reader);
  state.generation = reader.u64();
  state.answered = reader.u64();
  state.duplicates = reader.u64();
  state.random_position = reader.u64();
  for (size_t left = reader.count(4 * space.knobs.size()); left > 0; --left)
    state.seen.insert(read_point(space, reader));
  if (state.population.empty() || state.children.size() > state.answered) reader.fail();
  ZB_TRY(reader.finish("genetic"));
  return state;
}

}  // namespace zomboss::policies
