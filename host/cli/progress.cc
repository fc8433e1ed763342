#include "host/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace zomboss::cli {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<uint64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string elide(const std::string& line, size_t width) {
  if (line.size() <= width || width < 8) return line;
  const size_t head = (width - 3) / 2, tail = width - 3 - head;
  return line.substr(0, head) + "..." + line.substr(line.size() - tail);
}

Progress::Progress(std::string label, uint32_t evaluations, bool quiet)
    : label_(std::move(label)), evaluations_(evaluations), quiet_(quiet) {
  const char* term = std::getenv("TERM");
  terminal_ = isatty(STDERR_FILENO) != 0 && term != nullptr && std::strcmp(term, "dumb") != 0;
  colour_ = (terminal_ && !is_set("NO_COLOR")) || is_set("CLICOLOR_FORCE");
  winsize size{};
  if (terminal_ && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 8) width_ = size.ws_col;
}

Progress::~Progress() {
  if (line_open_) std::fputc('\n', stderr);
}

void Progress::show(const std::string& line, bool permanent, bool good) {
  if (quiet_) return;
  const std::string text = terminal_ ? elide(line, static_cast<size_t>(width_) - 1) : line;
  const std::string coloured = colour_ && good ? "\x1b[32m" + text + "\x1b[0m" : text;
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{}{}", coloured, permanent ? "\n" : "");
    line_open_ = !permanent;
    std::fflush(stderr);
  } else if (permanent) {
    fmt::print(stderr, "{}\n", coloured);
  }
  shown_ = Clock::now();
}

void Progress::on_candidate0(const search::Candidate& candidate) {
  show(fmt::format("{}: Candidate-0 verified, {} {}", label_, candidate.evaluation.latency,
                   candidate.evaluation.unit),
       true, false);
}

void Progress::on_reference(const search::Reference& reference, const std::string& unit) {
  const evaluate::Evaluation& evaluation = reference.candidate.evaluation;
  if (reference.verified())
    show(fmt::format("{}: {} verified, {} {}", label_, reference.name, evaluation.latency, unit), true,
         false);
  else
    show(fmt::format("{}: {} does not verify ({}): {}", label_, reference.name,
                     search::outcome_name(evaluation.outcome), evaluation.reason),
         true, false);
}

// "41/s eta 0:39", once there is something to tell it from.
std::string Progress::pace(const search::Report& report) const {
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  if (report.evaluations < 2 || seconds < 0.5) return "";
  const double rate = report.evaluations / seconds;
  const double left = evaluations_ > report.evaluations ? (evaluations_ - report.evaluations) / rate : 0;
  return fmt::format("  {:.3g}/s  eta {}", rate, duration_text(left));
}

void Progress::on_trial(const search::Trial& trial, const search::Report& report) {
  if (trial.outcome != wire::Outcome::Valid) ++rejected_[std::string(search::outcome_name(trial.outcome))];
  std::string rejected;
  for (const auto& [name, count] : rejected_)
    rejected += fmt::format("{}{} {}", rejected.empty() ? "  " : ", ", name, count);
  const std::string line =
      fmt::format("{}: [{}/{}] best {} {} ({:.2f}x) @{}{}{}", label_, report.evaluations, evaluations_,
                  report.best.evaluation.latency, report.best.evaluation.unit, report.speedup(),
                  report.best_evaluation, rejected, terminal_ ? pace(report) : "");
  const bool due = Clock::now() - shown_ >= std::chrono::seconds(10);
  show(line, trial.incumbent || (!terminal_ && due), trial.incumbent);
}

}  // namespace zomboss::cli
