// The messages of worker.fbs for zomboss::encode and decode.
#pragma once

#include "worker_generated.h"
#include "zomboss/sdk/message.h"

namespace zomboss {

template <>
struct MessageTraits<wire::WorkerRequest> {
  static constexpr const char* kName = "WorkerRequest";
  static constexpr const char* kIdentifier = "ZBWQ";
};
template <>
struct MessageTraits<wire::WorkerReply> {
  static constexpr const char* kName = "WorkerReply";
  static constexpr const char* kIdentifier = "ZBWA";
};

}  // namespace zomboss
