// report_sample_page FOLDER: writes reports of made-up histories for a look at them and for the browser test.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/report/report.h"
#include "core/report/sample.h"

namespace {

int write(const std::string& folder, const std::string& name, const zomboss::report::SampleOptions& options) {
  const std::string database = folder + "/" + name + ".db";
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(database + suffix);
  auto history = zomboss::history::History::open(database, zomboss::history::Access::kReadWrite);
  if (!history.ok()) {
    std::cerr << history.status().message() << '\n';
    return 1;
  }
  const std::vector<int64_t> runs = zomboss::report::write_sample(**history, options);
  const auto html = zomboss::report::html_report(**history, runs, {});
  if (!html.ok()) {
    std::cerr << html.status().message() << '\n';
    return 1;
  }
  std::ofstream(folder + "/" + name + ".html") << *html;
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: report_sample_page FOLDER\n";
    return 2;
  }
  const std::string folder = arguments[1];
  zomboss::report::SampleOptions single;
  zomboss::report::SampleOptions suite;
  suite.workloads = 5;
  suite.seeds = 3;
  suite.evaluations = 40;
  zomboss::report::SampleOptions plain;
  plain.policies = {"hill"};
  plain.seeds = 1;
  plain.evaluations = 12;
  plain.plain = true;
  return write(folder, "single", single) | write(folder, "suite", suite) | write(folder, "plain", plain);
}
