// Drawings: a scale with sensible ticks, an SVG text in the making, and the frame that all charts share.
// Colours come from classes (see style.cc), so that light, dark and print are the style sheet's business.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace zomboss::report {

// Maps values to pixels, linearly or by logarithm.
class Scale {
 public:
  // The domain grows to the next round numbers when `round` is set.
  static Scale linear(double low, double high, double from, double to, bool round = true);
  static Scale logarithmic(double low, double high, double from, double to);
  // Logarithmic when the values span more than a factor of four.
  static Scale fitting(double low, double high, double from, double to, bool round = true);

  double operator()(double value) const;  // clamped to the pixel range
  const std::vector<double>& ticks() const { return ticks_; }
  double low() const { return low_; }
  double high() const { return high_; }
  bool is_logarithmic() const { return logarithmic_; }

 private:
  double low_ = 0, high_ = 1, from_ = 0, to_ = 1;
  bool logarithmic_ = false;
  std::vector<double> ticks_;
};

// Steps through the points: horizontal, then vertical. "M0,1H2V3..."
std::string step_path(const std::vector<double>& x, const std::vector<double>& y, double until_x);
// The area between two such lines.
std::string band_path(const std::vector<double>& x, const std::vector<double>& low,
                      const std::vector<double>& high, double until_x);
std::string pixels(double value);  // at most one decimal

class Svg {
 public:
  // `label` is what a screen reader says. `attributes` goes into the <svg> tag as it is.
  Svg(double width, double height, std::string_view label, std::string_view attributes = {});

  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void rect(double x, double y, double width, double height, std::string_view classes,
            std::string_view title = {}, double radius = 0, double opacity = 1);
  void circle(double x, double y, double radius, std::string_view classes, std::string_view title = {});
  void path(const std::string& data, std::string_view classes);
  // Anchor: "start", "middle", "end".
  void text(double x, double y, std::string_view text, std::string_view classes = {},
            std::string_view anchor = "start", double turn = 0);
  void raw(std::string_view text) { out_ += text; }
  std::string finish();

 private:
  std::string out_;
};

struct Frame {
  double left = 0, top = 0, right = 0, bottom = 0;  // of the plot area, in pixels
};
// Grid lines, axes and their tick labels and titles. `y_suffix` stands behind each y label.
void draw_axes(Svg& svg, const Frame& frame, const Scale& x, const Scale& y, std::string_view x_title,
               std::string_view y_title, std::string_view y_suffix = {});

// Moves labels apart: positions (any order) with at least `gap` between them inside [low, high], each as near
// to where it wants to be as the order allows.
std::vector<double> spread(const std::vector<double>& wanted, double gap, double low, double high);

}  // namespace zomboss::report
