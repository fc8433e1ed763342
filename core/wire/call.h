// The host's side of one call into a plugin: builds the zb_call, copies what the plugin pushes, and turns
// status and text into a Status or a Result that names the plugin. A plugin that breaks the rules of
// zomboss/plugin.h (answers twice, fails without a reason, succeeds without an answer, floods the answer)
// gets an error that says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "zomboss/plugin.h"
#include "zomboss/sdk/message.h"
#include "zomboss/sdk/status.h"

namespace zomboss::wire {

// Receives a plugin's log lines; called from any thread, one at a time.
using LogFunction = std::function<void(zb_severity, std::string_view plugin, std::string_view text)>;

// What all calls into one instance share. Borrowed by each call; outlives it.
struct CallContext {
  std::string plugin;                            // for messages: "target gemmini 0.1.0"
  LogFunction log;                               // may be empty
  const std::atomic<bool>* cancelled = nullptr;  // may be null
  uint64_t deadline_ns = 0;                      // CLOCK_MONOTONIC, 0 = none
  size_t answer_limit = size_t{1} << 30;         // bytes
};

using CallFunction = std::function<zb_status(const zb_call*)>;

// An operation without an answer. `name` is its name in messages.
Status call_status(const CallContext& context, std::string_view name, const CallFunction& operation);

// An operation that emits raw bytes.
Result<std::string> call_bytes(const CallContext& context, std::string_view name,
                               const CallFunction& operation);

// An operation that emits the message T: verified and unpacked.
template <typename T>
Result<T> call_message(const CallContext& context, std::string_view name, const CallFunction& operation) {
  ZB_ASSIGN(const std::string bytes, call_bytes(context, name, operation));
  auto message = decode<T>(as_bytes(bytes));
  if (message.ok()) return message;
  return std::move(message).status().with_prefix(context.plugin + ": " + std::string(name));
}

inline zb_bytes to_zb_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline zb_str to_zb_str(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace zomboss::wire
