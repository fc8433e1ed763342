// What must not be lost: several processes at once, death at any moment, a full disk, a folder that cannot be
// written.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "core/history/history.h"
#include "core/history/testing.h"
#include "zomboss/sdk/random.h"

namespace zomboss::history {
namespace {

using testing::sample_proposal;
using testing::sample_run;
using testing::start_run;
using testing::TempFolder;

// Runs the function in a child process; its result is the exit status.
pid_t start_child(const std::function<int()>& function) {
  const pid_t child = fork();
  if (child == 0) _exit(function());
  return child;
}

int wait_for(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Proposals from `first` on, each acknowledged by its number.
int record_until_killed(const std::string& path, int64_t run, uint64_t first, int acknowledge) {
  auto history = History::open(path, Access::kReadWrite);
  if (!history.ok()) return 2;
  for (uint64_t number = first;; ++number) {
    if (!(*history)->record(run, sample_proposal(number)).ok()) return 3;
    if (write(acknowledge, &number, sizeof number) != sizeof number) return 4;
  }
}

// The last number in the pipe.
uint64_t last_acknowledged(int from) {
  uint64_t number = 0, last = 0;
  while (read(from, &number, sizeof number) == sizeof number) last = number;
  return last;
}

TEST(HistorySurvival, KilledAtRandomMomentsNothingThatWasRecordedIsLost) {
  const TempFolder folder;
  const std::string path = folder.file("history.db");
  const int64_t run = start_run(*(*History::open(path, Access::kReadWrite)));
  Random random(20, 0);
  uint64_t recorded = 0;
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
    ASSERT_GT(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), 0);
    const pid_t child = start_child([&] { return record_until_killed(path, run, recorded + 1, ends[1]); });
    pollfd started = {ends[0], POLLIN, 0};
    ASSERT_EQ(poll(&started, 1, 20'000), 1) << "the child recorded nothing";
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(15'000)));
    kill(child, SIGKILL);
    ASSERT_EQ(wait_for(child), 1000 + SIGKILL);
    const uint64_t acknowledged = last_acknowledged(ends[0]);
    close(ends[0]);
    close(ends[1]);

    // First a reader, who finds the log as the dead writer left it.
    auto reader = History::open(path, Access::kReadOnly);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    const uint64_t before = recorded;
    recorded = (*reader)->run(run)->proposals;
    EXPECT_GE(recorded, acknowledged);
    EXPECT_LE(recorded, acknowledged + 1);  // recorded, and killed before it could say so
    EXPECT_GT(recorded, before);
    EXPECT_EQ((*reader)->trial(run, recorded)->value(), sample_proposal(recorded).trials[0]);
    const Status checked = (*reader)->check();
    ASSERT_TRUE(checked.ok()) << checked.message();
  }
}

TEST(HistorySurvival, KilledWhileItIsMadeAFileIsNoObstacle) {
  const TempFolder folder;
  const auto path_of = [&](int round, int file) {
    return folder.file(std::to_string(round) + "/" + std::to_string(file) + ".db");
  };
  Random random(21, 0);
  int files = 0;
  for (int round = 0; round < 10; ++round) {
    const pid_t child = start_child([&] {
      for (int file = 0;; ++file)
        if (!History::open(path_of(round, file), Access::kReadWrite).ok()) return 2;
    });
    for (int wait = 0; wait < 20'000 && !std::filesystem::exists(path_of(round, 0)); ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(20'000)));
    kill(child, SIGKILL);
    ASSERT_EQ(wait_for(child), 1000 + SIGKILL);
    for (int file = 0; std::filesystem::exists(path_of(round, file)); ++file, ++files) {
      auto history = History::open(path_of(round, file), Access::kReadWrite);
      ASSERT_TRUE(history.ok()) << history.status().message();
      start_run(**history);
      ASSERT_TRUE((*history)->check().ok());
    }
  }
  EXPECT_GE(files, 10);
}

TEST(HistorySurvival, TwoProcessesWriteAtOnce) {
  const TempFolder folder;
  const std::string path = folder.file("new/history.db");
  // Both make the file, too.
  constexpr uint64_t kProposals = 300;
  const auto writer = [&]() -> int {
    auto history = History::open(path, Access::kReadWrite);
    if (!history.ok()) return 2;
    const int64_t run = start_run(**history);
    for (uint64_t i = 1; i <= kProposals; ++i) {
      if (!(*history)->record(run, sample_proposal(i)).ok()) return 3;
      if (!(*history)->add_plan("5f3a", "plan" + std::to_string(i), "{}").ok()) return 4;
    }
    return 0;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) children.push_back(start_child(writer));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  auto history = History::open(path, Access::kReadOnly);
  ASSERT_TRUE(history.ok()) << history.status().message();
  EXPECT_TRUE((*history)->check().ok());
  const auto runs = (*history)->runs();
  ASSERT_EQ(runs->size(), 3u);
  for (const history::Run& run : *runs) {
    EXPECT_EQ(run.proposals, kProposals);
    EXPECT_EQ(run.best_latency, 100'000 - kProposals);
  }
}

TEST(HistorySurvival, AReaderSeesWhatIsRecordedWhileAnotherProcessWrites) {
  const TempFolder folder;
  const std::string path = folder.file("history.db");
  const int64_t run = start_run(*(*History::open(path, Access::kReadWrite)));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = start_child([&] { return record_until_killed(path, run, 1, ends[1]); });
  auto reader = History::open(path, Access::kReadOnly);
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  for (int i = 0; i < 200; ++i) {
    uint64_t number = 0;
    ASSERT_EQ(read(ends[0], &number, sizeof number), static_cast<ssize_t>(sizeof number));
    ASSERT_GE((*reader)->run(run)->proposals, number);
  }
  kill(child, SIGKILL);
  wait_for(child);
  close(ends[0]);
  close(ends[1]);
}

// Records until there is no room, then makes room and goes on.
void fill_and_go_on(const std::string& path, const std::function<void()>& make_room) {
  auto opened = History::open(path, Access::kReadWrite);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  History& history = **opened;
  const int64_t run = start_run(history);
  uint64_t recorded = 0;
  Status status;
  while (status.ok() && recorded < 100'000) {
    Proposal proposal = sample_proposal(recorded + 1);
    proposal.rationale = std::string(2000, 'r');
    status = history.record(run, proposal);
    if (status.ok()) ++recorded;
  }
  ASSERT_GT(recorded, 10u);
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.message();
  EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
  // Nothing of the failed change, all of those before; and it fails again as long as there is no room.
  EXPECT_EQ(history.run(run)->proposals, recorded);
  EXPECT_EQ(history.run(run)->best_latency, 100'000 - recorded);
  EXPECT_EQ(history.add_plan("5f3a", "large", std::string(1 << 20, 'p')).code(), Code::kResourceExhausted);
  make_room();
  ASSERT_TRUE(history.record(run, sample_proposal(recorded + 1)).ok());
  EXPECT_EQ(history.run(run)->proposals, recorded + 1);
  const Status checked = history.check();
  EXPECT_TRUE(checked.ok()) << checked.message();
}

TEST(HistorySurvival, AFileThatMayNotGrowIsResourceExhausted) {
  const TempFolder folder;
  signal(SIGXFSZ, SIG_IGN);
  rlimit normal = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &normal), 0);
  rlimit small = normal;
  small.rlim_cur = 400 * 1024;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  fill_and_go_on(folder.file("history.db"), [&] { ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &normal), 0); });
  setrlimit(RLIMIT_FSIZE, &normal);
}

