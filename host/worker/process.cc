#include "host/worker/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "host/worker/frame.h"

extern char** environ;

namespace zomboss::worker {
namespace {

constexpr int kPollMs = 50;               // how soon a cancellation is noticed
constexpr int kGraceMs = 200;             // between SIGTERM and SIGKILL
constexpr size_t kOutputLimit = 1 << 16;  // bytes kept of what a process writes

Status failure(std::string_view what, int error) {
  return Status(Code::kUnavailable,
                fmt::format("cannot start a worker process: {}: {}", what, std::strerror(error)));
}

struct Pipes {
  int socket[2] = {-1, -1};
  int output[2] = {-1, -1};
  ~Pipes() {
    for (const int descriptor : {socket[0], socket[1], output[0], output[1]})
      if (descriptor >= 0) ::close(descriptor);
  }
  Status open() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket) != 0)
      return failure("socketpair", errno);
    if (::pipe2(output, O_CLOEXEC) != 0) return failure("pipe", errno);
    ::fcntl(socket[0], F_SETFL, O_NONBLOCK);
    ::fcntl(output[0], F_SETFL, O_NONBLOCK);
    return {};
  }
};

// posix_spawn's two objects, released together.
struct SpawnSettings {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
};

std::string ending_of(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("killed by signal {} ({})", signal, ::strsignal(signal));
  }
  return fmt::format("exited with code {}", WEXITSTATUS(status));
}

}  // namespace

uint64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

Result<std::unique_ptr<Process>> Process::start(const std::string& program, uint64_t memory) {
  Pipes pipes;
  ZB_TRY(pipes.open());
  SpawnSettings settings;
  // The copies have no close-on-exec flag. The socket may stand on a descriptor that the others need, so
  // everything is moved once to where it does not matter: dup2 in this order is right for 0, 1, 2 < sources,
  // which are 3 or more as long as the standard descriptors of this process are open.
  ::posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&settings.actions, pipes.output[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&settings.actions, pipes.output[1], STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(&settings.actions, pipes.socket[1], kSocket);
  ::posix_spawn_file_actions_addclosefrom_np(&settings.actions, kSocket + 1);
  sigset_t none, defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigmask(&settings.attributes, &none);
  ::posix_spawnattr_setsigdefault(&settings.attributes, &defaults);
  ::posix_spawnattr_setpgroup(&settings.attributes, 0);
  ::posix_spawnattr_setflags(&settings.attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string limit = std::to_string(memory);
  std::string name = "zomboss", command = "worker", flag = "--memory";
  char* const arguments[] = {name.data(), command.data(), flag.data(), limit.data(), nullptr};
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, program.c_str(), &settings.actions, &settings.attributes, arguments, environ);
  if (error != 0) return failure(program, error);
  std::unique_ptr<Process> process(new Process(pid, pipes.socket[0], pipes.output[0]));
  pipes.socket[0] = pipes.output[0] = -1;
  return process;
}

Process::~Process() {
  stop();
  ::close(socket_);
  ::close(output_);
}

void Process::drain() {
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(output_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    text_.append(buffer, static_cast<size_t>(got));
    if (text_.size() > 2 * kOutputLimit) text_.erase(0, text_.size() - kOutputLimit);
  }
}

std::string Process::take_output() {
  drain();
  if (text_.size() > kOutputLimit) text_.erase(0, text_.size() - kOutputLimit);
  std::string text;
  text.swap(text_);
  return text;
}

Process::Wait Process::wait(short events, uint64_t deadline_ns, const std::atomic<bool>* cancelled) {
  bool output_open = true;
  for (;;) {
    if (cancelled != nullptr && cancelled->load()) return Wait::kCancelled;
    int timeout = cancelled != nullptr ? kPollMs : -1;
    if (deadline_ns != 0) {
      const uint64_t now = now_ns();
      if (now >= deadline_ns) return Wait::kTimedOut;
      const auto left = static_cast<int>(std::min<uint64_t>((deadline_ns - now) / 1'000'000u + 1, 60'000));
      timeout = timeout < 0 ? left : std::min(timeout, left);
    }
    pollfd waits[2] = {{socket_, events, 0}, {output_, POLLIN, 0}};
    const int ready = ::poll(waits, output_open ? 2 : 1, timeout);
    if (ready < 0 && errno != EINTR) return Wait::kClosed;
    if (ready <= 0) continue;
    if (output_open && waits[1].revents != 0) {
      drain();
      if ((waits[1].revents & POLLIN) == 0) output_open = false;  // closed by the process
    }
    if (waits[0].revents != 0) return Wait::kDone;
  }
}

Process::Wait Process::send(std::string_view frame, uint64_t deadline_ns,
                            const std::atomic<bool>* cancelled) {
  std::string header;
  append_frame_header(header, frame.size());
  for (std::string_view part : {std::string_view(header), frame}) {
    while (!part.empty()) {
      const ssize_t sent = ::send(socket_, part.data(), part.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        part.remove_prefix(static_cast<size_t>(sent));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return Wait::kClosed;
      if (const Wait waited = wait(POLLOUT, deadline_ns, cancelled); waited != Wait::kDone) return waited;
    }
  }
  return Wait::kDone;
}

Process::Wait Process::receive(std::string& frame, uint64_t deadline_ns, const std::atomic<bool>* cancelled) {
  std::string buffer(1 << 16, '\0');
  for (;;) {
    switch (take_frame(incoming_, frame)) {
      case Taken::kFrame:
        return Wait::kDone;
      case Taken::kTooLong:
        return Wait::kClosed;
      case Taken::kIncomplete:
        break;
    }
    const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      incoming_.append(buffer, 0, static_cast<size_t>(got));
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || errno != EAGAIN) return Wait::kClosed;
    if (const Wait waited = wait(POLLIN, deadline_ns, cancelled); waited != Wait::kDone) return waited;
  }
}

std::string Process::stop() {
  if (!ending_.empty()) return ending_;
  int status = 0;
  const auto reaped = [&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; };
  // A process that closed its socket is about to be reaped: give it the time to die of its own signal.
  bool dead = false;
  for (int signal : {0, SIGTERM}) {
    if (signal != 0) {
      ::shutdown(socket_, SHUT_RDWR);
      ::kill(-pid_, signal);
    }
    const pollfd gone{socket_, POLLIN, 0};
    pollfd check = gone;
    const bool closed = signal != 0 || (::poll(&check, 1, 0) == 1 && (check.revents & POLLHUP) != 0);
    for (int waited = 0; !dead && waited < (closed ? kGraceMs : 1); ++waited) {
      dead = reaped();
      if (!dead) ::usleep(1000);
      drain();
    }
    if (dead) break;
  }
  ::kill(-pid_, SIGKILL);  // what is left of the group
  if (!dead) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  drain();
  ending_ = ending_of(status);
  return ending_;
}

}  // namespace zomboss::worker
