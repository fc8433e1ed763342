#include "plugins/targets/plena/sim/dram_channel.h"

#include <algorithm>

namespace zomboss::plena {
namespace {

// Minimum distances in clocks; the names are those of the HBM2 standard and of Ramulator.
constexpr int64_t kReadLatency = 11;          // nCL + nBL
constexpr int64_t kRowCommandGap = 2;         // on the channel's row command bus
constexpr int64_t kActivateToActivate = 2;    // nRRDS, one pseudochannel
constexpr int64_t kActivateSameGroup = 3;     // nRRDL
constexpr int64_t kActivateSameBank = 19;     // nRC
constexpr int64_t kFourActivates = 15;        // nFAW
constexpr int64_t kActivateToColumn = 7;      // nRCD
constexpr int64_t kActivateToPrecharge = 17;  // nRAS
constexpr int64_t kPrechargeToActivate = 7;   // nRP
constexpr int64_t kColumnToColumn = 2;        // nCCD
constexpr int64_t kReadToWrite = 11;
constexpr int64_t kWriteToRead = 9;
constexpr int64_t kWriteToReadSameGroup = 10;
constexpr int64_t kReadToPrecharge = 3;
constexpr int64_t kWriteToPrecharge = 14;
// Write mode begins above 0.8 of the nominal queue length of 32 and ends below 0.2 of it.
constexpr size_t kWriteModeAbove = 25;
constexpr size_t kReadModeBelow = 7;

void raise(int64_t& ready, int64_t clock) {
  ready = std::max(ready, clock);
}

}  // namespace

DramPlace place_of(uint64_t unit) {
  const auto bits = [unit](int low, uint32_t mask) { return static_cast<uint32_t>(unit >> low) & mask; };
  const uint32_t column = bits(0, 3) | bits(10, 7) << 2;
  DramPlace place;
  place.channel = bits(2, 7) ^ (column & 7);
  const uint32_t pseudo = bits(5, 1) ^ ((column >> 3) & 1);
  const uint32_t group = bits(6, 3) ^ ((column >> 4) & 1);
  place.bank = static_cast<uint8_t>(pseudo << 4 | group << 2 | bits(8, 3));
  place.row = unit >> 13;
  return place;
}

void RequestQueue::erase(size_t index) {
  std::copy(items_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
            items_.begin() + static_cast<std::ptrdiff_t>(size_),
            items_.begin() + static_cast<std::ptrdiff_t>(index));
  --size_;
}

DramChannel::DramChannel() {
  open_row_.fill(kClosed);
  for (auto& ring : activations_) ring.fill(-kFourActivates);
}

void DramChannel::pop_pending() {
  if (++pending_head_ < pending_.size()) return;
  pending_.clear();
  pending_head_ = 0;
}

bool DramChannel::offer(const DramRequest& request, int64_t clock) {
  if (!request.write) {
    for (size_t n = 0; n < writes_.size(); ++n) {
      if (writes_[n].unit != request.unit) continue;
      pending_.push_back(clock + 1);
      return true;
    }
  }
  RequestQueue& queue = request.write ? writes_ : reads_;
  if (queue.full()) return false;
  queue.push(request);
  wake_ = 0;
  return true;
}

int64_t DramChannel::column_ready(const DramRequest& request) const {
  const size_t pseudo = request.bank >> 4;
  const size_t group = request.bank >> 2;
  const int64_t shared = request.write ? std::max(pseudo_write_[pseudo], group_write_[group])
                                       : std::max(pseudo_read_[pseudo], group_read_[group]);
  return std::max(shared, bank_column_[request.bank]);
}

DramChannel::Command DramChannel::command_of(const DramRequest& request) const {
  const uint64_t open = open_row_[request.bank];
  if (open == request.row) return Command::kColumn;
  return open == kClosed ? Command::kActivate : Command::kPrecharge;
}

int64_t DramChannel::ready_at(const DramRequest& request, Command command) const {
  const size_t bank = request.bank;
  if (command == Command::kColumn) return column_ready(request);
  if (command == Command::kPrecharge) return std::max(channel_row_ready_, bank_precharge_[bank]);
  const size_t pseudo = bank >> 4;
  const int64_t window = activations_[pseudo][activation_at_[pseudo]] + kFourActivates;
  return std::max({channel_row_ready_, pseudo_activate_[pseudo], window, group_activate_[bank >> 2],
                   bank_activate_[bank]});
}

// The banks of active requests stay open at their row, so their next command is the column access.
DramChannel::Choice DramChannel::choose_active(int64_t clock, int64_t& soonest) const {
  Choice best;
  for (size_t n = 0; n < active_.size(); ++n) {
    const int64_t ready = column_ready(active_[n]);
    if (ready > clock) {
      soonest = std::min(soonest, ready);
    } else if (!best.found || active_[n].arrive < active_[best.index].arrive) {
      best = {n, true, Command::kColumn};
    }
  }
  return best;
}

// Requests queue in order of arrival, so the first ready one is the best.
DramChannel::Choice DramChannel::choose(const RequestQueue& queue, int64_t clock, int64_t& soonest) const {
  for (size_t n = 0; n < queue.size(); ++n) {
    const Command command = command_of(queue[n]);
    const int64_t ready = ready_at(queue[n], command);
    if (ready <= clock) return {n, true, command};
    soonest = std::min(soonest, ready);
  }
  return {};
}

void DramChannel::update_mode() {
  if (!write_mode_) {
    write_mode_ = writes_.size() > kWriteModeAbove || reads_.empty();
  } else if (writes_.size() < kReadModeBelow && !reads_.empty()) {
    write_mode_ = false;
  }
}

bool DramChannel::bank_has_active(uint8_t bank) const {
  for (size_t n = 0; n < active_.size(); ++n) {
    if (active_[n].bank == bank) return true;
  }
  return false;
}

void DramChannel::schedule(int64_t clock) {
  int64_t soonest = kNever;
  const Choice ready_active = choose_active(clock, soonest);
  if (ready_active.found) {
    column(active_, ready_active.index, clock);
    wake_ = clock + 1;
    return;
  }
  update_mode();
  RequestQueue& queue = write_mode_ ? writes_ : reads_;
  const Choice choice = choose(queue, clock, soonest);
  if (!choice.found) {
    wake_ = soonest;
    return;
  }
  if (choice.command == Command::kPrecharge) {
    const uint8_t bank = queue[choice.index].bank;
    if (bank_has_active(bank)) {
      wake_ = soonest;  // blocked until an active request or an earlier one becomes ready
      return;
    }
    precharge(bank, clock);
  } else if (choice.command == Command::kActivate) {
    activate(queue, choice.index, clock);
  } else {
    column(queue, choice.index, clock);
  }
  wake_ = clock + 1;
}

void DramChannel::activate(RequestQueue& queue, size_t index, int64_t clock) {
  const DramRequest request = queue[index];
  const size_t bank = request.bank;
  const size_t pseudo = bank >> 4;
  channel_row_ready_ = clock + kRowCommandGap;
  raise(pseudo_activate_[pseudo], clock + kActivateToActivate);
  activations_[pseudo][activation_at_[pseudo]] = clock;
  activation_at_[pseudo] = static_cast<uint8_t>((activation_at_[pseudo] + 1) % 4);
  raise(group_activate_[bank >> 2], clock + kActivateSameGroup);
  raise(bank_activate_[bank], clock + kActivateSameBank);
  raise(bank_column_[bank], clock + kActivateToColumn);
  raise(bank_precharge_[bank], clock + kActivateToPrecharge);
  open_row_[bank] = request.row;
  if (active_.full()) return;
  active_.push(request);
  queue.erase(index);
}

void DramChannel::precharge(uint8_t bank, int64_t clock) {
  raise(bank_activate_[bank], clock + kPrechargeToActivate);
  open_row_[bank] = kClosed;
}

void DramChannel::column(RequestQueue& queue, size_t index, int64_t clock) {
  const DramRequest request = queue[index];
  queue.erase(index);
  const size_t pseudo = request.bank >> 4;
  const size_t group = request.bank >> 2;
  if (request.write) {
    raise(pseudo_write_[pseudo], clock + kColumnToColumn);
    raise(pseudo_read_[pseudo], clock + kWriteToRead);
    raise(group_read_[group], clock + kWriteToReadSameGroup);
    raise(bank_precharge_[request.bank], clock + kWriteToPrecharge);
    return;
  }
  raise(pseudo_read_[pseudo], clock + kColumnToColumn);
  raise(pseudo_write_[pseudo], clock + kReadToWrite);
  raise(bank_precharge_[request.bank], clock + kReadToPrecharge);
  pending_.push_back(clock + kReadLatency);
}

}  // namespace zomboss::plena
