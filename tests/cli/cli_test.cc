// Runs the cases of tests/cli/cases/*.test. A case file:
//
//   # what it shows
//   === file NAME          a file that the command finds in its folder; its lines follow
//   === run ARGUMENTS      of zomboss, as a shell takes them; {source} is the repository, {plugins} the built
//   plugins
//   === exit N
//   === stdout             the whole output; "*" at the start of a line matches any rest of the output
//   === stderr
//
// ZB_UPDATE=1 in the environment rewrites exit, stdout and stderr of every case that differs.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace zomboss {
namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) return;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

struct Case {
  std::string comment, run;
  std::map<std::string, std::string> files;
  int exit = -1;
  std::string out, err;
};

Case read_case(const fs::path& path) {
  Case result;
  std::string* section = &result.comment;
  std::istringstream stream(read_file(path));
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("=== ")) {
      if (section != nullptr) *section += line + "\n";
      continue;
    }
    const std::string head = line.substr(4);
    section = nullptr;
    if (head.starts_with("file "))
      section = &result.files[head.substr(5)];
    else if (head.starts_with("run "))
      result.run = head.substr(4);
    else if (head.starts_with("exit "))
      result.exit = std::atoi(head.c_str() + 5);
    else if (head == "stdout")
      section = &result.out;
    else if (head == "stderr")
      section = &result.err;
    else
      ADD_FAILURE() << path << ": unknown section '" << head << "'";
  }
  return result;
}

std::string write_case(const Case& c) {
  std::string text = c.comment;
  for (const auto& [name, content] : c.files) text += "=== file " + name + "\n" + content;
  text += "=== run " + c.run + "\n=== exit " + std::to_string(c.exit) + "\n";
  text += "=== stdout\n" + c.out + "=== stderr\n" + c.err;
  return text;
}

// Equal, or `expected` ends in a line that starts with "*" and `actual` starts with what stands before it.
bool matches(const std::string& expected, const std::string& actual) {
  const size_t star = expected.starts_with("*") ? 0 : expected.find("\n*");
  if (star == std::string::npos) return expected == actual;
  return actual.starts_with(expected.substr(0, star == 0 ? 0 : star + 1));
}

Case run_case(const Case& c, const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / ("zomboss_cli_" + name);
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& [file, content] : c.files) {
    fs::create_directories((folder / file).parent_path());
    std::ofstream(folder / file, std::ios::binary) << content;
  }
  std::string arguments = c.run;
  replace_all(arguments, "{source}", ZB_SOURCE_DIR);
  replace_all(arguments, "{plugins}", ZB_PLUGINS);
  replace_all(arguments, "{test_plugins}", ZB_TEST_PLUGINS);
  const std::string command = "cd '" + folder.string() +
                              "' && HOME=/nonexistent XDG_CONFIG_HOME= XDG_DATA_HOME= '" +
                              std::string(ZB_PROGRAM) + "' " + arguments + " >.out 2>.err </dev/null";
  const int status = std::system(command.c_str());
  Case actual = c;
  actual.exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  actual.out = read_file(folder / ".out");
  actual.err = read_file(folder / ".err");
  for (std::string* text : {&actual.out, &actual.err}) {
    replace_all(*text, folder.string(), "{folder}");
    replace_all(*text, ZB_TEST_PLUGINS, "{test_plugins}");
    replace_all(*text, ZB_PLUGINS, "{plugins}");
    replace_all(*text, ZB_SOURCE_DIR, "{source}");
    if (!text->empty() && text->back() != '\n') *text += '\n';
  }
  fs::remove_all(folder);
  return actual;
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(ZB_SOURCE_DIR "/tests/cli/cases"))
    if (entry.path().extension() == ".test") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Cli : public testing::TestWithParam<std::string> {};

TEST_P(Cli, PrintsWhatTheCaseSays) {
  const fs::path path = fs::path(ZB_SOURCE_DIR "/tests/cli/cases") / (GetParam() + ".test");
  const Case expected = read_case(path);
  const Case actual = run_case(expected, GetParam());
  const bool same =
      expected.exit == actual.exit && matches(expected.out, actual.out) && matches(expected.err, actual.err);
  if (!same && std::getenv("ZB_UPDATE") != nullptr) {
    std::ofstream(path, std::ios::binary) << write_case(actual);
    GTEST_SKIP() << "updated";
  }
  EXPECT_EQ(expected.exit, actual.exit);
  EXPECT_TRUE(matches(expected.out, actual.out)) << "expected stdout:\n"
                                                 << expected.out << "actual:\n"
                                                 << actual.out;
  EXPECT_TRUE(matches(expected.err, actual.err)) << "expected stderr:\n"
                                                 << expected.err << "actual:\n"
                                                 << actual.err;
  EXPECT_LT(actual.exit, 128) << "the program crashed";
}

INSTANTIATE_TEST_SUITE_P(Cases, Cli, testing::ValuesIn(case_names()),
                         [](const auto& parameter) { return parameter.param; });

// docs/plena.md shows the kernel that a case verifies.
TEST(CliCases, TheKernelOfThePlenaPageIsOneOfThem) {
  const Case by_hand = read_case(ZB_SOURCE_DIR "/tests/cli/cases/plena_check_by_hand.test");
  const std::string& kernel = by_hand.files.at("k.asm");
  EXPECT_NE(read_file(ZB_SOURCE_DIR "/docs/plena.md").find("```\n" + kernel + "```"), std::string::npos);
}

TEST(CliCases, ThereAreAtLeastForty) {
  EXPECT_GE(case_names().size(), 40u);
}

}  // namespace
}  // namespace zomboss
