// A plugin instance in a worker process (wire::Instance). What the plugin does there, crash, hang, flood
// memory, write to standard output, cannot hurt this process: a call that it does not answer ends with an
// error and a Fate, and the next call starts a new worker, sets the instance up again and goes on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/wire/instance.h"

namespace zomboss::worker {

struct PluginSource {
  std::string kind, id;              // "target", "gemmini"
  std::vector<std::string> folders;  // of the plugin search path, in order
  std::optional<std::string> allow_list;
};

struct Limits {
  double call_seconds = 120;                // wall time of one call, 0 = none
  uint64_t memory = uint64_t{4} << 30;      // bytes of address space, 0 = none
  const std::atomic<bool>* kill = nullptr;  // set: calls end with `cancelled` and the worker is killed
};

// Something that is worth a line in the record of a run. kind: "crash", "timeout", "output".
using EventFunction = std::function<void(const std::string& kind, const std::string& text)>;

// Starts a worker of `program` (the zomboss binary), which loads the plugin and creates the instance with
// these options. Refusals of the loader and errors of the plugin come back as they are. `on_event` and `log`
// are called on the thread that calls the instance.
//
// A target's call that crashes is tried once more in a fresh worker before it counts. A policy's is not: its
// state is gone; later calls fail.
Result<std::unique_ptr<wire::Instance>> open_remote(const std::string& program, const PluginSource& source,
                                                    const wire::OptionsT& options, const Limits& limits,
                                                    wire::LogFunction log = {}, EventFunction on_event = {});

}  // namespace zomboss::worker
