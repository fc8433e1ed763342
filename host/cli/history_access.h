// Opening the history that a command line or the configuration names.
#pragma once

#include <memory>

#include "core/history/history.h"
#include "host/cli/commands.h"

namespace zomboss::cli {

// For reading: not found, with what to do, when there is none.
Result<std::unique_ptr<history::History>> open_to_read(const CommonOptions& common,
                                                       const HistoryOptions& options);
// The history that the configuration names, created when there is none; null when it names none.
Result<std::unique_ptr<history::History>> open_history(const config::Config& config);

}  // namespace zomboss::cli
