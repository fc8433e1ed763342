#include "host/cli/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace zomboss::cli {
namespace {

struct Group {
  std::string_view prefix, title;
};
// A counter belongs to the first group that fits.
constexpr std::array<Group, 7> kGroups = {{
    {"ns.region.", "time by region"},
    {"cycles.region.", "time by region"},
    {"ns.", "time by engine"},
    {"cycles.", "time by engine"},
    {"hbm.read.", "HBM read by tensor"},
    {"hbm.written.", "HBM written by tensor"},
    {"executed.", "instructions executed"},
}};

struct Part {
  std::string_view name;
  const wire::CounterT* counter;
};

void add_group(std::string& text, const Group& group, std::vector<Part> parts) {
  double total = 0;
  for (const Part& part : parts) total += part.counter->value;
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.counter->value > b.counter->value; });
  text += fmt::format("  {} ({})\n", group.title, parts.front().counter->unit);
  for (const Part& part : parts) {
    if (part.counter->value == 0) continue;
    text += fmt::format("    {:<30} {:>12} {:>6.1f} %\n", part.name, part.counter->value,
                        100 * part.counter->value / total);
  }
}

}  // namespace

std::string profile_text(const wire::SimulationT& simulation) {
  std::string text;
  std::array<std::vector<Part>, kGroups.size()> parts;
  for (const auto& counter : simulation.counters) {
    const auto group = std::find_if(kGroups.begin(), kGroups.end(), [&](const Group& each) {
      return counter->name.size() > each.prefix.size() && counter->name.starts_with(each.prefix);
    });
    if (group == kGroups.end())
      text += fmt::format("  {:<32} {:>12}{}{}\n", counter->name, counter->value,
                          counter->unit.empty() ? "" : " ", counter->unit);
    else
      parts[static_cast<size_t>(group - kGroups.begin())].push_back(
          {std::string_view(counter->name).substr(group->prefix.size()), counter.get()});
  }
  constexpr std::array<size_t, kGroups.size()> kOrder = {2, 3, 0, 1, 4, 5, 6};  // engines before regions
  for (const size_t i : kOrder) {
    if (!parts[i].empty()) add_group(text, kGroups[i], std::move(parts[i]));
  }
  return text;
}

}  // namespace zomboss::cli
