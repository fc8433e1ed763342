#include "host/worker/remote_instance.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/base/hash.h"
#include "host/worker/messages.h"
#include "host/worker/process.h"

namespace zomboss::worker {
namespace {

using wire::Fate;
using wire::Operation;

constexpr size_t kSlots = 8;
constexpr size_t kSlotBytes = 4096;  // smaller arguments are sent each time
constexpr int kOutputEvents = 3;     // of one instance: more would only repeat themselves

std::vector<uint8_t> to_vector(std::string_view bytes) {
  return {bytes.begin(), bytes.end()};
}

// The last lines of a text, for an event.
std::string tail(const std::string& text) {
  constexpr size_t kBytes = 2000;
  return text.size() <= kBytes ? text : "... " + text.substr(text.size() - kBytes);
}

class RemoteInstance final : public wire::Instance {
 public:
  RemoteInstance(std::string program, const PluginSource& source, const wire::OptionsT& options,
                 const Limits& limits, wire::LogFunction log, EventFunction on_event)
      : program_(std::move(program)),
        source_(source),
        options_(encode(options)),
        limits_(limits),
        log_(std::move(log)),
        on_event_(std::move(on_event)) {
    identity_.kind = source.kind;
    identity_.id = source.id;
  }

  Status open() { return start(); }
  const Identity& identity() const override { return identity_; }
  Fate fate() const override { return fate_; }

  Result<std::string> call(Operation operation, std::initializer_list<std::string_view> arguments) override {
    const std::vector<std::string_view> list(arguments);
    auto answer = attempt(operation, list);
    if (fate_ == Fate::kCrashed && source_.kind == "target") answer = attempt(operation, list);
    if (fate_ == Fate::kAnswered && answer.ok() &&
        (operation == Operation::kDescribe || operation == Operation::kConfigure))
      setup_.emplace_back(operation, list.empty() ? std::string() : std::string(list[0]));
    return answer;
  }

 private:
  Result<std::string> attempt(Operation operation, const std::vector<std::string_view>& arguments) {
    fate_ = Fate::kAnswered;
    if (process_ == nullptr) {
      if (source_.kind == "policy")
        return failed_precondition(fmt::format("{} is gone with its worker process", identity_.text()));
      ZB_TRY(start());
      for (const auto& [step, argument] : setup_) {
        std::vector<std::string_view> given;
        if (step == Operation::kConfigure) given.push_back(argument);
        ZB_TRY(request(step, given).status());
      }
    }
    return request(operation, arguments);
  }

  Status start() {
    fate_ = Fate::kAnswered;
    ZB_ASSIGN(process_, Process::start(program_, limits_.memory));
    slots_ = {};
    wire::WorkerRequestT message;
    message.open = std::make_unique<wire::WorkerOpenT>();
    message.open->kind = source_.kind;
    message.open->id = source_.id;
    message.open->folders = source_.folders;
    if (source_.allow_list.has_value()) message.open->allow_list = *source_.allow_list;
    message.open->options = to_vector(options_);
    auto reply = exchange(message, "create");
    if (!reply.ok()) {
      process_.reset();
      return std::move(reply).status();
    }
    if (!identity_.sha256.empty() && identity_.sha256 != reply->sha256)
      return failed_precondition(
          fmt::format("the file of {} was replaced while it was in use", identity_.text()));
    identity_.version = reply->version;
    identity_.sha256 = reply->sha256;
    return {};
  }

  Result<std::string> request(Operation operation, const std::vector<std::string_view>& arguments) {
    wire::WorkerRequestT message;
    message.operation = static_cast<uint8_t>(operation);
    for (const std::string_view argument : arguments) message.arguments.push_back(make_argument(argument));
    ZB_ASSIGN(const auto reply, exchange(message, wire::operation_name(operation)));
    return std::string(reply.answer.begin(), reply.answer.end());
  }

  // What the worker holds already is named by its slot. Workloads and inputs, which come with every call and
  // are large, cross once.
  std::unique_ptr<wire::WorkerArgumentT> make_argument(std::string_view bytes) {
    auto argument = std::make_unique<wire::WorkerArgumentT>();
    if (bytes.size() < kSlotBytes) {
      argument->bytes = to_vector(bytes);
      return argument;
    }
    const Hash hash = hash_bytes(bytes);
    ++clock_;
    size_t oldest = 0;
    for (size_t i = 0; i < kSlots; ++i) {
      if (slots_[i].used != 0 && slots_[i].hash == hash && slots_[i].size == bytes.size()) {
        slots_[i].used = clock_;
        argument->slot = static_cast<int>(i);
        return argument;
      }
      if (slots_[i].used < slots_[oldest].used) oldest = i;
    }
    slots_[oldest] = {hash, bytes.size(), clock_};
    argument->slot = static_cast<int>(oldest);
    argument->bytes = to_vector(bytes);
    return argument;
  }

