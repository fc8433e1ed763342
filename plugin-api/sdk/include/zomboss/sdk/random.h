// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
// SC'11). Output depends only on (seed, stream, position): no hidden state, the same on every standard
// library. One Random is used by one thread; copies are independent and continue identically.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace zomboss {

// The raw block function: counter and key to four words, ten rounds.
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// A stream of numbers for (seed, stream), e.g. (run seed, trial number).
class Random {
 public:
  constexpr Random(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  constexpr uint32_t next_u32() {
    const auto lane = static_cast<uint32_t>(position_ % 4);
    if (lane == 0) {
      const uint64_t block = position_ / 4;
      words_ = philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                           static_cast<uint32_t>(stream_), static_cast<uint32_t>(stream_ >> 32)},
                          {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
    }
    ++position_;
    return words_[lane];
  }
  constexpr uint64_t next_u64() {
    const uint64_t low = next_u32();
    return low | (uint64_t{next_u32()} << 32);
  }
  // Uniform in [0, bound); bound > 0. Unbiased (rejection).
  constexpr uint64_t below(uint64_t bound) {
    const uint64_t threshold = (0 - bound) % bound;
    for (;;) {
      const uint64_t value = next_u64();
      if (value >= threshold) return value % bound;
    }
  }
  // Uniform in [low, high], both ends included.
  constexpr int64_t between(int64_t low, int64_t high) {
    const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    const uint64_t offset = width == 0 ? next_u64() : below(width);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
  }
  // Uniform in [0, 1), 53 bits.
  constexpr double unit() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }
  // Standard normal by Box and Muller.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
    return radius * std::cos(6.283185307179586 * unit());
  }
  // Numbers drawn so far; a stream is resumed by skip_to(position()).
  constexpr uint64_t position() const { return position_; }
  constexpr void skip_to(uint64_t position) {
    position_ = position - position % 4;
    while (position_ < position) next_u32();
  }

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t position_ = 0;
  std::array<uint32_t, 4> words_{};
};

}  // namespace zomboss
