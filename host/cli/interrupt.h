// Ctrl-C and SIGTERM in three stages: the first lets the evaluations that run finish, the second kills the
// workers, the third ends the program at once. Nothing that was recorded is lost in any of them.
#pragma once

#include <atomic>

namespace zomboss::cli {

// From now on SIGINT and SIGTERM are handled so.
void handle_interrupts();

const std::atomic<bool>& stop_requested();  // first stage
const std::atomic<bool>& kill_requested();  // second stage

}  // namespace zomboss::cli
