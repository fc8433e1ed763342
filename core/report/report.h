// The report of one or several runs: one HTML file with inline style, drawings and a little script, that asks
// the network for nothing; or the same numbers as JSON. Reads the history alone, calls no plugin.
//
// The same history gives the same bytes. A section whose data is missing or damaged is a card that says so;
// the rest of the report stands. Errors: not found (a run that the history does not have), invalid argument
// (no runs), whatever the history says of its rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/history/history.h"

namespace zomboss::report {

struct ReportOptions {
  std::string title;  // empty: made from the workloads
};

// `runs` are compared when they share a workload: one line for each policy, seeds as its spread.
Result<std::string> html_report(const history::History& history, std::span<const int64_t> runs,
                                const ReportOptions& options);

// "zomboss.report/1".
Result<std::string> json_report(const history::History& history, std::span<const int64_t> runs,
                                const ReportOptions& options);

}  // namespace zomboss::report