  Result<wire::WorkerReplyT> exchange(wire::WorkerRequestT& message, std::string_view name) {
    if (limits_.call_seconds > 0) {
      message.deadline_ns = now_ns() + static_cast<uint64_t>(limits_.call_seconds * 1e9);
      message.cpu_seconds = static_cast<uint64_t>(std::ceil(limits_.call_seconds)) + 1;
    }
    // A plugin that minds its deadline answers in time; one that does not is killed a little later.
    const uint64_t deadline = message.deadline_ns == 0 ? 0 : message.deadline_ns + 100'000'000u;
    Process::Wait waited = process_->send(encode(message), deadline, limits_.kill);
    std::string frame;
    while (waited == Process::Wait::kDone) {
      waited = process_->receive(frame, deadline, limits_.kill);
      if (waited != Process::Wait::kDone) break;
      auto reply = decode<wire::WorkerReplyT>(as_bytes(frame));
      if (!reply.ok()) {  // the plugin wrote over the worker's memory or its socket
        waited = Process::Wait::kClosed;
        break;
      }
      if (!reply->finished) {
        if (log_) log_(reply->severity, identity_.text(), reply->text);
        continue;
      }
      report_output();
      if (reply->status != ZB_OK) {
        const auto code =
            reply->status >= 1 && reply->status <= 16 ? static_cast<Code>(reply->status) : Code::kUnknown;
        return Status(code, reply->text);
      }
      return reply;
    }
    return lost(waited, name);
  }

  void report_output() {
    const std::string output = process_->take_output();
    if (output.empty() || !on_event_ || ++outputs_ > kOutputEvents) return;
    on_event_("output",
              fmt::format("{} wrote to its standard output or error: {}", identity_.text(), tail(output)));
  }

  // The process did not answer.
  Status lost(Process::Wait waited, std::string_view name) {
    const std::string ending = process_->stop();
    const std::string output = process_->take_output();
    process_.reset();
    if (waited == Process::Wait::kCancelled)
      return Status(Code::kCancelled, fmt::format("{}: {}: interrupted", identity_.text(), name));
    fate_ = waited == Process::Wait::kTimedOut ? Fate::kTimedOut : Fate::kCrashed;
    const std::string what =
        fate_ == Fate::kTimedOut
            ? fmt::format("{}: {}: no answer after {:g} s; its process was killed", identity_.text(), name,
                          limits_.call_seconds)
            : fmt::format("{}: {}: its process died: {}", identity_.text(), name, ending);
    if (on_event_) {
      on_event_(fate_ == Fate::kTimedOut ? "timeout" : "crash",
                output.empty() ? what : what + "\nits last output: " + tail(output));
    }
    return fate_ == Fate::kTimedOut ? Status(Code::kDeadlineExceeded, what) : Status(Code::kInternal, what);
  }

  struct Slot {
    Hash hash;
    size_t size = 0;
    uint64_t used = 0;  // 0 = empty
  };

  std::string program_;
  PluginSource source_;
  std::string options_;
  Limits limits_;
  wire::LogFunction log_;
  EventFunction on_event_;
  Identity identity_;
  Fate fate_ = Fate::kAnswered;
  std::unique_ptr<Process> process_;
  std::array<Slot, kSlots> slots_;
  uint64_t clock_ = 0;
  int outputs_ = 0;
  std::vector<std::pair<Operation, std::string>> setup_;  // what a new worker is told first
};

}  // namespace

Result<std::unique_ptr<wire::Instance>> open_remote(const std::string& program, const PluginSource& source,
                                                    const wire::OptionsT& options, const Limits& limits,
                                                    wire::LogFunction log, EventFunction on_event) {
  auto instance =
      std::make_unique<RemoteInstance>(program, source, options, limits, std::move(log), std::move(on_event));
  ZB_TRY(instance->open());
  return std::unique_ptr<wire::Instance>(std::move(instance));
}

}  // namespace zomboss::worker
