// SQLite behind Status: a connection with its prepared statements, statements, transactions. The only header
// of this folder that knows SQLite. One thread; nothing throws.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "zomboss/sdk/status.h"

namespace zomboss::history {

class Database;

// Bytes that are no text.
struct Blob {
  std::string_view bytes;
};

// A prepared statement on loan from its database's cache, so that one that runs may be used again inside its
// own loop. Must not outlive the database.
class Statement {
 public:
  Statement(Database& database, std::string_view sql, sqlite3_stmt* statement)
      : database_(&database), sql_(sql), statement_(statement) {}
  Statement(Statement&& other) noexcept { *this = std::move(other); }
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // Binds the parameters from the first on. A NaN is stored as NULL.
  template <typename... Values>
  Status bind(const Values&... values) {
    int index = 0;
    const bool bound = (... && (bind_one(++index, values) == SQLITE_OK));
    return bound ? Status() : failure();
  }
  Result<bool> next();  // true = there is a row
  Status run();         // to the end

  // Columns of the row at hand, from left to right.
  void rewind() { column_ = 0; }
  int64_t integer() { return sqlite3_column_int64(statement_, column_++); }
  uint64_t number() { return static_cast<uint64_t>(integer()); }
  bool flag() { return integer() != 0; }
  double real();  // NULL = NaN
  std::optional<double> optional_real();
  std::string text();

 private:
  int bind_one(int index, std::string_view text) {
    return sqlite3_bind_text64(statement_, index, text.data() == nullptr ? "" : text.data(), text.size(),
                               SQLITE_TRANSIENT, SQLITE_UTF8);
  }
  int bind_one(int index, const std::string& text) { return bind_one(index, std::string_view(text)); }
  int bind_one(int index, const char* text) { return bind_one(index, std::string_view(text)); }
  int bind_one(int index, const Blob& blob) {
    return sqlite3_bind_blob64(statement_, index, blob.bytes.data() == nullptr ? "" : blob.bytes.data(),
                               blob.bytes.size(), SQLITE_TRANSIENT);
  }
  int bind_one(int index, double value) { return sqlite3_bind_double(statement_, index, value); }
  int bind_one(int index, const std::optional<double>& value) {
    return value ? bind_one(index, *value) : sqlite3_bind_null(statement_, index);
  }
  template <typename Integer>
  requires std::is_integral_v<Integer>
  int bind_one(int index, Integer value) {
    return sqlite3_bind_int64(statement_, index, static_cast<int64_t>(value));  // 64 bits, signed or not
  }
  Status failure() const;

  Database* database_ = nullptr;
  std::string_view sql_;
  sqlite3_stmt* statement_ = nullptr;
  int column_ = 0;
};

class Database {
 public:
  struct Options {
    bool read_only = false;
    int busy_timeout_ms = 10'000;
  };
  static Result<std::unique_ptr<Database>> open(const std::string& path, const Options& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& path() const { return path_; }
  bool read_only() const { return read_only_; }

  // `sql` must be a string literal: the cache keeps the view.
  template <typename... Values>
  Result<Statement> query(std::string_view sql, const Values&... values) {
    ZB_ASSIGN(Statement statement, prepare(sql));
    ZB_TRY(statement.bind(values...));
    return statement;
  }
  template <typename... Values>
  Status run(std::string_view sql, const Values&... values) {
    ZB_ASSIGN(Statement statement, query(sql, values...));
    return statement.run();
  }
  // The first column of the first row, 0 when there is none.
  template <typename... Values>
  Result<int64_t> integer(std::string_view sql, const Values&... values) {
    ZB_ASSIGN(Statement statement, query(sql, values...));
    ZB_ASSIGN(const bool row, statement.next());
    return row ? statement.integer() : 0;
  }
  Status script(const char* sql);  // several statements without parameters

  int64_t last_id() const { return sqlite3_last_insert_rowid(handle_); }
  int64_t changes() const { return sqlite3_changes64(handle_); }
  // What the last call's result means for people: the canonical code, the path and SQLite's words.
  Status failure(int result) const;

 private:
  friend class Statement;
  friend class Transaction;
  Database(std::string path, bool read_only) : path_(std::move(path)), read_only_(read_only) {}
  Status connect(const std::string& name, int flags);
  Result<Statement> prepare(std::string_view sql);

  std::string path_;
  bool read_only_;
  sqlite3* handle_ = nullptr;
  std::map<std::string_view, std::vector<sqlite3_stmt*>> idle_;  // prepared and not on loan
};

// One change: all of it is kept by commit(), nothing of it otherwise. Takes the write lock at the start, so
// that what it reads cannot change before it writes.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Status begin();  // failed precondition on a read-only database
  Status commit();

 private:
  Database& database_;
  bool open_ = false;
};

}  // namespace zomboss::history
