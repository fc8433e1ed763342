// A worker process: our own binary with the hidden sub-command `worker`, in its own process group, with a
// socket to us and its standard output and error captured.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "zomboss/sdk/status.h"

namespace zomboss::worker {

// The socket's descriptor in the worker.
inline constexpr int kSocket = 3;

class Process {
 public:
  // `program`: the zomboss binary. `memory`: bytes of address space, 0 = no limit. Unavailable when the
  // system cannot start one.
  static Result<std::unique_ptr<Process>> start(const std::string& program, uint64_t memory);
  ~Process();  // kills and reaps it
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return pid_; }

  enum class Wait { kDone, kClosed, kTimedOut, kCancelled };
  // Sends or receives one frame, until `deadline_ns` (CLOCK_MONOTONIC, 0 = none) or until `cancelled` (may
  // be null) is set. Output of the process is collected meanwhile. After anything but kDone only stop() makes
  // sense.
  Wait send(std::string_view frame, uint64_t deadline_ns, const std::atomic<bool>* cancelled);
  Wait receive(std::string& frame, uint64_t deadline_ns, const std::atomic<bool>* cancelled);

  // Ends the process and its children: at once if it is dead already, else asks it, waits a moment, kills it.
  // Returns how it ended: "killed by signal 11 (Segmentation fault)", "exited with code 0".
  std::string stop();

  // What it wrote to standard output and error since the last call; of much, the last part.
  std::string take_output();

 private:
  Process(pid_t pid, int socket, int output) : pid_(pid), socket_(socket), output_(output) {}
  Wait wait(short events, uint64_t deadline_ns, const std::atomic<bool>* cancelled);
  void drain();

  pid_t pid_;
  int socket_;
  int output_;
  std::string incoming_;
  std::string text_;
  std::string ending_;  // set by stop
};

// CLOCK_MONOTONIC.
uint64_t now_ns();

}  // namespace zomboss::worker
