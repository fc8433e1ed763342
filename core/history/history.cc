// Opening: folders, SQLite's settings, whose file it is, its version.
#include "core/history/history.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "core/history/impl.h"
#include "core/history/schema.h"

namespace zomboss::history {
namespace {

const int64_t kVersion = static_cast<int64_t>(schema_steps().size());

Status make_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  if (folder.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return {};
  const std::string why = fmt::format("cannot make the folder {}: {}", folder.string(), error.message());
  if (error == std::errc::no_space_on_device) return resource_exhausted(why);
  return {Code::kPermissionDenied, why};
}

// The steps that this file had, 0 of an empty one; or why it is none of ours.
Result<int64_t> version_of(Database& database) {
  ZB_ASSIGN(const int64_t application, database.integer("PRAGMA application_id"));
  ZB_ASSIGN(const int64_t version, database.integer("PRAGMA user_version"));
  if (application != kApplicationId) {
    ZB_ASSIGN(const int64_t tables, database.integer("SELECT COUNT(*) FROM sqlite_schema"));
    if (application != 0 || version != 0 || tables != 0)
      return data_loss(fmt::format("{} is a database of another program, not a history", database.path()));
    return 0;
  }
  if (version > kVersion)
    return failed_precondition(fmt::format(
        "{} was written by a newer version of zomboss: it has history format {}, this version knows "
        "formats up to {}; update zomboss or use another file",
        database.path(), version, kVersion));
  if (version < 1) return data_loss(fmt::format("{} has history format {}", database.path(), version));
  return version;
}

// Another process that opens the same new file at the same moment holds it while it changes the journal;
// SQLite does not wait for that by itself.
Status use_write_ahead_log(Database& database) {
  Status status;
  for (int attempt = 0; attempt < 200; ++attempt) {
    status = database.run("PRAGMA journal_mode = WAL");
    if (status.code() != Code::kUnavailable) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return status;
}

Status migrate(Database& database) {
  ZB_ASSIGN(int64_t version, version_of(database));
  if (version == kVersion) return {};
  Transaction transaction(database);
  ZB_TRY(transaction.begin());
  ZB_ASSIGN(version, version_of(database));  // another process may have been first
  for (; version < kVersion; ++version) ZB_TRY(database.script(schema_steps()[static_cast<size_t>(version)]));
  const std::string marks =
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kVersion);
  ZB_TRY(database.script(marks.c_str()));
  return transaction.commit();
}

// A history that is up to date.
Result<std::unique_ptr<Database>> open_for_writing(const std::string& path) {
  ZB_TRY(make_folder(path));
  ZB_ASSIGN(std::unique_ptr<Database> database, Database::open(path, {}));
  ZB_TRY(version_of(*database));  // before anything of a file that is not ours changes
  ZB_TRY(use_write_ahead_log(*database));
  // In WAL mode "normal" loses nothing when a process dies, and leaves a consistent file when the machine
  // does.
  ZB_TRY(
      database->script("PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY"));
  ZB_TRY(migrate(*database));
  return database;
}

}  // namespace

Result<std::unique_ptr<History>> History::open(const std::string& path, Access access) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return invalid_argument(fmt::format("{} is a folder, not a history file", path));
  if (access == Access::kReadWrite) {
    ZB_ASSIGN(std::unique_ptr<Database> database, open_for_writing(path));
    return std::unique_ptr<History>(new History(std::make_unique<Impl>(std::move(database))));
  }
  if (!std::filesystem::exists(path, error)) return not_found(fmt::format("there is no history at {}", path));
  ZB_ASSIGN(std::unique_ptr<Database> database, Database::open(path, {.read_only = true}));
  ZB_ASSIGN(const int64_t version, version_of(*database));
  if (version == 0) return not_found(fmt::format("the history at {} is empty", path));
  if (version < kVersion) {
    // Readers know the newest tables alone.
    database.reset();
    ZB_TRY(open_for_writing(path));
    ZB_ASSIGN(database, Database::open(path, {.read_only = true}));
  }
  return std::unique_ptr<History>(new History(std::make_unique<Impl>(std::move(database))));
}

History::History(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
History::~History() = default;

const std::string& History::path() const {
  return impl_->database().path();
}

}  // namespace zomboss::history
