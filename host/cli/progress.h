// Live progress of a search on stderr: on a terminal one line that is rewritten, with a permanent one for
// each new best; else one line for each new best, and one every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "core/search/controller.h"

namespace zomboss::cli {

class Progress final : public search::Observer {
 public:
  // `label` starts each line; `evaluations` is the budget. `quiet`: prints nothing.
  Progress(std::string label, uint32_t evaluations, bool quiet);
  ~Progress() override;  // ends a rewritten line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void on_candidate0(const search::Candidate& candidate) override;
  void on_reference(const search::Reference& reference, const std::string& unit) override;
  void on_trial(const search::Trial& trial, const search::Report& report) override;

 private:
  using Clock = std::chrono::steady_clock;
  void show(const std::string& line, bool permanent, bool good);
  std::string pace(const search::Report& report) const;

  std::string label_;
  uint32_t evaluations_;
  bool quiet_;
  bool terminal_ = false;
  bool colour_ = false;
  int width_ = 80;
  bool line_open_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point shown_ = Clock::now();
  std::map<std::string, uint32_t> rejected_;  // by outcome
};

// `line` in at most `width` columns: the middle gives way.
std::string elide(const std::string& line, size_t width);

}  // namespace zomboss::cli
