// Damaged specs: no crash, no hang, and an error whenever no model comes out.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>

#include "core/taidl/test_support.h"
#include "zomboss/sdk/random.h"

namespace zomboss::taidl {
namespace {

bool full() {
  return std::getenv("ZB_FUZZ_FULL") != nullptr;
}

void parse_damaged(const std::string& text) {
  const Source source("damaged", text);
  Diagnostics diagnostics(source);
  const auto spec = parse_spec(source, diagnostics);
  EXPECT_EQ(spec.ok(), diagnostics.ok());
  EXPECT_LE(diagnostics.all().size(), 101u);
  for (const Diagnostic& diagnostic : diagnostics.all()) EXPECT_GT(diagnostic.where.line, 0u);
}

void load_damaged(const std::string& text) {
  const Source source("damaged", text);
  Diagnostics diagnostics(source);
  const auto model = load_model(source, {}, diagnostics);
  EXPECT_EQ(model.ok(), diagnostics.ok()) << diagnostics.render_all();
}

TEST(Fuzz, TruncationAtEveryByteIsAnErrorOrASpec) {
  const std::string text(read_spec(kGemmini).text());
  // Cut anywhere, a spec is a syntax error: parsing it is all that load_model would do. Every byte takes a
  // minute; ZB_FUZZ_FULL=1 does that.
  const size_t step = full() ? 1 : 37;
  for (size_t length = 0; length < text.size(); length += length < 4000 ? 1 : step)
    parse_damaged(text.substr(0, length));
  const std::string toy(read_spec(kToy).text());
  for (size_t length = 0; length < toy.size(); ++length) load_damaged(toy.substr(0, length));
}

TEST(Fuzz, FlippedBytesAreAnErrorOrASpec) {
  const std::string text(read_spec(kGemmini).text());
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(11, seed);
    std::string damaged = text;
    for (uint64_t flips = 1 + random.below(3); flips > 0; --flips)
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    full() ? load_damaged(damaged) : parse_damaged(damaged);
  }
}

// Words and numbers exchanged: most of these are grammatical and reach the checks.
TEST(Fuzz, ExchangedWordsReachTheChecksWithoutHarm) {
  for (const char* path : {kToy, "core/taidl/testdata/all_constructs.taidl"}) {
    const std::string text(read_spec(path).text());
    std::vector<std::pair<size_t, size_t>> words;
    for (size_t begin = 0; begin < text.size();) {
      size_t end = begin;
      while (end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
        ++end;
      if (end > begin) words.emplace_back(begin, end - begin);
      begin = end + 1;
    }
    for (uint64_t seed = 0; seed < (full() ? 4000 : 100); ++seed) {
      Random random(13, seed);
      const auto [to, to_length] = words[random.below(words.size())];
      const auto [from, from_length] = words[random.below(words.size())];
      std::string damaged = text;
      const bool number = random.below(3) == 0;
      const char* const numbers[] = {"0", "-1", "9223372036854775807", "65536", "1099511627776"};
      damaged.replace(to, to_length, number ? numbers[random.below(5)] : text.substr(from, from_length));
      load_damaged(damaged);
    }
  }
}

TEST(Fuzz, DeepNestingIsRefused) {
  const size_t deep = 100000;
  for (const auto& [open, close] : {std::pair<std::string, std::string>{"(", ")"},
                                    {"-", ""},
                                    {"!", ""},
                                    {"f(", ")"},
                                    {"r[", "]"},
                                    {"1+", ""},
                                    {"1->", ""}}) {
    std::string text = "target t { param N = ";
    for (size_t i = 0; i < deep; ++i) text += open;
    text += "1";
    for (size_t i = 0; i < deep; ++i) text += close;
    parse_damaged(text + "; }");
  }
  std::string whens = "target t { instr f() { ";
  for (size_t i = 0; i < deep; ++i) whens += "when 1 == 1 { ";
  parse_damaged(whens);
  std::string braces = "target t { instr f() { sem {";
  for (size_t i = 0; i < deep; ++i) braces += "{";
  parse_damaged(braces);
  load_damaged(braces + std::string(deep + 1, '}') + "}}");
}

TEST(Fuzz, ManyOperandsAndStatesAreRefused) {
  std::string text = "target t { instr f(";
  for (int i = 0; i < 5000; ++i) text += (i == 0 ? "a" : ", a") + std::to_string(i) + ": int in 1..1";
  load_damaged(text + ") { } }");
  text = "target t { ";
  for (int i = 0; i < 5000; ++i) text += "state s" + std::to_string(i) + " : 0..1 = 0; ";
  load_damaged(text + "}");
}

}  // namespace
}  // namespace zomboss::taidl
