// The best so far against evaluations.
#include <fmt/format.h>

#include <algorithm>

#include "core/report/sections.h"
#include "core/report/svg.h"
#include "core/report/words.h"

namespace zomboss::report {
namespace {

// A line of the chart, or a level.
struct Label {
  double y = 0;
  std::string text, value, classes;
};

// Labels at the right of the plot, moved apart, each with a thin line from where it belongs.
void draw_labels(Svg& svg, const Frame& frame, const std::vector<Label>& labels) {
  std::vector<double> wanted;
  for (const Label& label : labels) wanted.push_back(label.y);
  const std::vector<double> placed = spread(wanted, 32, frame.top + 4, frame.bottom - 8);
  for (size_t i = 0; i < labels.size(); ++i) {
    svg.path("M" + pixels(frame.right + 3) + "," + pixels(labels[i].y) + "L" + pixels(frame.right + 16) +
                 "," + pixels(placed[i]) + "H" + pixels(frame.right + 22),
             "leader " + labels[i].classes);
    svg.text(frame.right + 27, placed[i] - 1, elide(labels[i].text, 22), "end " + labels[i].classes);
    svg.text(frame.right + 27, placed[i] + 12, labels[i].value, "tick");
  }
}

struct Line {
  std::string name;
  size_t policy = 0;
  Curve curve;
};

// What the script shows under the pointer: pixels and values of each line.
std::string hover_data(const Frame& frame, const Scale& x, const std::vector<Line>& lines,
                       const std::string& unit) {
  Json series = Json::array();
  for (const Line& line : lines) {
    Json points = Json::array();
    double last = -1;
    for (size_t i = 0; i < line.curve.evaluation.size(); ++i) {
      if (line.curve.median[i] == last && i + 1 < line.curve.evaluation.size()) continue;
      last = line.curve.median[i];
      points.push_back({line.curve.evaluation[i], line.curve.median[i]});
    }
    series.push_back({{"name", line.name}, {"class", policy_class(line.policy)}, {"points", points}});
  }
  const Json data = {{"left", frame.left},     {"right", frame.right}, {"top", frame.top},
                     {"bottom", frame.bottom}, {"low", x.low()},       {"high", x.high()},
                     {"unit", unit},           {"series", series}};
  return "data-hover=\"" + escape(data.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\"";
}

std::string large_chart(const Group& group, const std::vector<Line>& lines, std::string& below) {
  const Frame frame{84, 44, 800, 390};
  double low = group.candidate0, high = group.candidate0, last = 1;
  for (const Line& line : lines) {
    low = std::min(low, *std::min_element(line.curve.low.begin(), line.curve.low.end()));
    high = std::max(high, *std::max_element(line.curve.high.begin(), line.curve.high.end()));
    last = std::max(last, line.curve.evaluation.back());
  }
  // Levels far away would flatten the lines; they are named below instead.
  const double searched_low = low, searched_high = high;
  const auto near = [&](double level) { return level > searched_low / 12 && level < searched_high * 4; };
  std::vector<std::pair<std::string, double>> levels = {{"Candidate-0", group.candidate0}};
  for (const auto& [name, level] :
       {std::pair<std::string, std::optional<double>>{group.baseline_label(), group.baseline},
        std::pair<std::string, std::optional<double>>{"Lower bound", group.bound}}) {
    if (!level || *level <= 0) continue;
    if (near(*level)) {
      levels.emplace_back(name, *level);
      low = std::min(low, *level);
      high = std::max(high, *level);
    } else {
      below += fmt::format(" {}, {}, is too far away for this scale.", escape(name),
                           latency_text(*level, escape(group.problem.unit)));
    }
  }
  const Scale x = Scale::linear(0, last, frame.left, frame.right, false);
  const Scale y = Scale::fitting(low, high, frame.bottom, frame.top);
  Svg svg(1000, 440, "Best latency so far against evaluations, by policy",
          hover_data(frame, x, lines, group.problem.unit));
  draw_axes(svg, frame, x, y, "Evaluations",
            "Best latency so far, " + group.problem.unit + (y.is_logarithmic() ? " (logarithmic)" : ""));
  std::vector<Label> labels;
  for (const auto& [name, level] : levels) {
    svg.line(frame.left, y(level), frame.right, y(level), "level");
    labels.push_back({y(level), name, latency_text(level, ""), "quiet"});
  }
  const auto scaled = [](const std::vector<double>& values, const Scale& scale) {
    std::vector<double> out;
    for (const double value : values) out.push_back(scale(value));
    return out;
  };
  for (const Line& line : lines) {
    const double end = x(line.curve.evaluation.back());
    if (line.curve.seeds > 1)
      svg.path(band_path(scaled(line.curve.evaluation, x), scaled(line.curve.low, y),
                         scaled(line.curve.high, y), end),
               "band " + policy_class(line.policy));
  }
  for (const Line& line : lines) {
    const double end = x(line.curve.evaluation.back());
    const double final = line.curve.median.back();
    svg.path(step_path(scaled(line.curve.evaluation, x), scaled(line.curve.median, y), end),
             "line " + policy_class(line.policy));
    svg.circle(end, y(final), 3.5, "dot " + policy_class(line.policy));
    labels.push_back({y(final), line.name,
                      latency_text(final, "") + ", " + ratio_text(group.candidate0 / final),
                      policy_class(line.policy)});
  }
  draw_labels(svg, frame, labels);
  return svg.finish();
}

std::vector<Line> lines_of(const Data& data, const Group& group) {
  std::vector<Line> lines;
  for (size_t policy = 0; policy < data.policies.size(); ++policy) {
    Curve curve = curve_of(data.of(group, policy));
    if (!curve.evaluation.empty()) lines.push_back({data.policies[policy], policy, std::move(curve)});
  }
  return lines;
}

// At which evaluations the lines are printed: the start, a few rounded shares, the end.
std::string lines_table(const Group& group, const std::vector<Line>& lines) {
  double last = 0;
  for (const Line& line : lines) last = std::max(last, line.curve.evaluation.back());
  std::vector<std::string> head = {"Evaluations"};
  for (const Line& line : lines)
    head.push_back(escape(line.name) + (line.curve.seeds < 2   ? ""
                                        : line.curve.quartiles ? " median (quartiles)"
                                                               : " median (range)"));
  std::vector<double> positions;
  for (int i = 0; i <= 12; ++i) positions.push_back(std::round(last * i / 12));
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  std::vector<std::vector<std::string>> rows;
  for (const double position : positions) {
    std::vector<std::string> row = {grouped(position, 0)};
    for (const Line& line : lines) {
      const auto after =
          std::upper_bound(line.curve.evaluation.begin(), line.curve.evaluation.end(), position);
      const auto at = static_cast<size_t>(after - line.curve.evaluation.begin()) - 1;
      std::string cell = latency_text(line.curve.median[at], "");
      if (line.curve.seeds > 1)
        cell += fmt::format(" ({} to {})", latency_text(line.curve.low[at], ""),
                            latency_text(line.curve.high[at], ""));
      row.push_back(cell);
    }
    rows.push_back(std::move(row));
  }
  rows.push_back({"Candidate-0 " + latency_text(group.candidate0, "")});
  if (group.baseline)
    rows.push_back({escape(group.baseline_label()) + " " + latency_text(*group.baseline, "")});
  if (group.bound) rows.push_back({"Lower bound " + latency_text(*group.bound, "")});
  return table_twin(head, rows);
}

Result<std::string> group_chart(const Data& data, const Group& group) {
  const std::vector<Line> lines = lines_of(data, group);
  if (lines.empty()) return nothing("No run verified its Candidate-0, so there is no latency to follow.");
  std::string below;
  const std::string chart = large_chart(group, lines, below);
  const bool bands =
      std::any_of(lines.begin(), lines.end(), [](const Line& line) { return line.curve.seeds > 1; });
  const bool quartiles =
      std::any_of(lines.begin(), lines.end(), [](const Line& line) { return line.curve.quartiles; });
  std::string words =
      !bands      ? "Each line is one run."
      : quartiles ? "Lines are medians over seeds, bands the quartiles (of fewer than five seeds: the range)."
                  : "Lines are medians over seeds, bands their range.";
  return figure(chart) + note(words + below) + lines_table(group, lines);
}

// Speed-up of each policy over all workloads.
std::string mean_chart(const Data& data) {
  const Frame frame{84, 44, 800, 330};
  double high = 1, last = 1;
  std::vector<MeanCurve> curves;
  for (size_t policy = 0; policy < data.policies.size(); ++policy) {
    curves.push_back(mean_curve_of(data, policy));
    if (curves.back().speedup.empty()) continue;
    high = std::max(high, *std::max_element(curves.back().speedup.begin(), curves.back().speedup.end()));
    last = std::max(last, curves.back().evaluation.back());
  }
  const Scale x = Scale::linear(0, last, frame.left, frame.right, false);
  const Scale y = Scale::linear(1, high + 0.06 * std::max(high - 1, 0.5), frame.bottom, frame.top, false);
  Svg svg(1000, 380, "Geometric mean of the speed-up over Candidate-0 against evaluations, by policy");
  draw_axes(svg, frame, x, y, "Evaluations of each run",
            "Speed-up over Candidate-0, geometric mean of the workloads", "×");
  std::vector<Label> labels;
  std::vector<std::vector<std::string>> rows;
  for (size_t policy = 0; policy < curves.size(); ++policy) {
    const MeanCurve& curve = curves[policy];
    if (curve.speedup.empty()) continue;
    std::vector<double> xs, ys;
    for (size_t i = 0; i < curve.speedup.size(); ++i) {
      xs.push_back(x(curve.evaluation[i]));
      ys.push_back(y(curve.speedup[i]));
    }
    svg.path(step_path(xs, ys, xs.back()), "line " + policy_class(policy));
    svg.circle(xs.back(), ys.back(), 3.5, "dot " + policy_class(policy));
    labels.push_back(
        {ys.back(), data.policies[policy], ratio_text(curve.speedup.back()), policy_class(policy)});
    const auto at = [&](double share) {
      const double position = share * curve.evaluation.back();
      const auto after = std::upper_bound(curve.evaluation.begin(), curve.evaluation.end(), position);
      return ratio_text(curve.speedup[static_cast<size_t>(after - curve.evaluation.begin()) - 1]);
    };
    rows.push_back(
        {escape(data.policies[policy]), grouped(uint64_t{curve.groups}), at(0.1), at(0.25), at(0.5), at(1)});
  }
  draw_labels(svg, frame, labels);
  return figure(svg.finish()) +
         note(
             "For each workload the median over seeds, then the geometric mean over the workloads that the "
             "policy "
             "has runs of.") +
         table_twin({"Policy", "Workloads", "at 10 %", "at 25 %", "at half", "at the end"}, rows);
}

// All workloads at a glance: latency relative to Candidate-0, medians alone.
std::string small_charts(const Data& data) {
  constexpr size_t kCharts = 60;
  double low = 1, last = 1;
  std::vector<std::pair<const Group*, std::vector<Line>>> charts;
  for (const Group& group : data.groups) {
    std::vector<Line> lines = lines_of(data, group);
    if (lines.empty() || charts.size() >= kCharts) continue;
    for (const Line& line : lines) {
      low = std::min(low, line.curve.median.back() / group.candidate0);
      last = std::max(last, line.curve.evaluation.back());
    }
    charts.emplace_back(&group, std::move(lines));
  }
  std::string out = "<div class=\"minis\">";
  for (const auto& [group, lines] : charts) {
    const Frame frame{34, 8, 228, 104};
    const Scale x = Scale::linear(0, last, frame.left, frame.right, false);
    const Scale y = Scale::fitting(low, 1, frame.bottom, frame.top);
    Svg svg(236, 124, "Best so far of " + group->name + ", relative to Candidate-0");
    for (const double tick : y.ticks()) {
      svg.line(frame.left, y(tick), frame.right, y(tick), "grid");
      svg.text(frame.left - 6, y(tick) + 4, short_number(tick), "tick small", "end");
    }
    for (const auto& [name, level] :
         {std::pair("baseline", group->baseline), std::pair("lower bound", group->bound)}) {
      const double share = level.value_or(0) / group->candidate0;
      if (share >= y.low() && share <= y.high())
        svg.line(frame.left, y(share), frame.right, y(share), "level");
    }
    svg.line(frame.left, frame.bottom, frame.right, frame.bottom, "axis");
    svg.text(frame.right, frame.bottom + 15, short_number(last), "tick small", "end");
    for (const Line& line : lines) {
      std::vector<double> xs, ys;
      for (size_t i = 0; i < line.curve.evaluation.size(); ++i) {
        xs.push_back(x(line.curve.evaluation[i]));
        ys.push_back(y(line.curve.median[i] / group->candidate0));
      }
      svg.path(step_path(xs, ys, xs.back()), "line thin " + policy_class(line.policy));
    }
    out += fmt::format("<div><h4>{}<small>{}</small></h4>{}</div>", escape(elide(group->name, 24)),
                       ratio_text(group->speedup()), svg.finish());
  }
  std::vector<std::pair<std::string, std::string>> entries;
  for (size_t policy = 0; policy < data.policies.size(); ++policy)
    entries.emplace_back(policy_class(policy), data.policies[policy]);
  out = "<h3>Each workload</h3>" + legend(entries) + out + "</div>";
  out += note(
      "Latency relative to Candidate-0 against evaluations, the medians over seeds; dashed: baseline and "
      "lower "
      "bound, where they are in view. In the corner: the best speed-up. Large, with their tables:");
  if (data.groups.size() > kCharts) out += note(fmt::format("The first {} workloads.", kCharts));
  return out;
}

}  // namespace

Result<std::string> progress_section(const Data& data) {
  ZB_TRY(data.trials);
  if (data.groups.size() == 1) return group_chart(data, data.groups[0]);
  ZB_ASSIGN(const std::string each,
            for_each_group(
                data, [&](const Group& group) { return group_chart(data, group); }, false));
  return mean_chart(data) + small_charts(data) + "<div class=\"groups\">" + each + "</div>";
}

}  // namespace zomboss::report
