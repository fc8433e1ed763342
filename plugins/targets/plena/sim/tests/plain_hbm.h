// The HBM timing model once more, in its plainest form, for tests: every channel looks at every request at
// every nanosecond, and whether a command may be issued is found by comparing it with the latest commands.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "plugins/targets/plena/sim/dram_channel.h"

namespace zomboss::plena::testing {

class PlainChannel {
 public:
  bool offer(uint64_t unit, bool write);
  // Runs one tick; true when a read completes.
  bool tick();

 private:
  enum Command : uint8_t { kActivate, kPrecharge, kRead, kWrite };
  struct Request {
    uint64_t unit;
    DramPlace place;
    bool write;
    int64_t arrive;
  };
  struct Issued {
    Command command;
    uint32_t bank;
    int64_t clock;
  };

  Command next_command(const Request& request) const;
  bool ready(Command command, uint32_t bank) const;
  // The best request of the queue, -1 if it is empty.
  int best(const std::vector<Request>& queue) const;
  bool take(std::vector<Request>& queue, int index);

  int64_t clock_ = 0;
  std::vector<Request> reads_, writes_, active_;
  std::deque<int64_t> pending_;
  std::vector<Issued> issued_;
  std::array<int64_t, 32> open_row_ = [] {
    std::array<int64_t, 32> rows;
    rows.fill(-1);
    return rows;
  }();
  bool write_mode_ = false;
};

class PlainHbm {
 public:
  uint64_t read(std::span<const uint64_t> blocks, uint64_t now);
  uint64_t write(uint64_t block, uint64_t now);

 private:
  void tick();
  void catch_up(uint64_t now);

  std::array<PlainChannel, 8> channels_;
  uint64_t ticks_ = 0;
  size_t outstanding_ = 0;
};

}  // namespace zomboss::plena::testing
