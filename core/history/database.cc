#include "core/history/database.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

namespace zomboss::history {
namespace {

// A file name inside a "file:" URI.
std::string uri_of(const std::string& path) {
  std::string out = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#')
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}

}  // namespace

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(database_, other.database_);
  std::swap(sql_, other.sql_);
  std::swap(statement_, other.statement_);
  std::swap(column_, other.column_);
  return *this;
}

Statement::~Statement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  database_->idle_[sql_].push_back(statement_);
}

Result<bool> Statement::next() {
  column_ = 0;
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return database_->failure(result);
}

Status Statement::run() {
  while (true) {
    ZB_ASSIGN(const bool row, next());
    if (!row) return {};
  }
}

double Statement::real() {
  return optional_real().value_or(std::numeric_limits<double>::quiet_NaN());
}

std::optional<double> Statement::optional_real() {
  const int column = column_++;
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return sqlite3_column_double(statement_, column);
}

std::string Statement::text() {
  const int column = column_++;
  const void* bytes = sqlite3_column_blob(statement_, column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

Status Statement::failure() const {
  return database_->failure(sqlite3_errcode(database_->handle_));
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, const Options& options) {
  std::unique_ptr<Database> database(new Database(path, options.read_only));
  const int flags = options.read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  Status connected = database->connect(path, flags);
  if (connected.ok()) {
    sqlite3_busy_timeout(database->handle_, options.busy_timeout_ms);
    // The first read of the file: finds out whether it is a database at all.
    connected = database->integer("PRAGMA schema_version").status();
  }
  if (connected.code() != Code::kPermissionDenied || !options.read_only) {
    ZB_TRY(std::move(connected));
    return database;
  }
  // Readers, too, write to the files beside a WAL database. In a folder that cannot be written the file alone
  // is the whole history as long as its log is empty, and cannot change.
  std::error_code ignored;
  if (std::filesystem::file_size(path + "-wal", ignored) != 0 && !ignored) return connected;
  std::unique_ptr<Database> frozen(new Database(path, true));
  ZB_TRY(frozen->connect(uri_of(path) + "?immutable=1", flags | SQLITE_OPEN_URI));
  ZB_TRY(frozen->integer("PRAGMA schema_version"));
  return frozen;
}

Status Database::connect(const std::string& name, int flags) {
  // No mutex of SQLite's own: one thread uses a connection.
  const int result = sqlite3_open_v2(name.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (handle_ == nullptr) return resource_exhausted("no memory to open " + path_);
  sqlite3_extended_result_codes(handle_, 1);
  return result == SQLITE_OK ? Status() : failure(result);
}

Database::~Database() {
  for (const auto& [sql, statements] : idle_) {
    for (sqlite3_stmt* statement : statements) sqlite3_finalize(statement);
  }
  sqlite3_close_v2(handle_);
}

Result<Statement> Database::prepare(std::string_view sql) {
  std::vector<sqlite3_stmt*>& idle = idle_[sql];
  if (!idle.empty()) {
    Statement statement(*this, sql, idle.back());
    idle.pop_back();
    return statement;
  }
  sqlite3_stmt* prepared = nullptr;
  const int result = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (result != SQLITE_OK) return failure(result);
  return Statement(*this, sql, prepared);
}

Status Database::script(const char* sql) {
  const int result = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? Status() : failure(result);
}

Status Database::failure(int result) const {
  const char* words = sqlite3_errmsg(handle_);
  const int system_error = sqlite3_system_errno(handle_);
  const std::string why =
      system_error == 0 ? words : fmt::format("{}: {}", words, std::strerror(system_error));
  const bool no_space = system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG;
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Code::kUnavailable, fmt::format("{} is in use by another process ({}); try again", path_, why)};
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return resource_exhausted(fmt::format(
          "cannot write {} ({}); nothing of the change was kept; free some space and resume", path_, why));
    case SQLITE_NOMEM:
      return resource_exhausted(fmt::format("no memory for {}", path_));
    case SQLITE_NOTADB:
      return data_loss(fmt::format("{} is not a history file", path_));
    case SQLITE_CORRUPT:
      return data_loss(fmt::format("{} is damaged ({})", path_, why));
    case SQLITE_CANTOPEN:
      if (no_space) return resource_exhausted(fmt::format("cannot open {} ({})", path_, why));
      return {Code::kPermissionDenied, fmt::format("cannot open {} ({})", path_, why)};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {Code::kPermissionDenied, fmt::format("cannot write {} ({})", path_, why)};
    default:
      return internal_error(fmt::format("{}: SQLite says '{}' (code {})", path_, why, result));
  }
}

Transaction::~Transaction() {
  // After a full disk SQLite has already rolled back.
  if (open_ && sqlite3_get_autocommit(database_.handle_) == 0) (void)database_.run("ROLLBACK");
}

Status Transaction::begin() {
  if (database_.read_only())
    return failed_precondition(fmt::format("{} was opened for reading only", database_.path()));
  ZB_TRY(database_.run("BEGIN IMMEDIATE"));
  open_ = true;
  return {};
}

Status Transaction::commit() {
  ZB_TRY(database_.run("COMMIT"));
  open_ = false;
  return {};
}

}  // namespace zomboss::history
