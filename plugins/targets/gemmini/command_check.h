// Static checks of a command stream from outside: known commands, fields in range, local rows that exist,
// DRAM rows inside buffers. Follows the configuration commands. One thread; borrows machine and buffers.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/schema/program_generated.h"

namespace zomboss::gemmini {

class CommandCheck {
 public:
  CommandCheck(const Machine& machine, const wire::ProgramT& program)
      : machine_(machine), program_(program) {}

  // What is wrong with the next command; nothing when it may run. Rows of loop commands are not checked here.
  std::optional<std::string> next(const Command& command);

 private:
  std::optional<std::string> check_load(const Command& command);
  std::optional<std::string> check_store(const Command& command);
  std::optional<std::string> check_local(const char* what, uint64_t word) const;
  // rows x bytes from `address`, `stride` apart, inside one buffer that may be written when `store`.
  std::optional<std::string> check_dram(uint64_t address, uint64_t rows, uint64_t bytes, uint64_t stride,
                                        bool store) const;

  const Machine& machine_;
  const wire::ProgramT& program_;
  std::array<std::optional<ConfigLd>, 3> load_;
  std::optional<ConfigSt> store_;
  bool execute_configured_ = false;
};

}  // namespace zomboss::gemmini
