// What a command ends with. docs/cli.md documents these for people.
#pragma once

#include "zomboss/sdk/status.h"

namespace zomboss::cli {

inline constexpr int kExitSuccess = 0;
inline constexpr int kExitNoMapping = 1;    // ran, but there is no valid mapping
inline constexpr int kExitUsage = 2;        // command line, configuration or input file
inline constexpr int kExitPlugin = 3;       // a plugin was refused or failed to load
inline constexpr int kExitCheckFailed = 4;  // a kernel does not verify
inline constexpr int kExitInternal = 5;     // a bug of ours or of a plugin
inline constexpr int kExitInterrupted = 130;

// The code for a failure: refusals of the loader are 3, internal errors and damaged plugin answers 5, a
// Candidate-0 that does not verify 1, all else is the user's input, 2.
int exit_code(const Status& status);

}  // namespace zomboss::cli
