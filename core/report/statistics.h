// The numbers behind the drawings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/report/data.h"

namespace zomboss::report {

double median_of(std::vector<double> values);  // 0 of none
double quantile_of(const std::vector<double>& sorted, double share);
double geometric_mean_of(const std::vector<double>& values);  // of the positive ones; 0 when there is none

// Best so far of one policy over its seeds. Between two positions the values stay those of the first.
struct Curve {
  std::vector<double> evaluation, median, low, high;
  bool quartiles = false;  // low and high are quartiles (from five seeds on), else the extremes
  size_t seeds = 0;
};
// At most `positions` long. Empty when no run verified Candidate-0.
Curve curve_of(const std::vector<const RunView*>& runs, size_t positions = 600);

// Of one policy over all groups: geometric mean of the median speed-up over Candidate-0.
struct MeanCurve {
  std::vector<double> evaluation, speedup;
  size_t groups = 0;
};
MeanCurve mean_curve_of(const Data& data, size_t policy, size_t positions = 400);

// What is known of one policy on one group.
struct Score {
  size_t runs = 0;
  double median = 0, low = 0, high = 0;  // best latency; 0 = nothing was verified
};
Score score_of(const std::vector<const RunView*>& runs);

struct ValueEffect {
  std::string value;
  size_t plans = 0;
  double best = 0, median = 0, worst = 0;  // relative to Candidate-0
};
struct KnobEffect {
  std::string section, knob;
  std::vector<ValueEffect> values;  // in the order of the domain
  // Share of the variance of log latency between its values, less what chance would explain (epsilon
  // squared).
  double explained = 0;
};
struct KnobEffects {
  std::vector<KnobEffect> varied;  // strongest first
  std::vector<std::string> fixed;  // knobs that had one value in all plans
  size_t plans = 0, verified = 0;  // read, and how many there were
  size_t missing = 0;              // plans whose decisions the history does not have
};
KnobEffects knob_effects_of(const Data& data, const Group& group);

}  // namespace zomboss::report
