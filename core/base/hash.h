// Stable content hash (XXH3, 128 bits). The same bytes give the same hash on every machine and in every
// release; it identifies plans, workloads and specs, and is no defence against malice.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace zomboss {

struct Hash {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const Hash&) const = default;
  std::string hex() const;  // 32 lower-case digits
};

Hash hash_bytes(std::string_view bytes);

}  // namespace zomboss
