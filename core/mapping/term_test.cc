#include "core/mapping/term.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/mapping/testing.h"

namespace zomboss::mapping {
namespace {

using mapping::testing::random_bool;
using mapping::testing::RandomTerm;

const std::vector<std::string> kKnobs = {"a", "b", "tile_m"};

std::optional<int64_t> value_of(const std::string& text, const std::vector<int64_t>& values,
                                Sort sort = Sort::kInt) {
  const auto term = parse_term("t", text, kKnobs, sort);
  EXPECT_TRUE(term.ok()) << term.status().message();
  if (!term.ok()) return std::nullopt;
  TermScratch scratch;
  return evaluate(*term, values, scratch);
}

// What is wrong with the text: "column: message" of its only error.
std::string error_of(const std::string& text, Sort sort = Sort::kBool) {
  const Source source("t", text);
  Diagnostics diagnostics(source);
  if (parse_term(kKnobs, sort, diagnostics).ok()) return "no error";
  EXPECT_EQ(diagnostics.all().size(), 1u);
  const Diagnostic& first = diagnostics.all()[0];
  return std::to_string(first.where.column) + ": " + first.message +
         (first.hint.empty() ? "" : " | " + first.hint);
}

TEST(Term, DividesTowardMinusInfinityWithNonNegativeRest) {
  EXPECT_EQ(value_of("(div 7 2)", {0, 0, 0}), 3);
  EXPECT_EQ(value_of("(div (- 7) 2)", {0, 0, 0}), -4);
  EXPECT_EQ(value_of("(mod (- 7) 2)", {0, 0, 0}), 1);
  EXPECT_EQ(value_of("(div 7 (- 2))", {0, 0, 0}), -3);
  EXPECT_EQ(value_of("(mod 7 (- 2))", {0, 0, 0}), 1);
  EXPECT_EQ(value_of("(div (- 7) (- 2))", {0, 0, 0}), 4);
  EXPECT_EQ(value_of("(mod (- 7) (- 2))", {0, 0, 0}), 1);
  EXPECT_EQ(value_of("(mod a b)", {std::numeric_limits<int64_t>::min(), -1, 0}), 0);
}

TEST(Term, IsUndefinedWhereADivisionByZeroMatters) {
  EXPECT_EQ(value_of("(div a b)", {1, 0, 0}), std::nullopt);
  EXPECT_EQ(value_of("(+ 1 (mod a b))", {1, 0, 0}), std::nullopt);
  EXPECT_EQ(value_of("(ite (= b 0) 5 (div a b))", {1, 0, 0}), 5);
  EXPECT_EQ(value_of("(and (distinct b 0) (> (div a b) 0))", {1, 0, 0}, Sort::kBool), 0);
  EXPECT_EQ(value_of("(and (> (div a b) 0) (distinct b 0))", {1, 0, 0}, Sort::kBool), 0);
  EXPECT_EQ(value_of("(or (= b 0) (> (div a b) 0))", {1, 0, 0}, Sort::kBool), 1);
  EXPECT_EQ(value_of("(=> (distinct b 0) (> (div a b) 0))", {1, 0, 0}, Sort::kBool), 1);
  EXPECT_EQ(value_of("(or (= b 1) (> (div a b) 0))", {1, 0, 0}, Sort::kBool), std::nullopt);
}

TEST(Term, ReadsChainsListsAndLet) {
  EXPECT_EQ(value_of("(< a b tile_m)", {1, 2, 3}, Sort::kBool), 1);
  EXPECT_EQ(value_of("(< a b tile_m)", {1, 3, 3}, Sort::kBool), 0);
  EXPECT_EQ(value_of("(distinct a b tile_m)", {1, 2, 1}, Sort::kBool), 0);
  EXPECT_EQ(value_of("(- 10 a b)", {1, 2, 0}), 7);
  EXPECT_EQ(value_of("(+ 1 2 3 4 5 a)", {1, 0, 0}), 16);
  EXPECT_EQ(value_of("(div 100 5 4)", {0, 0, 0}), 5);
  EXPECT_EQ(value_of("(abs (- a 5))", {1, 0, 0}), 4);
  EXPECT_EQ(value_of("(=> true false true)", {0, 0, 0}, Sort::kBool), 1);
  EXPECT_EQ(value_of("(xor true true true)", {0, 0, 0}, Sort::kBool), 1);
  EXPECT_EQ(value_of("(let ((a b) (b a)) (- a b))", {1, 5, 0}), 4)
      << "bindings are parallel and shadow knobs";
  EXPECT_EQ(value_of("(+ (let ((x (* a a))) (+ x x)) a) ; sum\n", {3, 0, 0}), 21);
  EXPECT_EQ(value_of("(let ((x 1)) |tile_m|)", {3, 0, 9}), 9);
  EXPECT_EQ(value_of("(let ((x a)) x)", {3, 0, 9}), 3);
}

TEST(Term, NamesTheColumnAndTheNextStepOfAnError) {
  EXPECT_EQ(error_of("(<= tile_n 4)"), "5: unknown knob 'tile_n' | did you mean 'tile_m'?");
  EXPECT_EQ(error_of("(< a -5)"), "6: '-5' is not an SMT-LIB number | write (- 5)");
  EXPECT_EQ(error_of("(< a 1.5)"), "6: '1.5' is not an integer");
  EXPECT_EQ(error_of("(< a 99999999999999999999)"), "6: '99999999999999999999' does not fit 64 bits");
  EXPECT_EQ(error_of("(max a b)").substr(0, 27), "2: unknown operator 'max' |");
  EXPECT_EQ(error_of("(and a true)"),
            "2: and needs a Bool, got an Int | compare an Int knob, e.g. (= knob 1)");
  EXPECT_EQ(error_of("(+ a (< a b))", Sort::kInt), "2: + needs an Int, got a Bool");
  EXPECT_EQ(error_of("(ite true a false)", Sort::kInt),
            "2: the last operand of ite needs an Int, got a Bool");
  EXPECT_EQ(error_of("(mod a b 2)", Sort::kInt), "1: 'mod' takes 2 operands, not 3");
  EXPECT_EQ(error_of("(abs)", Sort::kInt), "1: 'abs' takes 1 operand, not 0");
  EXPECT_EQ(error_of("(< a"), "5: the term ends too early | a ')' or an operand is missing");
  EXPECT_EQ(error_of("(< a b) c"), "9: text after the end of the term | join conditions with (and ...)");
  EXPECT_EQ(error_of(""), "1: the term ends too early | a ')' or an operand is missing");
  EXPECT_EQ(error_of(")"), "1: a term is missing before ')'");
  EXPECT_EQ(error_of("(let ((x 1)) (= x y))"), "19: unknown knob 'y' | did you mean 'a'?");
  EXPECT_EQ(error_of("(= x (let ((x 1)) x))"), "4: unknown knob 'x' | did you mean 'a'?");
  EXPECT_EQ(error_of("(let x 1)"), "6: 'let' needs a list of (name term)");
  EXPECT_EQ(error_of("(= \"s\" a)"), "4: strings are not allowed in terms");
  EXPECT_EQ(error_of("(= |a a)"), "4: unterminated '|' symbol");
  EXPECT_EQ(error_of("a"), "1: the term needs a Bool, got an Int | compare an Int knob, e.g. (= knob 1)");
}

TEST(Term, RefusesHostileSizes) {
  const std::string deep = std::string(100'000, '(');
  EXPECT_NE(error_of(deep), "no error");
  std::string nested = "a";
  for (int i = 0; i < 300; ++i) nested = "(abs " + nested + ")";
  EXPECT_NE(error_of(nested, Sort::kInt).find("deeper than 256"), std::string::npos);
  std::string wide = "(+";
  for (int i = 0; i < 20'000; ++i) wide += " 1";
  EXPECT_NE(error_of(wide + ")", Sort::kInt).find("too large"), std::string::npos);
  EXPECT_NE(error_of(std::string(70'000, ' ')).find("limit is 65536"), std::string::npos);
}

// Doubling by let is linear in the parser, and the width check stops it before a number overflows.
TEST(Term, SharesLetBindingsAndRefusesTermsBeyond64Bits) {
  std::string text = "x0";
  for (int i = 60; i-- > 0;) {
    const std::string next = "x" + std::to_string(i), over = "(* " + next + " " + next + ")";
    text = "(let ((x" + std::to_string(i + 1) + " " + over + ")) " + (i == 59 ? "x60" : text.substr(0)) + ")";
  }
  text = "(let ((x0 a)) " + text + ")";
  const auto term = parse_term("t", text, kKnobs, Sort::kInt);
  ASSERT_TRUE(term.ok()) << term.status().message();
  EXPECT_LT(term->nodes.size(), 100u);
  const std::vector<Bounds> wide(3, Bounds{0, 2, false}), narrow(3, Bounds{0, 1, false});
  EXPECT_FALSE(check_width(*term, wide).ok());
  EXPECT_TRUE(check_width(*term, narrow).ok());
}

TEST(Term, ChecksWidthAtTheEdges) {
  const Bounds full{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), false};
  const std::vector<Bounds> ranges(3, full);
  for (const char* text : {"(+ a 1)", "(- a)", "(abs a)", "(* a 2)", "(div a (- 1))", "(- a b)"}) {
    EXPECT_FALSE(check_width(*parse_term("t", text, kKnobs, Sort::kInt), ranges).ok()) << text;
  }
  for (const char* text : {"(mod a b)", "(mod a (- 1))", "(div a 2)", "(ite (< a b) a b)"}) {
    EXPECT_TRUE(check_width(*parse_term("t", text, kKnobs, Sort::kInt), ranges).ok()) << text;
  }
}

// Exact evaluation against the generator's own; bounds enclose all values, undefinedness included, and are
// exact when every knob is.
TEST(Term, AgreesWithAnIndependentEvaluatorOnRandomTerms) {
  Random random(11, 0);
  TermScratch scratch;
  const std::vector<std::vector<int64_t>> domains = {{-2, 0, 3}, {0, 1}, {-1, 2, 5, 8}};
  for (int trial = 0; trial < 4000; ++trial) {
    const RandomTerm random_term = random_bool(random, kKnobs, 3);
    const auto term = parse_term("t", random_term.text, kKnobs, Sort::kBool);
    ASSERT_TRUE(term.ok()) << term.status().message();
    std::vector<Bounds> hull;
    for (const auto& domain : domains) hull.push_back({domain.front(), domain.back(), false});
    ASSERT_TRUE(check_width(*term, hull).ok());
    const Bounds whole = bounds(*term, hull, scratch);
    for (int64_t a : domains[0]) {
      const std::vector<Bounds> partial = {{a, a, false}, hull[1], hull[2]};
      const Bounds half = bounds(*term, partial, scratch);
      for (int64_t b : domains[1]) {
        for (int64_t c : domains[2]) {
          const std::vector<int64_t> values = {a, b, c};
          const auto expected = random_term.value(values);
          ASSERT_EQ(evaluate(*term, values, scratch), expected) << random_term.text;
          const std::vector<Bounds> points = {{a, a, false}, {b, b, false}, {c, c, false}};
          const Bounds point = bounds(*term, points, scratch);
          const Bounds exact = expected ? Bounds{*expected, *expected, false} : Bounds{1, 0, true};
          ASSERT_EQ(point, exact) << random_term.text;
          for (const Bounds& outer : {whole, half}) {
            ASSERT_TRUE(expected ? outer.low <= *expected && *expected <= outer.high : outer.maybe_undefined)
                << random_term.text;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace zomboss::mapping
