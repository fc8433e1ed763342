// The scripted server as a program: scripted_server [--mode good|flaky] [--script FILE]. Prints its base URL
// on the first line and serves until stdin ends or it is told to terminate. FILE holds a JSON array of steps
// (scripted_server.h), one for each request from the first on.
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "plugins/policies/llm/tests/scripted_server.h"

namespace {

using zomboss::policies::llm::parse_json;
using zomboss::policies::llm::testing::ScriptedServer;
using zomboss::policies::llm::testing::ServerOptions;
using zomboss::policies::llm::testing::steps_from_json;

int usage() {
  std::fprintf(stderr, "usage: scripted_server [--mode good|flaky] [--script FILE]\n");
  return 2;
}

volatile std::sig_atomic_t told_to_end = 0;

void on_signal(int) {
  told_to_end = 1;
}

}  // namespace

int main(int count, char** words) {
  ServerOptions options;
  for (int i = 1; i < count; i += 2) {
    const std::string flag = words[i], value = i + 1 < count ? words[i + 1] : "";
    if (flag == "--mode" && (value == "good" || value == "flaky")) {
      options.flaky = value == "flaky";
    } else if (flag == "--script" && !value.empty()) {
      std::ifstream file(value);
      std::ostringstream text;
      text << file.rdbuf();
      const auto json = parse_json(text.str());
      if (!file || !json.has_value() || !json->is_array()) return usage();
      options.steps = steps_from_json(*json);
    } else {
      return usage();
    }
  }
  // Signals are blocked but within ppoll, in all threads: none is missed.
  sigset_t ends, before;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, &before);
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  ScriptedServer server(options);
  std::printf("%s\n", server.url().c_str());
  std::fflush(stdout);
  char bytes[256];
  while (told_to_end == 0) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::ppoll(&input, 1, nullptr, &before) > 0 && ::read(STDIN_FILENO, bytes, sizeof bytes) <= 0) break;
  }
  return 0;
}
