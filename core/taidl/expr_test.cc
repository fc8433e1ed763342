#include "core/taidl/expr.h"

#include <gtest/gtest.h>

#include "core/taidl/parser.h"
#include "core/taidl/test_support.h"
#include "zomboss/sdk/random.h"

namespace zomboss::taidl {
namespace {

Expr parse(const std::string& text) {
  const Source source("expr", text);
  Diagnostics diagnostics(source);
  auto expr = parse_expression(source, 0, text.size(), diagnostics);
  EXPECT_TRUE(expr) << diagnostics.render_all();
  return expr ? *std::move(expr) : Expr{};
}

std::string value(const std::string& text, const Env& env = {}) {
  const Value value = evaluate(parse(text), env);
  return value.failed() ? value.message : value.known() ? std::to_string(value.number) : "unknown";
}

TEST(Expr, FollowsTheRulesOfC) {
  EXPECT_EQ(value("1 + 2 * 3 - 4"), "3");
  EXPECT_EQ(value("(1 + 2) * 3"), "9");
  EXPECT_EQ(value("10 - 4 - 3"), "3");
  EXPECT_EQ(value("-7 / 2"), "-3");
  EXPECT_EQ(value("-7 % 2"), "-1");
  EXPECT_EQ(value("2 - -2"), "4");
  EXPECT_EQ(value("1 < 2 && 3 != 3 || 2 >= 2"), "1");
  EXPECT_EQ(value("!(1 == 1)"), "0");
  EXPECT_EQ(value("1 == 2 -> 1 == 3 -> 1 == 4"), "1");
  EXPECT_EQ(value("(1 == 2 -> 1 == 3) -> 1 == 4"), "0");
  EXPECT_EQ(value("0x10"), "16");
}

TEST(Expr, HasRoundingUpAndLogarithm) {
  EXPECT_EQ(value("ceildiv(17, 16)"), "2");
  EXPECT_EQ(value("ceildiv(16, 16)"), "1");
  EXPECT_EQ(value("ceildiv(0, 16)"), "0");
  EXPECT_EQ(value("ceildiv(-17, 16)"), "-1");
  EXPECT_EQ(value("log2(1)"), "0");
  EXPECT_EQ(value("log2(1023)"), "9");
  EXPECT_EQ(value("min(3, 1, 2) + max(3, 1, 2) + abs(-5)"), "9");
}

TEST(Expr, ReportsWhatHasNoValue) {
  const std::string most = "9223372036854775807";
  EXPECT_EQ(value(most + " + 1"), "the value of '" + most + " + 1' does not fit in 64 bits");
  EXPECT_EQ(value("(-" + most + " - 1) - 1").find("does not fit") != std::string::npos, true);
  EXPECT_EQ(value("(-" + most + " - 1) / -1").find("does not fit") != std::string::npos, true);
  EXPECT_EQ(value("(-" + most + " - 1) % -1").find("does not fit") != std::string::npos, true);
  EXPECT_EQ(value("-(-" + most + " - 1)").find("does not fit") != std::string::npos, true);
  EXPECT_EQ(value("abs(-" + most + " - 1)").find("does not fit") != std::string::npos, true);
  EXPECT_EQ(value("3037000500 * 3037000500").find("does not fit") != std::string::npos, true);
  EXPECT_EQ(value("1 / 0"), "division by zero in '1 / 0'");
  EXPECT_EQ(value("1 % 0"), "division by zero in '1 % 0'");
  EXPECT_EQ(value("ceildiv(1, 0)"), "division by zero in 'ceildiv(1, 0)'");
  EXPECT_EQ(value("ceildiv(1, -2)"), "division by a negative number in 'ceildiv(1, -2)'");
  EXPECT_EQ(value("log2(0)"), "log2 of 0");
}

TEST(Expr, StopsWhereTheLeftSideDecides) {
  EXPECT_EQ(value("1 == 2 && 1 / 0 == 1"), "0");
  EXPECT_EQ(value("1 == 1 || 1 / 0 == 1"), "1");
  EXPECT_EQ(value("1 == 2 -> 1 / 0 == 1"), "1");
  EXPECT_EQ(value("n > 0 && 8 / n > 1", {{"n", 0}}), "0");
}

TEST(Expr, KeepsUnknownsApartFromErrors) {
  EXPECT_EQ(value("n + 1"), "unknown");
  EXPECT_EQ(value("gp[3] + 1"), "unknown");
  EXPECT_EQ(value("n > 1 && 1 == 2"), "unknown");
  EXPECT_EQ(value("1 == 2 && n > 1"), "0");
  EXPECT_EQ(value("n + 1", {{"n", 4}}), "5");
}

TEST(Expr, FoldsWhatIsKnown) {
  const Env env = {{"DIM", 16}};
  EXPECT_EQ(print_expr(fold(parse("n * (DIM - 4) + DIM / 2"), env)), "n * 12 + 8");
  EXPECT_EQ(print_expr(fold(parse("DIM > 4 && n == DIM"), env)), "16 > 4 && n == 16");
  EXPECT_EQ(print_expr(fold(parse("n - (DIM - 20)"), env)), "n - -4");
  EXPECT_EQ(print_expr(fold(parse("DIM / 0"), env)), "16 / 0");
}

// A tree of the given height at most.
Expr random_tree(Random& random, int height) {
  const auto op = static_cast<Op>(random.below(static_cast<uint64_t>(Op::kImplies) + 1));
  Expr expr;
  if (height == 1 || op <= Op::kName) {
    expr.op = random.below(2) == 0 ? Op::kInt : Op::kName;
    if (expr.op == Op::kInt) expr.value = static_cast<int64_t>(random.below(100));
    if (expr.op == Op::kName) expr.name = "n" + std::to_string(random.below(5));
    return expr;
  }
  expr.op = op;
  size_t count = 2;
  if (op == Op::kCall) count = random.below(4);
  if (op == Op::kIndex || op == Op::kNot || op == Op::kNegate) count = 1;
  if (op == Op::kCall || op == Op::kIndex) expr.name = "f";
  for (size_t i = 0; i < count; ++i) {
    expr.args.push_back(random_tree(random, height - 1));
    expr.depth = std::max(expr.depth, static_cast<uint16_t>(expr.args.back().depth + 1));
  }
  return expr;
}

TEST(Expr, PrintsWithJustEnoughParentheses) {
  EXPECT_EQ(print_expr(parse("((a + b)) + (c * (d)) - (e - f)")), "a + b + c * d - (e - f)");
  EXPECT_EQ(print_expr(parse("(a -> b) -> (c -> d)")), "(a -> b) -> c -> d");
  EXPECT_EQ(print_expr(parse("-(a + b) * !c")), "-(a + b) * !c");
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(7, seed);
    const Expr tree = random_tree(random, 6);
    const Expr again = parse(print_expr(tree));
    ASSERT_TRUE(again == tree) << "seed " << seed << ": " << print_expr(tree) << " reads as "
                               << print_expr(again);
  }
}

TEST(Domain, CountsAndFindsItsValues) {
  const Domain range{.low = -3, .high = 8, .step = 5, .values = {}, .any = false};
  EXPECT_EQ(range.size(), 3u);
  EXPECT_EQ(range.last(), 7);
  EXPECT_TRUE(range.contains(2));
  EXPECT_FALSE(range.contains(8));
  const Domain list{.low = 1, .high = 9, .step = 1, .values = {1, 4, 9}, .any = false};
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(list.at(1), 4);
  EXPECT_FALSE(list.contains(5));
  const Domain wide{.low = INT64_MIN, .high = INT64_MAX, .step = 1, .values = {}, .any = false};
  EXPECT_EQ(wide.size(), uint64_t{1} << 63);
}

}  // namespace
}  // namespace zomboss::taidl
