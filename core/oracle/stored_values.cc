#include "core/oracle/stored_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/oracle/storage.h"

namespace zomboss::oracle {
namespace {

constexpr uint64_t kMany = uint64_t{1} << 32;

// How often the entry computation reaches a computation by calls alone, and whether something else does too.
struct Reach {
  uint64_t calls = 0;
  bool otherwise = false;  // from a loop, a branch, a reducer
};

void reach_from(const hlo::Instruction& instruction, const Reach& caller, std::vector<Reach>& reach) {
  const hlo::Attributes& attributes = instruction.attributes;
  const bool inlined = instruction.opcode == "call" || instruction.opcode == "fusion";
  const auto visit = [&](uint32_t callee, bool by_call) {
    if (by_call) reach[callee].calls = std::min(kMany, reach[callee].calls + caller.calls);
    reach[callee].otherwise |= caller.otherwise || !by_call;
  };
  for (size_t i = 0; i < attributes.calls.size(); ++i) visit(attributes.calls[i], inlined && i == 0);
  for (const uint32_t callee : attributes.branches) visit(callee, false);
  if (attributes.condition) visit(*attributes.condition, false);
  if (attributes.body) visit(*attributes.body, false);
}

// Called computations stand before their callers.
std::vector<Reach> find_reach(const hlo::Module& module) {
  std::vector<Reach> reach(module.computations.size());
  reach[module.entry].calls = 1;
  for (size_t c = reach.size(); c-- > 0;) {
    if (reach[c].calls == 0 && !reach[c].otherwise) continue;
    const hlo::Computation& computation = module.computations[c];
    std::vector<bool> live(computation.instructions.size(), false);
    live[computation.root] = true;
    for (size_t i = live.size(); i-- > 0;) {
      if (!live[i]) continue;
      for (const uint32_t operand : computation.instructions[i].operands) live[operand] = true;
      reach_from(computation.instructions[i], reach[c], reach);
    }
  }
  return reach;
}

using Place = std::pair<uint32_t, uint32_t>;

std::optional<Place> find_place(const hlo::Module& module, const StoredValue& value) {
  for (uint32_t c = 0; c < module.computations.size(); ++c) {
    const auto& instructions = module.computations[c].instructions;
    for (uint32_t i = 0; i < instructions.size(); ++i)
      if (instructions[i].name == value.name && instructions[i].where == value.where) return Place{c, i};
  }
  return std::nullopt;
}

bool has_dim(const hlo::Shape& shape, int64_t dim) {
  return shape.is_array() && hlo::is_float(shape.dtype) && dim >= 0 &&
         static_cast<size_t>(dim) < shape.rank();
}

}  // namespace

Result<StoredDims> find_stored(const hlo::Module& module, std::span<const StoredValue> stored,
                               const std::string& source_name) {
  StoredDims dims;
  if (stored.empty()) return dims;
  const std::vector<Reach> reach = find_reach(module);
  for (const StoredValue& value : stored) {
    const std::string place =
        fmt::format("{}:{}:{}: '{}'", source_name, value.where.line, value.where.column, value.name);
    const auto found = find_place(module, value);
    if (!found) return invalid_argument(place + " is no instruction of the module and cannot be stored");
    const hlo::Shape& shape = module.computations[found->first].instructions[found->second].shape;
    if (!has_dim(shape, value.dim))
      return invalid_argument(fmt::format("{} is {} and cannot be stored in blocks along dim {}", place,
                                          shape.text(), value.dim));
    const auto same = [&](const StoredValue& other) {
      return other.name == value.name && other.where == value.where;
    };
    const auto entries = static_cast<uint64_t>(std::count_if(stored.begin(), stored.end(), same));
    const Reach& from = reach[found->first];
    if (from.otherwise)
      return unimplemented(place +
                           " is stored and computed in a loop, branch or reducer; write it outside of it");
    if (from.calls != entries)
      return unimplemented(
          fmt::format("{} is in a computation that is called {} times, and stored {}; write it "
                      "outside of that computation",
                      place, from.calls, entries == 1 ? "once" : fmt::format("{} times", entries)));
    if (!dims.emplace(*found, value.dim).second && dims.at(*found) != value.dim)
      return unimplemented(fmt::format("{} would be stored in blocks along dims {} and {}", place,
                                       dims.at(*found), value.dim));
  }
  return dims;
}

Result<Value> through_storage(Budget& budget, const Array& array, int64_t dim) {
  ZB_ASSIGN(auto copy, make_array(budget, array.dtype, array.dims));
  std::vector<double> values(array.lanes.size());
  std::transform(array.lanes.begin(), array.lanes.end(), values.begin(), lane_float);
  round_store(values, array.dims, dim);
  std::transform(values.begin(), values.end(), copy->lanes.begin(),
                 [](double value) { return to_lane(value); });
  return Value{std::move(copy), {}};
}

}  // namespace zomboss::oracle
