// The byte format of saved policy states: little-endian numbers, a magic word and a version in front, a
// checksum at the end. Reading trusts nothing; after the first damage every read gives zeros and ok() is
// false.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "zomboss/sdk/message.h"
#include "zomboss/sdk/status.h"

namespace zomboss::policies {

// FNV-1a, 64 bits: notices damage, no defence against malice.
inline uint64_t fnv1a(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

class StateWriter {
 public:
  void u32(uint32_t value) { number(value, 4); }
  void u64(uint64_t value) { number(value, 8); }
  void f64(double value) { u64(std::bit_cast<uint64_t>(value)); }
  void text(std::string_view value) {
    u64(value.size());
    bytes_ += value;
  }
  void point(const std::vector<uint32_t>& point) {
    for (const uint32_t value : point) u32(value);
  }
  const std::string& bytes() const { return bytes_; }
  // The bytes with their checksum.
  std::string finish() && {
    u64(fnv1a(bytes_));
    return std::move(bytes_);
  }

 private:
  void number(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
  }
  std::string bytes_;
};

class StateReader {
 public:
  // Checks the checksum and cuts it off.
  explicit StateReader(Bytes bytes) : bytes_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {
    ok_ = bytes_.size() >= 8;
    if (!ok_) return;
    const std::string_view all = bytes_;
    bytes_ = all.substr(all.size() - 8);
    const uint64_t checksum = u64();
    bytes_ = all.substr(0, all.size() - 8);
    ok_ = checksum == fnv1a(bytes_);
  }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  double f64() { return std::bit_cast<double>(u64()); }
  std::string text() {
    const size_t size = count(1);
    const std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return value;
  }
  // A number of items of at least `item_bytes` each: never more than can follow.
  size_t count(size_t item_bytes) {
    const uint64_t value = u64();
    if (value > bytes_.size() / item_bytes) fail();
    return ok_ ? static_cast<size_t>(value) : 0;
  }
  void fail() { ok_ = false; }
  bool ok() const { return ok_; }
  Status finish(std::string_view what) const {
    if (ok_ && bytes_.empty()) return {};
    return data_loss("the saved state of the " + std::string(what) +
                     " policy is damaged or of another search");
  }

 private:
  uint64_t number(size_t size) {
    if (!ok_ || bytes_.size() < size) {
      fail();
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= uint64_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    bytes_.remove_prefix(size);
    return value;
  }
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace zomboss::policies
