// What each value of each knob came to: a small chart for each knob.
#include <fmt/format.h>

#include <algorithm>

#include "core/report/sections.h"
#include "core/report/svg.h"
#include "core/report/words.h"

namespace zomboss::report {
namespace {

constexpr size_t kKnobs = 12;   // charts; the table has all
constexpr size_t kValues = 14;  // of one chart

// The values with the most plans, in the order of the domain.
std::vector<ValueEffect> shown_values(const KnobEffect& effect) {
  std::vector<ValueEffect> values = effect.values;
  if (values.size() <= kValues) return values;
  std::vector<size_t> counts;
  for (const ValueEffect& value : values) counts.push_back(value.plans);
  std::sort(counts.rbegin(), counts.rend());
  const size_t least = counts[kValues - 1];
  std::erase_if(values, [&](const ValueEffect& value) { return value.plans < least; });
  values.resize(std::min(values.size(), kValues));
  return values;
}

std::string knob_chart(const KnobEffect& effect, double low, double high) {
  constexpr double kRow = 24, kTop = 8;
  const std::vector<ValueEffect> values = shown_values(effect);
  size_t longest = 0;
  for (const ValueEffect& value : values) longest = std::max(longest, character_count(value.value));
  const double left = std::clamp(16 + 8.2 * static_cast<double>(longest), 60.0, 156.0);
  const Frame frame{left, kTop, 286, kTop + kRow * static_cast<double>(values.size())};
  const Scale x = Scale::fitting(low, high, frame.left, frame.right, false);
  Svg svg(330, frame.bottom + 26, "Latency relative to Candidate-0 by value of " + effect.knob);
  for (const double tick : x.ticks()) {
    svg.line(x(tick), frame.top, x(tick), frame.bottom, "grid");
    svg.text(x(tick), frame.bottom + 16, short_number(tick), "tick small", "middle");
  }
  if (x.low() <= 1 && x.high() >= 1) svg.line(x(1), frame.top, x(1), frame.bottom, "level");
  double best = values.front().median;
  for (const ValueEffect& value : values) best = std::min(best, value.median);
  for (size_t i = 0; i < values.size(); ++i) {
    const ValueEffect& value = values[i];
    const double y = frame.top + kRow * (static_cast<double>(i) + 0.5);
    const std::string title =
        fmt::format("{}={}: {}; best {}, median {}, worst {} of Candidate-0", effect.knob, value.value,
                    count_text(value.plans, "plan", "plans"), grouped(value.best, 3),
                    grouped(value.median, 3), grouped(value.worst, 3));
    svg.text(frame.left - 10, y + 4, elide(value.value, 17), "value", "end");
    svg.line(x(value.best), y, x(value.worst), y, "range");
    svg.line(x(value.best), y - 5, x(value.best), y + 5, "range");
    svg.circle(x(value.median), y, 4.5, value.median <= best ? "median lowest" : "median", title);
    svg.text(326, y + 4, short_number(static_cast<double>(value.plans)), "tick small", "end");
  }
  return svg.finish();
}

Result<std::string> group_knobs(const Data& data, const Group& group) {
  if (group.candidate0 == 0)
    return nothing("Candidate-0 was not verified, so there is nothing to relate to.");
  const KnobEffects effects = knob_effects_of(data, group);
  if (effects.plans == 0)
    return nothing(fmt::format("The history has the decisions of none of the {} that were verified.",
                               count_text(effects.verified, "plan", "plans")));
  if (effects.varied.empty())
    return nothing(fmt::format("All {} that were verified have the same value for every knob.",
                               count_text(effects.plans, "plan", "plans")));
  double low = effects.varied[0].values[0].best, high = low;
  for (const KnobEffect& effect : effects.varied) {
    for (const ValueEffect& value : effect.values) {
      low = std::min(low, value.best);
      high = std::max(high, value.worst);
    }
  }
  std::string out = "<div class=\"panels\">";
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < effects.varied.size(); ++i) {
    const KnobEffect& effect = effects.varied[i];
    if (i < kKnobs)
      out += fmt::format(
          "<div class=\"panel\"><h4>{}<small>{}</small></h4><div class=\"share\">explains {} of the "
          "variance<span>plans</span></div>{}</div>",
          escape(effect.knob), escape(effect.section), percent_text(effect.explained),
          knob_chart(effect, low, high));
    for (const ValueEffect& value : effect.values)
      rows.push_back({escape(effect.knob), escape(value.value), grouped(uint64_t{value.plans}),
                      grouped(value.best, 3), grouped(value.median, 3), grouped(value.worst, 3)});
  }
  out += "</div>";
  std::string words = fmt::format(
      "Verified latency relative to Candidate-0 (1, the dashed line where it is in view), lower is better: "
      "the dot is the median, "
      "filled for the "
      "lowest, the line reaches from the best to the worst. From {} of {}. The other knobs vary along; read "
      "it as a "
      "hint.",
      grouped(uint64_t{effects.plans}), count_text(effects.verified, "verified plan", "verified plans"));
  if (effects.missing > 0)
    words += fmt::format(" The decisions of {} are missing.", count_text(effects.missing, "plan", "plans"));
  if (effects.varied.size() > kKnobs)
    words += fmt::format(" The {} knobs that explain least are in the table alone.",
                         effects.varied.size() - kKnobs);
  if (!effects.fixed.empty()) {
    words += " One value in all plans:";
    for (const std::string& knob : effects.fixed) words += " " + escape(knob);
    words += ".";
  }
  return out + note(words) + table_twin({"Knob", "Value", "Plans", "Best", "Median", "Worst"}, rows, 2);
}

}  // namespace

Result<std::string> knobs_section(const Data& data) {
  ZB_TRY(data.trials);
  return for_each_group(data, [&](const Group& group) { return group_knobs(data, group); });
}

}  // namespace zomboss::report