TEST(HistorySurvival, AFullDiskIsResourceExhausted) {
  const TempFolder folder;
  const std::string disk = folder.file("disk");
  ASSERT_TRUE(std::filesystem::create_directory(disk));
  constexpr int kCannotMount = 77;
  // In a child with mounts of its own, so that nothing of it stays.
  const int result = wait_for(start_child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", disk.c_str(), "tmpfs", 0, "size=1m") != 0)
      return kCannotMount;
    std::ofstream(disk + "/ballast") << std::string(300 << 10, 'b');
    fill_and_go_on(disk + "/history.db", [&] { std::filesystem::remove(disk + "/ballast"); });
    return ::testing::Test::HasFailure() ? 1 : 0;
  }));
  if (result == kCannotMount) GTEST_SKIP() << "SKIPPED: needs the right to mount a small disk (root)";
  EXPECT_EQ(result, 0);
}

TEST(HistorySurvival, AFolderThatCannotBeWrittenCanBeRead) {
  const TempFolder folder;
  const std::string path = folder.file("sub/history.db");
  const int64_t run = start_run(*(*History::open(path, Access::kReadWrite)));
  chmod(folder.file("").c_str(), 0755);
  chmod(folder.file("sub").c_str(), 0555);
  chmod(path.c_str(), 0444);
  const int result = wait_for(start_child([&] {
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 2;
    auto reader = History::open(path, Access::kReadOnly);
    if (!reader.ok() || !(*reader)->run(run).ok()) return 3;
    auto writer = History::open(path, Access::kReadWrite);
    return writer.status().code() == Code::kPermissionDenied ? 0 : 4;
  }));
  chmod(folder.file("sub").c_str(), 0755);
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace zomboss::history
