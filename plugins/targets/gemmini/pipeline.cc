#include "plugins/targets/gemmini/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace zomboss::gemmini {
namespace {

constexpr int64_t kGroups = 64;

}  // namespace

wire::ScheduleT tile_pipeline(const ReplayTimes& total, int64_t tiles, int64_t ahead, int64_t behind) {
  const int64_t groups = std::min(tiles, kGroups);
  wire::ScheduleT schedule;
  schedule.static_cost = total.cycles;
  const auto add = [&](const char* engine, int64_t group, double cost, std::vector<uint32_t> predecessors) {
    auto node = std::make_unique<wire::ScheduleNodeT>();
    node->engine = engine;
    const int64_t first = group * tiles / groups, last = (group + 1) * tiles / groups - 1;
    node->label = first == last ? fmt::format("tile {}", first) : fmt::format("tiles {}..{}", first, last);
    node->cost = cost / static_cast<double>(groups);
    node->predecessors = std::move(predecessors);
    schedule.nodes.push_back(std::move(node));
  };
  for (int64_t g = 0; g < groups; ++g) {
    const auto load = static_cast<uint32_t>(3 * g);
    std::vector<uint32_t> before_load, before_execute = {load}, before_store = {load + 1};
    if (g > 0) {
      before_load.push_back(load - 3);
      before_execute.push_back(load - 2);
      before_store.push_back(load - 1);
    }
    if (g >= ahead) before_load.push_back(static_cast<uint32_t>(3 * (g - ahead) + 1));
    if (g >= behind) before_execute.push_back(static_cast<uint32_t>(3 * (g - behind) + 2));
    add("ld", g, total.load, std::move(before_load));
    add("ex", g, total.execute, std::move(before_execute));
    add("st", g, total.store, std::move(before_store));
  }
  return schedule;
}

}  // namespace zomboss::gemmini
