#include "host/worker/serve.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "core/wire/instance.h"
#include "host/loader/loader.h"
#include "host/worker/frame.h"
#include "host/worker/messages.h"
#include "host/worker/process.h"

namespace zomboss::worker {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // their shadow memory needs all of the address space
#else
constexpr bool kSanitized = false;
#endif

void limit(__rlimit_resource_t resource, rlim_t soft) {
  rlimit value{};
  if (::getrlimit(resource, &value) != 0) return;
  value.rlim_cur = std::min(soft, value.rlim_max);
  ::setrlimit(resource, &value);
}

// From now on this much more processor time. The signal that ends the process at that point is the last
// resort against a plugin that outlives a host that cannot kill it any more.
void allow_cpu(uint64_t seconds) {
  if (seconds == 0) return;
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  limit(RLIMIT_CPU, static_cast<rlim_t>(used.tv_sec) + seconds * threads + 1);
}

// Ends this process when the host is gone, whatever the plugin is doing. The parent-death signal would not
// do: it comes when the thread that started the worker ends, which may be long before the host does.
void watch_host() {
  std::thread([] {
    pollfd wait{kSocket, POLLRDHUP, 0};
    while (::poll(&wait, 1, -1) < 0) {
    }
    ::_exit(0);
  }).detach();
}

class Server {
 public:
  // Reads and answers requests until the host is gone.
  void run() {
    std::string frame;
    while (read_frame(kSocket, frame)) {
      auto request = decode<wire::WorkerRequestT>(as_bytes(frame));
      wire::WorkerReplyT reply;
      reply.finished = true;
      if (const Status status = request.ok() ? answer(*request, reply) : request.status(); !status.ok()) {
        reply.status = static_cast<int>(status.code());
        reply.text = status.message();
      }
      if (!send(reply)) return;
    }
  }

 private:
  bool send(const wire::WorkerReplyT& reply) {
    const std::lock_guard lock(mutex_);
    return write_frame(kSocket, encode(reply));
  }

  Status answer(wire::WorkerRequestT& request, wire::WorkerReplyT& reply) {
    allow_cpu(request.cpu_seconds);
    if (request.open != nullptr) return open(*request.open, reply);
    if (instance_ == nullptr) return failed_precondition("no plugin is open");
    std::array<std::string_view, 4> values;
    if (request.arguments.size() > values.size()) return internal_error("too many arguments");
    for (size_t i = 0; i < request.arguments.size(); ++i) {
      ZB_ASSIGN(values[i], value_of(*request.arguments[i]));
    }
    std::string result;
    ZB_ASSIGN(result,
              call(static_cast<wire::Operation>(request.operation), values, request.arguments.size()));
    reply.answer.assign(result.begin(), result.end());
    return {};
  }

  Result<std::string> call(wire::Operation operation, const std::array<std::string_view, 4>& v,
                           size_t count) {
    switch (count) {
      case 0:
        return instance_->call(operation, {});
      case 1:
        return instance_->call(operation, {v[0]});
      case 2:
        return instance_->call(operation, {v[0], v[1]});
      case 3:
        return instance_->call(operation, {v[0], v[1], v[2]});
      default:
        return instance_->call(operation, {v[0], v[1], v[2], v[3]});
    }
  }

  // Views of the request or of a slot: both live until the call is over.
  Result<std::string_view> value_of(const wire::WorkerArgumentT& argument) {
    const std::string_view bytes(reinterpret_cast<const char*>(argument.bytes.data()), argument.bytes.size());
    if (argument.slot < 0) return bytes;
    const auto slot = static_cast<size_t>(argument.slot);
    if (slot >= slots_.size()) return internal_error("no such slot");
    if (!bytes.empty()) slots_[slot] = bytes;
    return std::string_view(slots_[slot]);
  }

  Status open(const wire::WorkerOpenT& message, wire::WorkerReplyT& reply) {
    loader::LoaderOptions options{loader::default_search_path(message.folders), std::nullopt};
    if (!message.allow_list.empty()) options.allow_list = message.allow_list;
    loader_ = std::make_unique<loader::Loader>(std::move(options));
    const auto kind = message.kind == "policy" ? loader::Kind::kPolicy : loader::Kind::kTarget;
    ZB_ASSIGN(const loader::Plugin* plugin, loader_->load(message.id, kind));
    ZB_ASSIGN(const auto plugin_options, decode<wire::OptionsT>(message.options));
    const auto log = [this](zb_severity severity, std::string_view, std::string_view text) {
      wire::WorkerReplyT line;
      line.severity = severity;
      line.text = text;
      send(line);
    };
    ZB_ASSIGN(instance_, wire::open_instance(*plugin->descriptor, plugin_options, log, plugin->sha256));
    reply.version = instance_->identity().version;
    reply.sha256 = plugin->sha256;
    return {};
  }

  std::mutex mutex_;  // of the socket: log lines come from any thread
  std::unique_ptr<loader::Loader> loader_;
  std::unique_ptr<wire::Instance> instance_;
  std::array<std::string, 16> slots_;
};

}  // namespace

void serve(uint64_t memory) {
  limit(RLIMIT_CORE, 0);
  if (memory != 0 && !kSanitized) limit(RLIMIT_AS, memory);
  watch_host();
  try {
    Server().run();
  } catch (const std::exception& error) {  // out of memory, say: the text is in the host's record
    fmt::print(stderr, "worker: {}\n", error.what());
    std::fflush(stderr);
    ::_exit(5);
  }
  ::_exit(0);  // without destructors of plugins
}

}  // namespace zomboss::worker
