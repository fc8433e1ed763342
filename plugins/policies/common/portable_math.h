// Logarithm, exponential and the normal distribution from additions, multiplications and divisions alone, so
// that with -ffp-contract=off they give the same bits on every machine and with every C library. About 15
// digits, the distribution about 7. Pure functions.
#pragma once

#include <cmath>

namespace zomboss::policies {

// x > 0 and finite.
inline double portable_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // exact; 0.5 <= mantissa < 1
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 artanh((m - 1) / (m + 1)), and |(m - 1) / (m + 1)| < 0.172.
  const double t = (mantissa - 1) / (mantissa + 1);
  double sum = 0;
  for (int n = 21; n >= 1; n -= 2) sum = sum * (t * t) + 1.0 / n;
  return 2 * t * sum + exponent * 0.69314718055994531;
}

// 0 below -700; x <= 700.
inline double portable_exp(double x) {
  if (x < -700) return 0;
  const double whole = std::floor(x * 1.4426950408889634 + 0.5);
  const double rest = x - whole * 0.69314718055994531;  // |rest| <= 0.35
  double sum = 1;
  for (int n = 14; n >= 1; --n) sum = 1 + sum * rest / n;
  return std::ldexp(sum, static_cast<int>(whole));
}

inline double normal_density(double z) {
  return 0.39894228040143268 * portable_exp(-0.5 * z * z);
}

// P(Z <= z): Abramowitz and Stegun 7.1.26's successor with fractional error below 1.2e-7 everywhere (Press et
// al., "Numerical Recipes", erfc by a Chebyshev fit).
inline double normal_share(double z) {
  const double x = std::fabs(z) * 0.70710678118654752;
  const double t = 1 / (1 + 0.5 * x);
  constexpr double kFit[] = {-1.26551223, 1.00002368,  0.37409196, 0.09678418,  -0.18628806,
                             0.27886807,  -1.13520398, 1.48851587, -0.82215223, 0.17087277};
  double sum = 0;
  for (int i = 9; i >= 0; --i) sum = sum * t + kFit[i];
  const double tail = 0.5 * t * portable_exp(-x * x + sum);
  return z > 0 ? 1 - tail : tail;
}

}  // namespace zomboss::policies
