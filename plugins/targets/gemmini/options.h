// The options of the target plugin: docs/gemmini.md. Plain values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/machine_model.h"
#include "plugins/targets/gemmini/simulate.h"
#include "zomboss/schema/options_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

struct TargetOptions {
  SimulateOptions simulate;  // without `timing`
  std::string preset;        // of timing parameters; empty = none, or the only one of the file
  std::string timing_file;   // empty = the presets that are built in
};

// Invalid argument naming the option: unknown ones, numbers out of range.
Result<TargetOptions> read_options(const wire::OptionsT& options);

// The timing that the options choose, and the memory of `model` made to agree with it, so that estimates and
// bounds are of the machine that is simulated. Fails as read_timing does, and on files that cannot be read.
Result<SimulateOptions> choose_timing(const TargetOptions& options, MachineModel& model);

}  // namespace zomboss::gemmini
