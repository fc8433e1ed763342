#include "host/cli/history_access.h"

#include <fmt/format.h>

#include <filesystem>

namespace zomboss::cli {

namespace {

// A file that is no history, or no whole one, is the user's input.
Result<std::unique_ptr<history::History>> open_file(const std::string& file, history::Access access) {
  std::error_code error;
  const auto kind = std::filesystem::status(file, error).type();
  if (kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::regular)
    return invalid_argument(file + ": is no regular file; name another with --history");
  auto history = history::History::open(file, access);
  if (history.ok() || history.status().code() != Code::kDataLoss) return history;
  return invalid_argument(history.status().message() +
                          "; move it away or bring back a copy of it, or name another with --history");
}

}  // namespace

Result<std::unique_ptr<history::History>> open_to_read(const CommonOptions& common,
                                                       const HistoryOptions& options) {
  std::string file = options.history;
  if (file.empty()) {
    ZB_ASSIGN(const auto session, Session::open(common, {}));
    file = session->config().text("history.file");
  }
  if (file.empty())
    return invalid_argument("no history is kept (history.file is empty); name one with --history");
  auto history = open_file(file, history::Access::kReadOnly);
  if (history.ok() || history.status().code() != Code::kNotFound) return history;
  return Status(
      Code::kNotFound,
      fmt::format("there is no history at {}; a search makes one, or name another with --history", file));
}

Result<std::unique_ptr<history::History>> open_history(const config::Config& config) {
  const std::string& file = config.text("history.file");
  if (file.empty()) return std::unique_ptr<history::History>();
  return open_file(file, history::Access::kReadWrite);
}

}  // namespace zomboss::cli
