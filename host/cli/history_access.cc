#include "host/cli/history_access.h"

#include <fmt/format.h>

namespace zomboss::cli {

Result<std::unique_ptr<history::History>> open_to_read(const CommonOptions& common,
                                                       const HistoryOptions& options) {
  std::string file = options.history;
  if (file.empty()) {
    ZB_ASSIGN(const auto session, Session::open(common, {}));
    file = session->config().text("history.file");
  }
  if (file.empty())
    return invalid_argument("no history is kept (history.file is empty); name one with --history");
  auto history = history::History::open(file, history::Access::kReadOnly);
  if (history.ok() || history.status().code() != Code::kNotFound) return history;
  return Status(
      Code::kNotFound,
      fmt::format("there is no history at {}; a search makes one, or name another with --history", file));
}

Result<std::unique_ptr<history::History>> open_history(const config::Config& config) {
  const std::string& file = config.text("history.file");
  if (file.empty()) return std::unique_ptr<history::History>();
  return history::History::open(file, history::Access::kReadWrite);
}

}  // namespace zomboss::cli
