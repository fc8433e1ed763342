// What the .cc files of History share.
#pragma once

#include <map>
#include <string>

#include "core/history/database.h"
#include "core/history/history.h"

namespace zomboss::history {

class History::Impl {
 public:
  explicit Impl(std::unique_ptr<Database> database) : database_(std::move(database)) {}
  Database& database() { return *database_; }

  // The rowid of a problem; not found when there is none.
  Result<int64_t> problem_id(const std::string& key);

 private:
  std::unique_ptr<Database> database_;
  std::map<std::string, int64_t> problem_ids_;  // never change once they are there
};

// "now" as the history writes times: UTC, ISO 8601, whole seconds.
#define ZB_SQL_NOW "strftime('%Y-%m-%dT%H:%M:%SZ','now')"

// The columns of a Usage, in both tables that have them, and how they are read.
#define ZB_SQL_USAGE                                                                               \
  "requests, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, malformed, cost, " \
  "cost_unknown, estimated, currency"
Usage read_usage(Statement& row);
void add_usage(Usage& sum, const Usage& usage);

}  // namespace zomboss::history
