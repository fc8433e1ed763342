// Internal to the cycle model: a queue in one block of memory that grows when it must.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace zomboss::gemmini::timing {

// A copy holds the same elements; T is cheap to copy.
template <typename T>
class Ring {
 public:
  bool empty() const { return head_ == tail_; }
  size_t size() const { return tail_ - head_; }
  T& front() { return items_[head_ & mask_]; }
  const T& front() const { return items_[head_ & mask_]; }
  T& back() { return items_[(tail_ - 1) & mask_]; }
  T& operator[](size_t index) { return items_[(head_ + index) & mask_]; }
  const T& operator[](size_t index) const { return items_[(head_ + index) & mask_]; }

  // The new element, whose fields are left over from earlier ones: assign all of them.
  T& push() {
    if (size() == items_.size()) grow();
    return items_[tail_++ & mask_];
  }
  void push_back(const T& value) { push() = value; }
  void pop_front() { ++head_; }
  void clear() { head_ = tail_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 4 : 2 * items_.size());
    const size_t count = size();
    for (size_t n = 0; n < count; ++n) larger[n] = (*this)[n];
    items_ = std::move(larger);
    mask_ = items_.size() - 1;
    head_ = 0;
    tail_ = count;
  }

  std::vector<T> items_;  // a power of two
  size_t mask_ = 0;
  size_t head_ = 0, tail_ = 0;
};

}  // namespace zomboss::gemmini::timing
