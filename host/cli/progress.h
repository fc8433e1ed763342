// Live progress of a search on stderr: one rewritten line on a terminal, else one line for each new best.
#pragma once

#include <cstdint>
#include <string>

#include "core/search/controller.h"

namespace zomboss::cli {

class Progress final : public search::Observer {
 public:
  // `label` starts each line; `evaluations` is the budget.
  Progress(std::string label, uint32_t evaluations);
  ~Progress() override;  // ends a rewritten line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void on_candidate0(const search::Candidate& candidate) override;
  void on_trial(const search::Trial& trial, const search::Report& report) override;

 private:
  void show(const std::string& line, bool permanent);

  std::string label_;
  uint32_t evaluations_;
  bool terminal_;
  bool line_open_ = false;
};

}  // namespace zomboss::cli
