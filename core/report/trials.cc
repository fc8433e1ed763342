// Every trial: verified ones by latency, the others in lanes below.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/report/sections.h"
#include "core/report/svg.h"
#include "core/report/words.h"

namespace zomboss::report {
namespace {

struct Placed {
  double x = 0, y = 0;
  const RunView* view = nullptr;
  const Point* point = nullptr;
};

// One point for each cell of a grid, the lowest on screen (the fastest); the cells grow until few enough are
// left.
std::vector<Placed> thin_out(const std::vector<Placed>& points, size_t limit) {
  std::vector<Placed> kept = points;
  for (double cell = 2; kept.size() > limit; cell *= 1.4) {
    std::map<std::pair<int64_t, int64_t>, Placed> cells;
    for (const Placed& placed : kept) {
      const auto [entry, fresh] =
          cells.try_emplace({std::llround(placed.x / cell), std::llround(placed.y / cell)}, placed);
      if (!fresh && placed.y > entry->second.y) entry->second = placed;
    }
    kept.clear();
    for (const auto& [at, placed] : cells) kept.push_back(placed);
  }
  return kept;
}

// A lane's strokes, one for each pair of pixels that has a trial.
std::string lane_path(const std::vector<double>& xs, double y, double height) {
  std::set<int64_t> columns;
  for (const double x : xs) columns.insert(std::llround(x / 2));
  std::string out;
  for (const int64_t column : columns) out += fmt::format("M{},{}v{}", column * 2, pixels(y), pixels(height));
  return out;
}

std::string trial_title(const Data& data, const RunView& view, const Point& point, const std::string& unit) {
  return fmt::format("{}, seed {}, trial {}: {}", data.policies[view.policy], view.run.seed,
                     grouped(point.number), latency_text(static_cast<double>(point.latency), unit));
}

std::string best_table(const Data& data, const Group& group) {
  constexpr size_t kRows = 60;
  std::vector<std::vector<std::string>> rows;
  for (const size_t index : group.runs) {
    const RunView& view = data.runs[index];
    const size_t shown = std::min(view.incumbents.size(), std::max<size_t>(5, kRows / group.runs.size()));
    for (size_t i = view.incumbents.size() - shown; i < view.incumbents.size(); ++i) {
      const history::Trial& trial = view.incumbents[i];
      rows.push_back({escape(data.policies[view.policy]),
                      "<code>" + escape(elide(trial.intent, 160)) + "</code>", grouped(view.run.seed),
                      grouped(trial.number), grouped(trial.evaluation),
                      latency_text(static_cast<double>(trial.latency), ""),
                      ratio_text(static_cast<double>(view.run.candidate0_latency) /
                                 static_cast<double>(trial.latency))});
    }
  }
  return table_twin({"Policy", "Each new best, its intent", "Seed", "Trial", "Evaluation",
                     "Latency, " + escape(group.problem.unit), "Speed-up"},
                    rows, 2);
}

Result<std::string> group_trials(const Data& data, const Group& group) {
  size_t total = 0;
  double last = 1, low = 0, high = 0;      // of verified trials; Candidate-0 may be far away
  std::set<std::pair<int, size_t>> lanes;  // by stage; outcomes without a place of their own in the plot
  for (const size_t index : group.runs) {
    for (const Point& point : data.runs[index].points) {
      ++total;
      last = std::max(last, static_cast<double>(point.number));
      const std::string& name = data.outcomes[point.outcome];
      if (name != "valid") {
        lanes.insert({-outcome_of(name).order, point.outcome});
      } else if (point.latency != 0) {
        const auto latency = static_cast<double>(point.latency);
        low = low == 0 ? latency : std::min(low, latency);
        high = std::max(high, latency);
      }
    }
  }
  if (total == 0) return nothing("The runs have no trials yet.");
  if (low == 0) low = high = group.candidate0;
  const bool near = group.candidate0 > 0 && group.candidate0 < high + 1.5 * (high - low) &&
                    group.candidate0 > low - 1.5 * (high - low);
  if (near) {
    low = std::min(low, group.candidate0);
    high = std::max(high, group.candidate0);
  }
  constexpr double kLane = 22;
  const Frame frame{150, 44, 976, 330};
  const double lanes_top = frame.bottom + 14;
  const double lanes_bottom = lanes_top + kLane * static_cast<double>(lanes.size());
  const Scale x = Scale::linear(0, last, frame.left, frame.right, false);
  const Scale y = low > 0 ? Scale::fitting(low, high, frame.bottom, frame.top)
                          : Scale::linear(0, 1, frame.bottom, frame.top);

  Svg svg(1000, lanes_bottom + 52, "Trials by outcome; verified ones by latency");
  const Frame outer{frame.left, frame.top, frame.right, lanes.empty() ? frame.bottom : lanes_bottom};
  draw_axes(svg, outer, x, y, "Trials of each run, in order",
            "Latency, " + group.problem.unit + (y.is_logarithmic() ? " (logarithmic)" : ""));
  if (near) svg.line(frame.left, y(group.candidate0), frame.right, y(group.candidate0), "level");
  std::vector<Placed> verified, best;
  std::map<size_t, std::vector<double>> others;
  for (const size_t index : group.runs) {
    const RunView& view = data.runs[index];
    for (const Point& point : view.points) {
      const double at = x(static_cast<double>(point.number));
      if (data.outcomes[point.outcome] != "valid")
        others[point.outcome].push_back(at);
      else if (point.latency != 0)
        (point.incumbent ? best : verified)
            .push_back({at, y(static_cast<double>(point.latency)), &view, &point});
    }
  }
  const size_t limit = data.groups.size() > 6 ? 400 : 1000;
  const size_t shown_of = verified.size() + best.size();
  verified = thin_out(verified, limit);
  best = thin_out(best, limit / 4);
  for (const Placed& placed : verified)
    svg.circle(placed.x, placed.y, 2.6, "point",
               trial_title(data, *placed.view, *placed.point, group.problem.unit));
  for (const Placed& placed : best)
    svg.circle(placed.x, placed.y, 4, "point best",
               trial_title(data, *placed.view, *placed.point, group.problem.unit));
  // Over the points, so that none covers it.
  if (near) svg.text(frame.right, y(group.candidate0) - 6, "Candidate-0", "tick halo", "end");
  double lane_y = lanes_top;
  for (const auto& [order, outcome] : lanes) {
    const Outcome known = outcome_of(data.outcomes[outcome]);
    const std::string name(known.stage.empty() ? std::string_view(data.outcomes[outcome]) : known.stage);
    svg.rect(frame.left, lane_y + 3, frame.right - frame.left, kLane - 6, "lane");
    svg.path(lane_path(others[outcome], lane_y + 5, kLane - 10), "strokes " + std::string(known.classes));
    svg.text(frame.left - 10, lane_y + kLane / 2 + 4, elide(name, 20), "tick", "end");
    lane_y += kLane;
  }
  std::string words = "Rings are new bests.";
  if (!lanes.empty()) words += " Below: trials without a latency of their own, one lane for each outcome.";
  if (group.candidate0 > 0 && !near)
    words += fmt::format(" Candidate-0, {}, is out of view.",
                         latency_text(group.candidate0, escape(group.problem.unit)));
  if (verified.size() + best.size() < shown_of)
    words += fmt::format(
        " {} verified trials are drawn as {} points; where many fall together, the fastest stands for "
        "them.",
        grouped(uint64_t{shown_of}), grouped(uint64_t{verified.size() + best.size()}));
  return legend({{"dot", "verified"}, {"ring", "new best"}}) + figure(svg.finish()) + note(words) +
         best_table(data, group);
}

}  // namespace

Result<std::string> trials_section(const Data& data) {
  ZB_TRY(data.trials);
  return for_each_group(data, [&](const Group& group) { return group_trials(data, group); });
}

}  // namespace zomboss::report
