// One instance of a plugin, wherever it runs: in this process, or in a worker process (host/worker) that the
// same calls reach through a socket. An operation takes byte strings and answers with one; what they hold is
// the matter of the classes above (evaluate::Target, search::Policy).
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "core/wire/call.h"
#include "zomboss/plugin.h"

namespace zomboss::wire {

// The operations of zomboss/target.h and zomboss/policy.h.
enum class Operation : uint8_t {
  kDescribe,
  kConfigure,
  kSurface,
  kLower,
  kSimulate,
  kSchedule,
  kExport,
  kImport,
  kBound,
  kStart,
  kPropose,
  kObserve,
  kSave,
  kLoad
};
inline constexpr size_t kOperationCount = 14;
// "describe", "configure", ... as messages name it.
std::string_view operation_name(Operation operation);

// How the last call of an instance ended, apart from what the plugin itself says.
enum class Fate : uint8_t {
  kAnswered,  // by the plugin: an answer or an error of its own
  kCrashed,   // its process died
  kTimedOut,  // it took too long and was killed
};

// One thread at a time. Different instances may be called concurrently.
class Instance {
 public:
  virtual ~Instance() = default;
  // The answer, empty for an operation that has none. Unimplemented when the plugin lacks the optional
  // operation. A call after kCrashed or kTimedOut starts anew where the instance can (a target in a worker).
  virtual Result<std::string> call(Operation operation,
                                   std::initializer_list<std::string_view> arguments) = 0;
  virtual Fate fate() const { return Fate::kAnswered; }

  struct Identity {
    std::string kind, id, version;  // "target", "gemmini", "0.1.0"
    std::string sha256;             // of the plugin's file; empty when it is not known
    std::string text() const { return kind + " " + id + " " + version; }
  };
  virtual const Identity& identity() const = 0;

  template <typename T>
  Result<T> message(Operation operation, std::initializer_list<std::string_view> arguments) {
    ZB_ASSIGN(const std::string bytes, call(operation, arguments));
    auto message = decode<T>(as_bytes(bytes));
    if (message.ok()) return message;
    return std::move(message).status().with_prefix(identity().text() + ": " +
                                                   std::string(operation_name(operation)));
  }
  Status command(Operation operation, std::initializer_list<std::string_view> arguments) {
    return call(operation, arguments).status();
  }
};

// An instance in this process, created with these options. `plugin` and `context` data live as long as it.
// Failed precondition when the plugin lacks the mandatory operations, else the plugin's own reason.
Result<std::unique_ptr<Instance>> open_instance(const zb_plugin& plugin, const OptionsT& options,
                                                LogFunction log = {}, std::string sha256 = "");

}  // namespace zomboss::wire
