// The program: one command, its exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <system_error>

#include "host/cli/command_line.h"
#include "host/cli/exit.h"
#include "host/cli/json.h"

namespace zomboss::cli {

int fail(const CommonOptions& common, const Status& status) {
  const int code = exit_code(status);
  const std::string& text = status.message();
  fmt::print(stderr, "{}{}\n", text.find(": error: ") != std::string::npos ? "" : "zomboss: error: ", text);
  if (code == kExitInternal)
    fmt::print(stderr,
               "This is a bug in zomboss or in the plugin that the message names. Please report it with the "
               "command line and its input files.\n");
  if (common.json)
    print_json({{"schema", "zomboss.error/1"},
                {"exit_code", code},
                {"code", code_name(status.code())},
                {"message", text}});
  return code;
}

namespace {

// A caller may have closed the standard descriptors: then a socket or a database must not take their place.
// What is written to such a stdout still fails; talk to such a stderr is lost.
void open_standard_descriptors() {
  for (int wanted = STDIN_FILENO; wanted <= STDERR_FILENO; ++wanted)
    if (::fcntl(wanted, F_GETFD) < 0) ::open("/dev/null", wanted == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

int run(const std::string& program, const std::vector<std::string>& words) {
  CommandLine line;
  if (const auto exit = parse_command_line(program, words, line)) return *exit;
  const int exit = line.action();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    fmt::print(stderr, "zomboss: error: the output could not be written\n");
    return exit == kExitSuccess ? kExitUsage : exit;
  }
  return exit;
}

}  // namespace
}  // namespace zomboss::cli

int main(int argc, char** argv) {
  try {
    zomboss::cli::open_standard_descriptors();
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    return zomboss::cli::run(argc > 0 ? argv[0] : "zomboss", words);
  } catch (const std::system_error& error) {  // of printing
    std::fprintf(stderr, "zomboss: error: the output could not be written: %s\n", error.what());
    return zomboss::cli::kExitUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr,
               "zomboss: internal error: {}\nPlease report it with the command line and its input files.\n",
               error.what());
    return zomboss::cli::kExitInternal;
  }
}
