// The worker's side: what the hidden sub-command `zomboss worker` does.
#pragma once

#include <cstdint>

namespace zomboss::worker {

// Sets the limits of this process, answers requests on the socket kSocket until the host closes it, and never
// returns. The plugin is fully trusted not to be malicious, and not trusted to be right: whatever it does to
// this process, the host lives on.
[[noreturn]] void serve(uint64_t memory);

}  // namespace zomboss::worker
