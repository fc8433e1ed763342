// When which engine works, in the fastest kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/report/sections.h"
#include "core/report/svg.h"
#include "core/report/words.h"

namespace zomboss::report {
namespace {

constexpr size_t kSpans = 700;  // of one engine; more are drawn as how busy each slice of time is

struct Span {
  double start = 0, end = 0;
  std::string label;
};

std::vector<Span> spans_of(const Json& engine) {
  std::vector<Span> spans;
  const Json& list = member(engine, "spans");
  if (!list.is_array()) return spans;
  for (const Json& item : list) {
    if (!item.is_array() || item.size() < 2) continue;
    const auto start = number_of(item[0]), end = number_of(item[1]);
    if (!start || !end || *end < *start) continue;
    spans.push_back({*start, *end, item.size() > 2 ? text_of(item[2]) : std::string()});
  }
  return spans;
}

// The time in which at least one span runs; commands in flight overlap.
double covered_time(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  double covered = 0, until = 0;
  for (const Span& span : spans) {
    covered += std::max(0.0, span.end - std::max(span.start, until));
    until = std::max(until, span.end);
  }
  return covered;
}

// Spans that overlap stand above each other, in up to four rows.
void draw_spans(Svg& svg, std::vector<Span> spans, const Scale& x, double y, double height,
                const std::string& classes, const std::string& unit) {
  constexpr size_t kRows = 4;
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.start < b.start; });
  std::vector<double> free_from;  // of each row
  std::vector<size_t> row_of;
  for (const Span& span : spans) {
    size_t row = 0;
    while (row < free_from.size() && free_from[row] > span.start) ++row;
    if (row == free_from.size() && row < kRows) free_from.push_back(0);
    row = std::min(row, kRows - 1);
    free_from[row] = std::max(free_from[row], span.end);
    row_of.push_back(row);
  }
  const double row_height = height / static_cast<double>(std::max<size_t>(free_from.size(), 1));
  for (size_t i = 0; i < spans.size(); ++i) {
    const Span& span = spans[i];
    const std::string title = fmt::format("{}{}{} to {}", span.label, span.label.empty() ? "" : ": ",
                                          latency_text(span.start, ""), latency_text(span.end, unit));
    const double width = x(span.end) - x(span.start);
    // A gap between neighbours as long as there is room for one.
    svg.rect(x(span.start), y + row_height * static_cast<double>(row_of[i]),
             std::max(width - (width > 2 ? 0.7 : 0), 0.6), row_height - (free_from.size() > 1 ? 1 : 0),
             classes, title, width > 4 ? 1 : 0);
  }
}

// Slices of two pixels, as opaque as the engine is busy in them.
void draw_slices(Svg& svg, const std::vector<Span>& spans, const Scale& x, double left, double right,
                 double y, double height, const std::string& classes) {
  constexpr double kSlice = 2;
  std::vector<double> busy(static_cast<size_t>((right - left) / kSlice) + 1);
  for (const Span& span : spans) {
    const double from = x(span.start) - left, to = x(span.end) - left;
    for (double at = from; at < to;) {
      const auto slice = static_cast<size_t>(at / kSlice);
      const double next = std::min(to, (static_cast<double>(slice) + 1) * kSlice);
      if (slice < busy.size()) busy[slice] += next - at;
      if (next <= at) break;
      at = next;
    }
  }
  const auto level = [&](size_t slice) { return std::round(10 * std::min(1.0, busy[slice] / kSlice)) / 10; };
  for (size_t first = 0; first < busy.size();) {  // equal neighbours are one rectangle
    size_t last = first;
    while (last + 1 < busy.size() && level(last + 1) == level(first)) ++last;
    if (level(first) > 0)
      svg.rect(left + kSlice * static_cast<double>(first), y, kSlice * static_cast<double>(last - first + 1),
               height, classes, {}, 0, level(first));
    first = last + 1;
  }
}

Result<std::string> group_timeline(const Data& data, const Group& group) {
  if (group.best_latency == 0) return nothing("Nothing was verified, so there is no kernel to draw.");
  const auto incumbent = incumbent_of(data, group);
  if (!incumbent.ok()) return nothing("No timeline: " + incumbent.status().message() + ".");
  const Json& timeline = member(*incumbent, "timeline");
  const Json& engines = member(timeline, "engines");
  if (!engines.is_array() || engines.empty())
    return nothing("The simulator of this target gives no timeline of its engines.");
  const std::string unit = text_of(member(timeline, "unit"));
  double end = number_of(member(timeline, "end")).value_or(0);
  std::vector<std::vector<Span>> spans;
  for (const Json& engine : engines) {
    spans.push_back(spans_of(engine));
    for (const Span& span : spans.back()) end = std::max(end, span.end);
  }
  if (end <= 0) return nothing("The timeline of the kernel is empty.");

  constexpr double kRow = 36, kTop = 14;
  const Frame frame{140, kTop, 900, kTop + kRow * static_cast<double>(engines.size())};
  const Scale x = Scale::linear(0, end, frame.left, frame.right, false);
  Svg svg(1000, frame.bottom + 52, "When each engine works");
  for (const double tick : x.ticks()) {
    svg.line(x(tick), frame.top, x(tick), frame.bottom, "grid");
    svg.text(x(tick), frame.bottom + 20, short_number(tick), "tick", "middle");
  }
  svg.line(frame.left, frame.bottom, frame.right, frame.bottom, "axis");
  svg.text((frame.left + frame.right) / 2, frame.bottom + 42, "Time, " + unit, "title", "middle");
  std::vector<std::vector<std::string>> rows;
  bool sliced = false;
  for (size_t i = 0; i < engines.size(); ++i) {
    const double y = frame.top + kRow * static_cast<double>(i) + 6;
    const std::string name = text_of(member(engines[i], "name"));
    // What the simulator calls busy may count overlapping commands several times.
    const double stated = number_of(member(engines[i], "busy")).value_or(end + 1);
    const double busy = stated <= end ? stated : covered_time(spans[i]);
    svg.rect(frame.left, y, frame.right - frame.left, kRow - 12, "lane");
    if (spans[i].size() > kSpans) {
      sliced = true;
      draw_slices(svg, spans[i], x, frame.left, frame.right, y, kRow - 12, policy_class(i));
    } else {
      draw_spans(svg, spans[i], x, y, kRow - 12, policy_class(i), unit);
    }
    svg.text(frame.left - 12, y + 16, elide(name, 17), "name", "end");
    svg.text(frame.right + 12, y + 16, percent_text(busy / end), "tick");
    rows.push_back({escape(name), latency_text(busy, escape(unit)), percent_text(busy / end),
                    grouped(uint64_t{spans[i].size()})});
  }
  const std::string words =
      sliced ? "Where an engine has too many spans to tell apart, the shade says how busy it is."
             : "Point at a span to see what it does.";
  return figure(svg.finish()) +
         note(words + " At the right: the share of the time in which the engine works.") +
         table_twin({"Engine", "Busy", "Share of " + latency_text(end, escape(unit)), "Spans"}, rows);
}

}  // namespace

Result<std::string> timeline_section(const Data& data) {
  return for_each_group(data, [&](const Group& group) { return group_timeline(data, group); });
}

}  // namespace zomboss::report
