#include "core/base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace zomboss {

std::string Hash::hex() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

Hash hash_bytes(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace zomboss
