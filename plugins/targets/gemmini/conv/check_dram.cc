#include "plugins/targets/gemmini/conv/check_dram.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace zomboss::gemmini::conv {

CheckedDram::CheckedDram(const Problem& problem, const Form& form) {
  for (const PlacedBuffer& placed : placed_buffers(problem, form)) {
    Region region{placed.address, static_cast<uint64_t>(placed.buffer.bytes), placed.buffer.role, {}, {}};
    const bool writable = region.role == wire::BufferRole::Output || region.role == wire::BufferRole::Scratch;
    if (writable) region.written.assign(region.bytes, 0);
    regions_.push_back(std::move(region));
  }
  for (const auto* list : {&problem.before, &problem.after})
    for (const Copy& copy : *list) copies_.push_back({copy, 0, 0});
  copies_.insert(copies_.end(), form.before.begin(), form.before.end());
  for (const OffsetCopy& copy : copies_) {
    Region& target = regions_[copy.target];
    target.origin.assign(target.bytes, 0);
  }
}

const CheckedDram::Region* CheckedDram::find(uint64_t address, uint64_t bytes) const {
  const auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                      [](uint64_t at, const Region& region) { return at < region.address; });
  if (after == regions_.begin()) return nullptr;
  const Region& region = *std::prev(after);
  return address + bytes <= region.address + region.bytes ? &region : nullptr;
}

const char* CheckedDram::read(uint64_t address, uint64_t bytes) const {
  const Region* region = find(address, bytes);
  if (region == nullptr) return "not inside a buffer";
  if (region->role == wire::BufferRole::Output) return "the output is never read";
  if (region->role != wire::BufferRole::Scratch) return nullptr;
  const uint64_t first = address - region->address;
  for (uint64_t i = first; i < first + bytes; ++i)
    if (region->written[i] == epoch_) return "written without a fence since";
  return nullptr;
}

const char* CheckedDram::write(uint64_t address, uint64_t bytes) {
  const Region* found = find(address, bytes);
  if (found == nullptr) return "not inside a buffer";
  Region& region = regions_[static_cast<size_t>(found - regions_.data())];
  if (region.written.empty()) return "not a buffer that may be written";
  const uint64_t first = address - region.address;
  for (uint64_t i = first; i < first + bytes; ++i) {
    if (region.written[i] != 0) return "written twice";
    region.written[i] = epoch_;
  }
  return nullptr;
}

void CheckedDram::copied(uint64_t target, uint64_t source, uint32_t elements, uint32_t element_bytes) {
  const Region* found = find(target, uint64_t{elements} * element_bytes);
  if (found == nullptr || found->origin.empty()) return;
  Region& region = regions_[static_cast<size_t>(found - regions_.data())];
  for (uint64_t i = 0; i < elements; ++i)
    region.origin[target - region.address + i * element_bytes] = source + i * element_bytes;
}

Status CheckedDram::check_copy(const OffsetCopy& copy, uint64_t& elements) const {
  const Region &source = regions_[copy.source], &target = regions_[copy.target];
  const int64_t bytes = copy.element_bytes;
  std::vector<int64_t> at(copy.loops.size(), 0);
  for (bool more = true; more;) {
    int64_t from = copy.source_offset, to = copy.target_offset;
    for (size_t i = 0; i < at.size(); ++i) {
      from += at[i] * copy.loops[i].source_stride;
      to += at[i] * copy.loops[i].target_stride;
    }
    ++elements;
    if (target.origin[static_cast<size_t>(to * bytes)] !=
        source.address + static_cast<uint64_t>(from * bytes))
      return internal_error(fmt::format(
          "gemmini: kernel check failed: element {} of buffer {} was not copied", to, copy.target));
    more = false;
    for (size_t i = at.size(); i-- > 0 && !more;) {
      if (++at[i] < copy.loops[i].extent)
        more = true;
      else
        at[i] = 0;
    }
  }
  return {};
}

Status CheckedDram::check_complete() const {
  std::map<uint32_t, uint64_t> filled;  // bytes that copies bring to a buffer
  for (const OffsetCopy& copy : copies_) {
    uint64_t elements = 0;
    ZB_TRY(check_copy(copy, elements));
    filled[copy.target] += elements * copy.element_bytes;
  }
  for (size_t i = 0; i < regions_.size(); ++i) {
    const Region& region = regions_[i];
    if (region.written.empty()) continue;
    const auto missing =
        static_cast<uint64_t>(std::count(region.written.begin(), region.written.end(), uint32_t{0}));
    const auto copied = filled.find(static_cast<uint32_t>(i));
    if (copied != filled.end() && region.bytes - missing != copied->second)
      return internal_error(
          fmt::format("gemmini: kernel check failed: {} bytes of buffer {} were written, not {}",
                      region.bytes - missing, i, copied->second));
    if (region.role == wire::BufferRole::Output && missing > 0)
      return internal_error(
          fmt::format("gemmini: kernel check failed: {} of {} bytes of the output are never written", missing,
                      region.bytes));
  }
  return {};
}

}  // namespace zomboss::gemmini::conv
