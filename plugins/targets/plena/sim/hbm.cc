#include "plugins/targets/plena/sim/hbm.h"

#include <algorithm>

namespace zomboss::plena {

void Hbm::count(uint64_t block, bool write) {
  const uint64_t address = block * kHbmBlockBytes;
  auto found =
      std::upper_bound(tensors_.begin(), tensors_.end(), address,
                       [](uint64_t value, const TensorTraffic& tensor) { return value < tensor.begin; });
  if (found != tensors_.begin() && address < (--found)->end) {
    (write ? found->written_bytes : found->read_bytes) += kHbmBlockBytes;
  } else {
    (write ? other_written_bytes_ : other_read_bytes_) += kHbmBlockBytes;
  }
}

uint64_t Hbm::read_blocks(std::span<const uint64_t> blocks, uint64_t now) {
  read_bytes_ += blocks.size() * kHbmBlockBytes;
  if (tensors_.empty()) {
    other_read_bytes_ += blocks.size() * kHbmBlockBytes;
  } else {
    for (const uint64_t block : blocks) count(block, false);
  }
  return timing_.read(blocks, now);
}

bool Hbm::merge(uint64_t address, std::span<const uint8_t> data, uint64_t& now) {
  while (!data.empty()) {
    const uint64_t block = address / kHbmBlockBytes;
    const size_t size = std::min<size_t>(data.size(), kHbmBlockBytes - address % kHbmBlockBytes);
    now = read_blocks({&block, 1}, now);
    if (block >= bytes_.capacity() / kHbmBlockBytes) return false;
    bytes_.write(address, data.first(size));
    now = timing_.write(block, now);
    written_bytes_ += kHbmBlockBytes;
    count(block, true);
    data = data.subspan(size);
    address += size;
  }
  return true;
}

void Hbm::report(Profile& profile) const {
  profile.hbm_read_bytes = read_bytes_;
  profile.hbm_written_bytes = written_bytes_;
  profile.tensors = tensors_;
  profile.other_read_bytes = other_read_bytes_;
  profile.other_written_bytes = other_written_bytes_;
}

}  // namespace zomboss::plena
