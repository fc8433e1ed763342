// A number that a scalar register must hold when an instruction runs: a constant plus a multiple of the trip
// number of each enclosing rolled loop. Plain values; any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace zomboss::plena {

using LoopId = uint32_t;

struct AffineTerm {
  LoopId loop = 0;
  int64_t step = 0;  // never 0
  bool operator==(const AffineTerm&) const = default;
  auto operator<=>(const AffineTerm&) const = default;
};

struct Affine {
  int64_t base = 0;
  std::vector<AffineTerm> terms;  // ascending loops, which is from the outside in

  Affine() = default;
  Affine(int64_t constant) : base(constant) {}  // NOLINT: a constant is an Affine
  static Affine trip_of(LoopId loop) {
    Affine result;
    result.terms.push_back({loop, 1});
    return result;
  }

  Affine& operator+=(const Affine& other) {
    base += other.base;
    for (const AffineTerm& term : other.terms) {
      const auto at = std::lower_bound(terms.begin(), terms.end(), term.loop,
                                       [](const AffineTerm& each, LoopId loop) { return each.loop < loop; });
      if (at == terms.end() || at->loop != term.loop) {
        terms.insert(at, term);
      } else if ((at->step += term.step) == 0) {
        terms.erase(at);
      }
    }
    return *this;
  }
  Affine& operator*=(int64_t factor) {
    base *= factor;
    if (factor == 0) terms.clear();
    for (AffineTerm& term : terms) term.step *= factor;
    return *this;
  }
  friend Affine operator+(Affine a, const Affine& b) { return a += b; }
  friend Affine operator*(Affine a, int64_t factor) { return a *= factor; }
  friend Affine operator*(int64_t factor, Affine a) { return a *= factor; }
  friend Affine operator-(Affine a, int64_t constant) { return a += Affine(-constant); }
};

}  // namespace zomboss::plena
