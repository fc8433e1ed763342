// An array of floats that starts as zeros and costs memory and time only where it is touched: the system
// provides its pages. For the memories of a machine that a program uses a small part of. Owns its memory; not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace zomboss::plena {

class LazyFloats {
 public:
  LazyFloats() = default;
  // Throws std::bad_alloc when the system has no room.
  explicit LazyFloats(size_t size)
      : values_(static_cast<float*>(std::calloc(std::max<size_t>(1, size), sizeof(float)))), size_(size) {
    if (values_ == nullptr) throw std::bad_alloc();
  }

  size_t size() const { return size_; }
  float* data() { return values_.get(); }
  const float* data() const { return values_.get(); }
  float& operator[](size_t index) { return values_[index]; }
  const float& operator[](size_t index) const { return values_[index]; }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };

  std::unique_ptr<float[], Free> values_;
  size_t size_ = 0;
};

}  // namespace zomboss::plena
