#include "zomboss/sdk/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace zomboss {
namespace {

TEST(Status, PrefixIsAddedToErrorsAlone) {
  EXPECT_EQ(not_found("no file").with_prefix("toy").message(), "toy: no file");
  EXPECT_TRUE(Status().with_prefix("toy").ok());
  EXPECT_EQ(Status().with_prefix("toy").message(), "");
}

TEST(Status, CodesHaveNamesAndStrangeOnesAreUnknown) {
  EXPECT_EQ(code_name(Code::kOk), "ok");
  EXPECT_EQ(code_name(Code::kUnauthenticated), "unauthenticated");
  EXPECT_EQ(code_name(static_cast<Code>(17)), "unknown");
  EXPECT_EQ(code_name(static_cast<Code>(-1)), "unknown");
}

Result<std::unique_ptr<int>> make(bool good) {
  if (!good) return invalid_argument("not good");
  return std::make_unique<int>(7);
}

Status use(bool good, int& value) {
  ZB_ASSIGN(const std::unique_ptr<int> made, make(good));
  ZB_TRY(make(good));
  value = *made;
  return {};
}

TEST(Result, MacrosBindTheValueOrReturnTheError) {
  int value = 0;
  EXPECT_TRUE(use(true, value).ok());
  EXPECT_EQ(value, 7);
  EXPECT_EQ(use(false, value).message(), "not good");
}

TEST(Result, OkStatusWithoutValueIsABugNotAValue) {
  const Result<int> result = Status();
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::kInternal);
}

}  // namespace
}  // namespace zomboss
