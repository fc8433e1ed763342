// The bytes of the HBM: a large address range of which only the touched pages exist. Reads past the capacity
// give zeros, writes past it are the caller's to refuse. Owns its pages; not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace zomboss::plena {

class ByteMemory {
 public:
  static constexpr uint64_t kPageBytes = uint64_t{1} << 16;

  explicit ByteMemory(uint64_t capacity);

  uint64_t capacity() const { return capacity_; }
  void read(uint64_t address, std::span<uint8_t> bytes) const;
  // All of the range must lie below the capacity.
  void write(uint64_t address, std::span<const uint8_t> bytes);

 private:
  static constexpr uint64_t kPagesPerGroup = 512;
  using Page = std::unique_ptr<uint8_t[]>;
  using Group = std::array<Page, kPagesPerGroup>;

  const uint8_t* find_page(uint64_t page) const;
  uint8_t* make_page(uint64_t page);

  uint64_t capacity_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace zomboss::plena
