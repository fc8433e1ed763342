#include "core/history/database.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/history/testing.h"

namespace zomboss::history {
namespace {

using testing::TempFolder;

TEST(Database, ValuesReadBack) {
  const TempFolder folder;
  auto opened = Database::open(folder.file("a.db"), {});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Database& database = **opened;
  ASSERT_TRUE(
      database.script("CREATE TABLE t (a INTEGER, b REAL, c REAL, d TEXT NOT NULL, e BLOB NOT NULL)").ok());
  const uint64_t large = std::numeric_limits<uint64_t>::max();
  const std::string text("a\0b", 3);
  ASSERT_TRUE(database
                  .run("INSERT INTO t VALUES (?, ?, ?, ?, ?)", large,
                       std::numeric_limits<double>::quiet_NaN(), std::optional<double>(0.1), text, Blob{{}})
                  .ok());
  auto row = database.query("SELECT a, b, c, d, e FROM t");
  ASSERT_TRUE(row.ok() && row->next().ok());
  EXPECT_EQ(row->number(), large);
  EXPECT_TRUE(std::isnan(row->real()));
  EXPECT_EQ(row->optional_real(), 0.1);
  EXPECT_EQ(row->text(), text);
  EXPECT_EQ(row->text(), "");
}

TEST(Database, AStatementMayRunInsideItsOwnLoop) {
  const TempFolder folder;
  auto opened = Database::open(folder.file("a.db"), {});
  ASSERT_TRUE(opened.ok());
  Database& database = **opened;
  ASSERT_TRUE(database.script("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)").ok());
  int pairs = 0;
  auto outer = database.query("SELECT a FROM t");
  while (*outer->next()) {
    auto inner = database.query("SELECT a FROM t");
    while (*inner->next()) ++pairs;
  }
  EXPECT_EQ(pairs, 9);
}

TEST(Database, AHeldFileIsUnavailableAfterTheTimeout) {
  const TempFolder folder;
  auto first = Database::open(folder.file("a.db"), {});
  auto second = Database::open(folder.file("a.db"), {.read_only = false, .busy_timeout_ms = 20});
  ASSERT_TRUE(first.ok() && second.ok());
  Transaction holder(**first);
  ASSERT_TRUE(holder.begin().ok());
  Transaction waiting(**second);
  const Status status = waiting.begin();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("a.db is in use by another process"), std::string::npos)
      << status.message();
  ASSERT_TRUE(holder.commit().ok());
  EXPECT_TRUE(waiting.begin().ok());
}

TEST(Database, NothingOfAnUnfinishedTransactionStays) {
  const TempFolder folder;
  auto opened = Database::open(folder.file("a.db"), {});
  ASSERT_TRUE(opened.ok());
  Database& database = **opened;
  ASSERT_TRUE(database.script("CREATE TABLE t (a)").ok());
  {
    Transaction transaction(database);
    ASSERT_TRUE(transaction.begin().ok());
    ASSERT_TRUE(database.run("INSERT INTO t VALUES (1)").ok());
  }
  EXPECT_EQ(*database.integer("SELECT COUNT(*) FROM t"), 0);
  Transaction transaction(database);
  ASSERT_TRUE(transaction.begin().ok());
  ASSERT_TRUE(database.run("INSERT INTO t VALUES (1)").ok());
  ASSERT_TRUE(transaction.commit().ok());
  EXPECT_EQ(*database.integer("SELECT COUNT(*) FROM t"), 1);
}

}  // namespace
}  // namespace zomboss::history
