// Expected failure as a value: Status, Result<T> and the macro ZB_TRY. Shared by the host and by C++ plugins.
// All types here are plain values; any thread may use its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zomboss {

// The canonical codes that cross the ABI as zb_status (zomboss/plugin.h). Values are frozen.
enum class Code : int32_t {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,  // the caller's input is wrong, whatever the state of the system
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,   // a budget, a limit or memory
  kFailedPrecondition = 9,  // right input, wrong state
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,  // a workload or an operation that this target does not take
  kInternal = 13,       // a bug of ours, never of the user
  kUnavailable = 14,
  kDataLoss = 15,  // a stored or received buffer is damaged
  kUnauthenticated = 16,
};

// Lower-case name of a code as messages and JSON print it, e.g. "invalid argument".
constexpr std::string_view code_name(Code code) {
  constexpr std::string_view kNames[] = {
      "ok",        "cancelled",      "unknown",           "invalid argument",   "deadline exceeded",
      "not found", "already exists", "permission denied", "resource exhausted", "failed precondition",
      "aborted",   "out of range",   "unimplemented",     "internal",           "unavailable",
      "data loss", "unauthenticated"};
  const auto index = static_cast<uint32_t>(code);
  return index < std::size(kNames) ? kNames[index] : kNames[2];
}

// A code and a message. Messages: lower-case start, no final period, concrete numbers, next step.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same code with `prefix` and ": " before the message. Ok stays ok.
  Status with_prefix(std::string_view prefix) && {
    if (!ok()) message_.insert(0, std::string(prefix) + ": ");
    return std::move(*this);
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

inline Status invalid_argument(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}
inline Status unimplemented(std::string message) {
  return {Code::kUnimplemented, std::move(message)};
}
inline Status internal_error(std::string message) {
  return {Code::kInternal, std::move(message)};
}
inline Status not_found(std::string message) {
  return {Code::kNotFound, std::move(message)};
}
inline Status failed_precondition(std::string message) {
  return {Code::kFailedPrecondition, std::move(message)};
}
inline Status data_loss(std::string message) {
  return {Code::kDataLoss, std::move(message)};
}
inline Status resource_exhausted(std::string message) {
  return {Code::kResourceExhausted, std::move(message)};
}

// A T or the Status that says why there is none. `value()` on an error is a bug of the caller.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by design
    if (status_.ok()) status_ = internal_error("a Result was made from an ok Status without a value");
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const& { return status_; }
  Status&& status() && { return std::move(status_); }

  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

inline Status as_status(Status&& status) {
  return std::move(status);
}
inline Status as_status(const Status& status) {
  return status;
}
template <typename T>
Status as_status(Result<T>&& result) {
  return std::move(result).status();
}
template <typename T>
Status as_status(const Result<T>& result) {
  return result.status();
}

}  // namespace zomboss

#define ZB_CONCAT_INNER(a, b) a##b
#define ZB_CONCAT(a, b) ZB_CONCAT_INNER(a, b)

// ZB_TRY(f());               returns the Status of a failed Status or Result expression
// ZB_ASSIGN(auto x, g());    the same, and binds the value
#define ZB_TRY(expression)                                      \
  do {                                                          \
    if (auto zb_try_result = (expression); !zb_try_result.ok()) \
      return ::zomboss::as_status(std::move(zb_try_result));    \
  } while (false)
#define ZB_ASSIGN(declaration, expression) \
  ZB_ASSIGN_INNER(ZB_CONCAT(zb_result_, __LINE__), declaration, expression)
#define ZB_ASSIGN_INNER(name, declaration, expression)          \
  auto name = (expression);                                     \
  if (!name.ok()) return ::zomboss::as_status(std::move(name)); \
  declaration = *std::move(name)
