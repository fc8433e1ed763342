#include "core/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/report/words.h"

namespace zomboss::report {
namespace {

// 1, 2 or 5 times a power of ten, for about `count` ticks.
double round_step(double range, double count) {
  const double raw = range / count;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  const double lead = raw / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

}  // namespace

Scale Scale::linear(double low, double high, double from, double to, bool round) {
  Scale scale;
  if (!(high > low)) high = low + std::max(1.0, std::abs(low) * 0.1);
  const double length = std::abs(to - from);
  const double step = round_step(high - low, std::clamp(length / 70, 2.0, 8.0));
  if (round) {
    low = std::floor(low / step + 1e-9) * step;
    high = std::ceil(high / step - 1e-9) * step;
  }
  scale.low_ = low;
  scale.high_ = high;
  scale.from_ = from;
  scale.to_ = to;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
    scale.ticks_.push_back(i * step);
  return scale;
}

Scale Scale::logarithmic(double low, double high, double from, double to) {
  Scale scale;
  low = std::max(low, 1e-300);
  if (!(high > low)) high = low * 1.1;
  scale.low_ = low / std::pow(high / low, 0.04);
  scale.high_ = high * std::pow(high / low, 0.04);
  scale.from_ = from;
  scale.to_ = to;
  scale.logarithmic_ = true;
  const auto limit = static_cast<size_t>(std::clamp(std::abs(to - from) / 45, 3.0, 9.0));
  for (const std::vector<double>& leads : {std::vector<double>{1, 2, 3, 5, 7}, std::vector<double>{1, 2, 5},
                                           std::vector<double>{1, 3}, std::vector<double>{1}}) {
    scale.ticks_.clear();
    for (double power = std::floor(std::log10(scale.low_)); power <= std::log10(scale.high_); ++power) {
      for (const double lead : leads) {
        const double tick = lead * std::pow(10, power);
        if (tick >= scale.low_ && tick <= scale.high_) scale.ticks_.push_back(tick);
      }
    }
    if (scale.ticks_.size() <= limit) break;
  }
  while (scale.ticks_.size() > limit) {  // many decades: every second, fourth, ...
    std::vector<double> half;
    for (size_t i = 0; i < scale.ticks_.size(); i += 2) half.push_back(scale.ticks_[i]);
    scale.ticks_ = std::move(half);
  }
  return scale;
}

Scale Scale::fitting(double low, double high, double from, double to, bool round) {
  if (low > 0 && high > 4 * low) return logarithmic(low, high, from, to);
  // Not from zero: these charts compare lines, not areas. Some room on both sides.
  const double room = 0.03 * (high - low);
  return linear(std::max(0.0, low - room), high + room, from, to, round);
}

double Scale::operator()(double value) const {
  const double share =
      logarithmic_ ? (std::log(std::max(value, 1e-300)) - std::log(low_)) / (std::log(high_) - std::log(low_))
                   : (value - low_) / (high_ - low_);
  return from_ + std::clamp(share, 0.0, 1.0) * (to_ - from_);
}

std::string pixels(double value) {
  const double tenths = std::round(value * 10);
  if (std::fmod(tenths, 10) == 0) return fmt::format("{:.0f}", tenths / 10 + 0.0);
  return fmt::format("{:.1f}", tenths / 10);
}

std::string step_path(const std::vector<double>& x, const std::vector<double>& y, double until_x) {
  if (x.empty()) return {};
  std::string out = "M" + pixels(x[0]) + "," + pixels(y[0]);
  for (size_t i = 1; i < x.size(); ++i) {
    if (pixels(y[i]) == pixels(y[i - 1])) continue;
    out += "H" + pixels(x[i]) + "V" + pixels(y[i]);
  }
  return out + "H" + pixels(until_x);
}

std::string band_path(const std::vector<double>& x, const std::vector<double>& low,
                      const std::vector<double>& high, double until_x) {
  if (x.empty()) return {};
  std::string out = step_path(x, high, until_x) + "V" + pixels(low.back());
  for (size_t i = x.size(); i-- > 0;) {
    const double next = i == 0 ? low[0] : low[i - 1];
    if (i > 0 && pixels(next) == pixels(low[i])) continue;
    out += "H" + pixels(x[i]);
    if (i > 0) out += "V" + pixels(next);
  }
  return out + "Z";
}

Svg::Svg(double width, double height, std::string_view label, std::string_view attributes) {
  out_ = fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\" {3}>",
      pixels(width), pixels(height), escape(label), attributes);
}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  out_ += fmt::format("<path class=\"{}\" d=\"M{},{}L{},{}\"/>", classes, pixels(x1), pixels(y1), pixels(x2),
                      pixels(y2));
}

