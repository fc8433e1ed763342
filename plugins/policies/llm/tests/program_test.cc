// The scripted server as a program, as tests of the command line use it.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "plugins/policies/common/policy_checks.h"
#include "plugins/policies/llm/tests/test_host.h"

extern char** environ;

namespace zomboss::policies::llm::testing {
namespace {

using policies::testing::kSmallStart;
using policies::testing::small_surface;

// The running program; its URL is the first line that it prints.
class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    int input[2], output[2];
    if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, input[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    arguments.insert(arguments.begin(), ZB_SCRIPTED_SERVER);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    if (::posix_spawn(&pid, ZB_SCRIPTED_SERVER, &actions, nullptr, words.data(), environ) != 0) pid = -1;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(input[0]);
    ::close(output[1]);
    input_ = input[1];
    for (char c = 0; ::read(output[0], &c, 1) == 1 && c != '\n';) url += c;
    ::close(output[0]);
  }
  ~Program() {
    end_input();
    if (pid > 0) ::waitpid(pid, nullptr, 0);
  }
  void end_input() {
    if (input_ >= 0) ::close(input_);
    input_ = -1;
  }
  // Its exit code.
  int wait() {
    int status = -1;
    ::waitpid(pid, &status, 0);
    pid = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  pid_t pid = -1;
  std::string url;

 private:
  int input_ = -1;
};

// Evaluations of a short search against the program.
size_t search(const std::string& url) {
  const TestSurface surface = small_surface(true);
  TestHost host(surface, kSmallStart);
  EXPECT_TRUE(host.start(policies::testing::options({{"base_url", url}, {"model", url}})).ok());
  const Status status = host.run(8);
  EXPECT_TRUE(status.ok()) << status.message();
  return host.evaluations;
}

TEST(ScriptedServerProgram, ServesUntilItsInputEnds) {
  for (const char* mode : {"good", "flaky"}) {
    Program program({"--mode", mode});
    ASSERT_EQ(program.url.find("http://127.0.0.1:"), 0u);
    EXPECT_EQ(search(program.url), 8u);
    program.end_input();
    EXPECT_EQ(program.wait(), 0);
  }
}

TEST(ScriptedServerProgram, EndsWhenItIsToldTo) {
  Program program({});
  EXPECT_EQ(search(program.url), 8u);
  ::kill(program.pid, SIGTERM);
  EXPECT_EQ(program.wait(), 0);
}

TEST(ScriptedServerProgram, FollowsAScript) {
  const TempFolder folder;
  std::ofstream(folder / "steps.json")
      << R"([{"kind": "status", "status": 429, "headers": {"retry-after-ms": "1"}}, {"kind": "malformed"}])";
  Program program({"--script", folder / "steps.json"});
  EXPECT_EQ(search(program.url), 8u);
  Program wrong({"--mode", "angry"});
  EXPECT_EQ(wrong.url, "");
  EXPECT_EQ(wrong.wait(), 2);
}

}  // namespace
}  // namespace zomboss::policies::llm::testing
