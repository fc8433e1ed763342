#include "host/cli/interrupt.h"

#include <unistd.h>

#include <csignal>

#include "host/cli/exit.h"

namespace zomboss::cli {
namespace {

std::atomic<bool> stop{false};
std::atomic<bool> kill_workers{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // set in a signal handler

extern "C" void on_interrupt(int) {
  if (!stop.exchange(true)) return;
  if (!kill_workers.exchange(true)) return;
  _exit(kExitInterrupted);
}

}  // namespace

void handle_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

const std::atomic<bool>& stop_requested() {
  return stop;
}

const std::atomic<bool>& kill_requested() {
  return kill_workers;
}

}  // namespace zomboss::cli
