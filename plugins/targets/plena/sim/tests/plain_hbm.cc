#include "plugins/targets/plena/sim/tests/plain_hbm.h"

namespace zomboss::plena::testing {
namespace {

constexpr size_t kQueue = 33;

enum Level { kChannel, kPseudo, kGroup, kBank };
bool same(Level level, uint32_t a, uint32_t b) {
  constexpr int kShift[] = {5, 4, 2, 0};
  return a >> kShift[level] == b >> kShift[level];
}

// Two commands of these kinds on the same node of the level are at least `distance` apart.
struct Constraint {
  Level level;
  int earlier;
  int later;
  int64_t distance;
};
// Commands: 0 activate, 1 precharge, 2 read, 3 write.
constexpr Constraint kConstraints[] = {
    {kChannel, 0, 0, 2}, {kChannel, 0, 1, 2}, {kPseudo, 0, 0, 2}, {kPseudo, 2, 2, 2}, {kPseudo, 3, 3, 2},
    {kPseudo, 2, 3, 11}, {kPseudo, 3, 2, 9},  {kGroup, 0, 0, 3},  {kGroup, 2, 2, 2},  {kGroup, 3, 3, 2},
    {kGroup, 3, 2, 10},  {kBank, 0, 0, 19},   {kBank, 0, 2, 7},   {kBank, 0, 3, 7},   {kBank, 0, 1, 17},
    {kBank, 1, 0, 7},    {kBank, 2, 1, 3},    {kBank, 3, 1, 14}};
constexpr int64_t kFourActivates = 15;

}  // namespace

bool PlainChannel::offer(uint64_t unit, bool write) {
  if (!write) {
    for (const Request& waiting : writes_) {
      if (waiting.unit != unit) continue;
      pending_.push_back(clock_ + 1);
      return true;
    }
  }
  auto& queue = write ? writes_ : reads_;
  if (queue.size() >= kQueue) return false;
  queue.push_back({unit, place_of(unit), write, clock_});
  return true;
}

PlainChannel::Command PlainChannel::next_command(const Request& request) const {
  const int64_t open = open_row_[request.place.bank];
  if (open < 0) return kActivate;
  if (static_cast<uint64_t>(open) != request.place.row) return kPrecharge;
  return request.write ? kWrite : kRead;
}

bool PlainChannel::ready(Command command, uint32_t bank) const {
  int activates = 0;
  for (size_t n = issued_.size(); n-- > 0;) {
    const Issued& earlier = issued_[n];
    for (const Constraint& c : kConstraints) {
      if (c.earlier == earlier.command && c.later == command && same(c.level, earlier.bank, bank) &&
          clock_ < earlier.clock + c.distance) {
        return false;
      }
    }
    if (command == kActivate && earlier.command == kActivate && same(kPseudo, earlier.bank, bank) &&
        ++activates == 4 && clock_ < earlier.clock + kFourActivates) {
      return false;
    }
  }
  return true;
}

int PlainChannel::best(const std::vector<Request>& queue) const {
  int chosen = -1;
  bool chosen_ready = false;
  for (size_t n = 0; n < queue.size(); ++n) {
    const bool is_ready = ready(next_command(queue[n]), queue[n].place.bank);
    const bool better =
        chosen < 0 || (is_ready && !chosen_ready) ||
        (is_ready == chosen_ready && queue[n].arrive < queue[static_cast<size_t>(chosen)].arrive);
    if (!better) continue;
    chosen = static_cast<int>(n);
    chosen_ready = is_ready;
  }
  return chosen;
}

// Issues the next command of a request if it is ready; false if it is not.
bool PlainChannel::take(std::vector<Request>& queue, int index) {
  if (index < 0) return false;
  const Request request = queue[static_cast<size_t>(index)];
  const uint32_t bank = request.place.bank;
  const Command command = next_command(request);
  if (!ready(command, bank)) return false;
  if (command == kPrecharge) {
    for (const Request& active : active_) {
      if (active.place.bank == bank) return true;
    }
    open_row_[bank] = -1;
  } else if (command == kActivate) {
    open_row_[bank] = static_cast<int64_t>(request.place.row);
    if (active_.size() < kQueue) {
      queue.erase(queue.begin() + index);
      active_.push_back(request);
    }
  } else {
    queue.erase(queue.begin() + index);
    if (command == kRead) pending_.push_back(clock_ + 11);
  }
  if (issued_.size() == 64) issued_.erase(issued_.begin());
  issued_.push_back({command, bank, clock_});
  return true;
}

bool PlainChannel::tick() {
  ++clock_;
  const bool completed = !pending_.empty() && pending_.front() <= clock_;
  if (completed) pending_.pop_front();
  if (take(active_, best(active_))) return completed;
  if (!write_mode_ && (writes_.size() > 25 || reads_.empty())) {
    write_mode_ = true;
  } else if (write_mode_ && writes_.size() < 7 && !reads_.empty()) {
    write_mode_ = false;
  }
  auto& queue = write_mode_ ? writes_ : reads_;
  take(queue, best(queue));
  return completed;
}

void PlainHbm::tick() {
  for (PlainChannel& channel : channels_) outstanding_ -= channel.tick() ? 1 : 0;
  ++ticks_;
}

void PlainHbm::catch_up(uint64_t now) {
  while (ticks_ < now) tick();
}

uint64_t PlainHbm::read(std::span<const uint64_t> blocks, uint64_t now) {
  catch_up(now);
  std::deque<uint64_t> units;
  for (const uint64_t block : blocks) {
    for (uint64_t n = 0; n < 4; ++n) units.push_back(block * 4 + n);
  }
  outstanding_ = units.size();
  const auto push = [&] {
    while (!units.empty() && channels_[place_of(units.front()).channel].offer(units.front(), false))
      units.pop_front();
  };
  push();
  for (uint64_t time = ticks_;; time = ticks_) {
    tick();
    if (outstanding_ == 0) return time;
    if (time > now) push();
  }
}

uint64_t PlainHbm::write(uint64_t block, uint64_t now) {
  for (uint64_t n = 0; n < 4; ++n) {
    for (;; ++now) {
      catch_up(now);
      if (channels_[place_of(block * 4 + n).channel].offer(block * 4 + n, true)) break;
    }
  }
  return now;
}

}  // namespace zomboss::plena::testing