void Svg::rect(double x, double y, double width, double height, std::string_view classes,
               std::string_view title, double radius, double opacity) {
  out_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", classes, pixels(x),
                      pixels(y), pixels(std::max(width, 0.0)), pixels(std::max(height, 0.0)));
  if (radius > 0) out_ += fmt::format(" rx=\"{}\"", pixels(radius));
  if (opacity < 1) out_ += fmt::format(" opacity=\"{:.2f}\"", opacity);
  out_ += title.empty() ? "/>" : fmt::format("><title>{}</title></rect>", escape(title));
}

void Svg::circle(double x, double y, double radius, std::string_view classes, std::string_view title) {
  out_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"{}\"", classes, pixels(x), pixels(y),
                      pixels(radius));
  out_ += title.empty() ? "/>" : fmt::format("><title>{}</title></circle>", escape(title));
}

void Svg::path(const std::string& data, std::string_view classes) {
  out_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", classes, data);
}

void Svg::text(double x, double y, std::string_view text, std::string_view classes, std::string_view anchor,
               double turn) {
  out_ += fmt::format("<text x=\"{}\" y=\"{}\"", pixels(x), pixels(y));
  if (!classes.empty()) out_ += fmt::format(" class=\"{}\"", classes);
  if (anchor != "start") out_ += fmt::format(" text-anchor=\"{}\"", anchor);
  if (turn != 0) out_ += fmt::format(" transform=\"rotate({} {} {})\"", pixels(turn), pixels(x), pixels(y));
  out_ += ">" + escape(text) + "</text>";
}

std::string Svg::finish() {
  return std::move(out_) + "</svg>";
}

void draw_axes(Svg& svg, const Frame& frame, const Scale& x, const Scale& y, std::string_view x_title,
               std::string_view y_title, std::string_view y_suffix) {
  for (const double tick : y.ticks()) {
    svg.line(frame.left, y(tick), frame.right, y(tick), "grid");
    svg.text(frame.left - 10, y(tick) + 4, short_number(tick) + std::string(y_suffix), "tick", "end");
  }
  svg.line(frame.left, frame.bottom, frame.right, frame.bottom, "axis");
  for (const double tick : x.ticks()) {
    svg.line(x(tick), frame.bottom, x(tick), frame.bottom + 5, "axis");
    svg.text(x(tick), frame.bottom + 20, short_number(tick), "tick", "middle");
  }
  if (!x_title.empty())
    svg.text((frame.left + frame.right) / 2, frame.bottom + 42, x_title, "title", "middle");
  // Above the axis and level, where it can be read without turning the head.
  if (!y_title.empty()) svg.text(frame.left - 10, frame.top - 14, y_title, "title", "start");
}

std::vector<double> spread(const std::vector<double>& wanted, double gap, double low, double high) {
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
  // Blocks of labels that touch stand centred on the mean of what they want.
  struct Block {
    double first = 0, wish = 0;
    size_t count = 0;
  };
  std::vector<Block> blocks;
  const auto place = [&](Block& block) {
    const double height = gap * static_cast<double>(block.count - 1);
    block.first =
        std::clamp(block.wish / static_cast<double>(block.count), low, std::max(low, high - height));
  };
  for (const size_t item : order) {
    Block block{0, wanted[item], 1};
    place(block);
    while (!blocks.empty() &&
           blocks.back().first + gap * static_cast<double>(blocks.back().count) > block.first) {
      const Block& above = blocks.back();
      const double shift = gap * static_cast<double>(above.count);
      block = {0, above.wish + block.wish - shift * static_cast<double>(block.count),
               above.count + block.count};
      blocks.pop_back();
      place(block);
    }
    blocks.push_back(block);
  }
  std::vector<double> placed(wanted.size());
  size_t next = 0;
  for (const Block& block : blocks)
    for (size_t i = 0; i < block.count; ++i)
      placed[order[next++]] = block.first + gap * static_cast<double>(i);
  return placed;
}

}  // namespace zomboss::report
