#include "plugins/targets/gemmini/matmul/check_dram.h"

#include <fmt/format.h>

#include <algorithm>

namespace zomboss::gemmini {

CheckedDram::CheckedDram(const Problem& problem, const Form& form, const std::vector<uint64_t>& addresses) {
  const auto add = [&](wire::BufferRole role, int64_t bytes) {
    regions_.push_back({addresses[regions_.size()], static_cast<uint64_t>(bytes), role, {}, {}});
    const bool writable = role == wire::BufferRole::Output || role == wire::BufferRole::Scratch;
    if (writable) regions_.back().written.assign(static_cast<size_t>(bytes), 0);
  };
  for (const Buffer& buffer : problem.buffers) add(buffer.role, buffer.bytes);
  for (const Scratch& scratch : form.scratch)
    add(wire::BufferRole::Scratch, scratch.elements * scratch.element_bytes);
  for (const auto* list : {&problem.before, &form.before, &form.after, &problem.after})
    for (const Copy& copy : *list) copies_.push_back(&copy);
  for (const Copy* copy : copies_) {
    Region& target = regions_[copy->target];
    target.origin.assign(target.bytes, 0);
  }
}

CheckedDram::Region* CheckedDram::find(uint64_t address, uint64_t bytes) {
  const auto after = std::upper_bound(regions_.begin(), regions_.end(), address,
                                      [](uint64_t at, const Region& region) { return at < region.address; });
  if (after == regions_.begin()) return nullptr;
  Region& region = *std::prev(after);
  return address + bytes <= region.address + region.bytes ? &region : nullptr;
}

const char* CheckedDram::read(uint64_t address, uint64_t bytes) {
  const Region* region = find(address, bytes);
  if (region == nullptr) return "not inside a buffer";
  if (region->role == wire::BufferRole::Output) return "the output is never read";
  if (region->role != wire::BufferRole::Scratch) return nullptr;
  for (uint64_t i = address - region->address; i < address - region->address + bytes; ++i) {
    if (region->written[i] == 0) return "scratch that nothing has written";
    if (region->written[i] == epoch_) return "scratch that was written without a fence since";
  }
  return nullptr;
}

const char* CheckedDram::write(uint64_t address, uint64_t bytes) {
  Region* region = find(address, bytes);
  if (region == nullptr) return "not inside a buffer";
  if (region->written.empty()) return "an input or a constant";
  for (uint64_t i = address - region->address; i < address - region->address + bytes; ++i) {
    if (region->written[i] != 0) return "written a second time";
    region->written[i] = epoch_;
  }
  return nullptr;
}

void CheckedDram::copied(uint64_t target, uint64_t source, uint32_t elements, uint32_t element_bytes) {
  Region* region = find(target, uint64_t{elements} * element_bytes);
  if (region == nullptr || region->origin.empty()) return;
  for (uint32_t i = 0; i < elements; ++i)
    region->origin[target - region->address + uint64_t{i} * element_bytes] =
        source + uint64_t{i} * element_bytes;
}

Status CheckedDram::check_copy(const Copy& copy) const {
  const Region& target = regions_[copy.target];
  std::vector<int64_t> at(copy.loops.size(), 0);
  for (bool more = true; more;) {
    int64_t from = 0, to = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      from += at[i] * copy.loops[i].source_stride;
      to += at[i] * copy.loops[i].target_stride;
    }
    const uint64_t source = regions_[copy.source].address + static_cast<uint64_t>(from) * copy.element_bytes;
    const uint64_t place = static_cast<uint64_t>(to) * copy.element_bytes;
    if (place >= target.bytes || target.origin[place] != source)
      return internal_error(
          fmt::format("gemmini: schedule check failed: a copy misses element {} of its target", to));
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
  for (const Region& region : regions_) {
    if (region.role != wire::BufferRole::Output) continue;
    const auto missing = std::find(region.written.begin(), region.written.end(), 0u);
    if (missing != region.written.end())
      return internal_error(
          fmt::format("gemmini: schedule check failed: byte {} of the output is never stored",
                      missing - region.written.begin()));
  }
  for (const Copy* copy : copies_) ZB_TRY(check_copy(*copy));
  return {};
}

}  // namespace zomboss::gemmini
