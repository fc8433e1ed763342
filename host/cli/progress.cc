#include "host/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace zomboss::cli {

Progress::Progress(std::string label, uint32_t evaluations)
    : label_(std::move(label)), evaluations_(evaluations) {
  const char* term = std::getenv("TERM");
  terminal_ = isatty(STDERR_FILENO) != 0 && term != nullptr && std::strcmp(term, "dumb") != 0;
}

Progress::~Progress() {
  if (line_open_) std::fputc('\n', stderr);
}

void Progress::show(const std::string& line, bool permanent) {
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}{}", line, permanent ? "\n" : "");
    line_open_ = !permanent;
    std::fflush(stderr);
  } else if (permanent) {
    fmt::print(stderr, "{}\n", line);
  }
}

void Progress::on_candidate0(const search::Candidate& candidate) {
  show(fmt::format("{}: Candidate-0 verified, {} {}", label_, candidate.evaluation.latency,
                   candidate.evaluation.unit),
       true);
}

void Progress::on_trial(const search::Trial& trial, const search::Report& report) {
  uint32_t rejected = 0;
  for (const auto& [name, count] : report.rejections()) rejected += count;
  const std::string line =
      fmt::format("{}: [{}/{}] best {} {} ({:.2f}x) @{}, rejected {}", label_, report.evaluations,
                  evaluations_, report.best.evaluation.latency, report.best.evaluation.unit, report.speedup(),
                  report.best_evaluation, rejected);
  show(line, trial.incumbent);
}

}  // namespace zomboss::cli
