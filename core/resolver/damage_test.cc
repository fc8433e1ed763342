// Damaged surface messages end in an error or in a surface that the resolver handles; never in a crash or a
// hang.
#include <gtest/gtest.h>

#include "core/mapping/testing.h"
#include "core/resolver/resolver.h"
#include "zomboss/sdk/message.h"

namespace zomboss::resolver {
namespace {

using mapping::testing::SurfaceBuilder;

wire::SurfaceT example() {
  SurfaceBuilder builder;
  builder.knob("tile_m", {16, 32, 64})
      .knob("tile_n", {16, 32}, mapping::Category::MatrixDecomposition, mapping::DefaultPolicy::Largest)
      .choice("buffering", {"single", "double"})
      .capacity("acc", "(let ((t (* tile_m tile_n))) (* t (+ buffering 1) (div 64 (+ tile_n (- 16)))))",
                "8192", "needs {needs:bytes}, has {available}; {tile_m} {(mod tile_m tile_n)} {{x}}")
      .row({16, 32, 0})
      .row({64, 16, 1})
      .row({32, 32, 1});
  return std::move(builder.message);
}

void exercise(const wire::SurfaceT& message, int* accepted) {
  const auto surface = mapping::from_wire(message);
  if (!surface.ok()) return;
  ++*accepted;
  Options options;
  options.search_steps = 10'000;
  options.solver_resources = 10'000;
  const auto derived = derive_domains(*surface, options);
  if (!derived.ok()) return;
  Resolver resolver(*derived, options);
  EXPECT_TRUE(resolver.complete(mapping::Intent()).ok());
}

TEST(Damage, FlippedBytesOfAMessageAreHandled) {
  const std::string bytes = encode(example());
  Random random(5, 0);
  int accepted = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string damaged = bytes;
    for (uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    const auto message = decode<wire::SurfaceT>(as_bytes(damaged));
    if (message.ok()) exercise(*message, &accepted);
  }
  EXPECT_GT(accepted, 100) << "the test should also reach the resolver";
}

TEST(Damage, ScrambledTermsAndMessagesAreHandled) {
  constexpr std::string_view kPieces[] = {"(",  ")", "let", "tile_m", "buffering", "div", "mod",   "*",
                                          "0",  "7", "{",   "}",      "ite",       "and", "<=",    "=",
                                          "((", "x", ";",   "|",      "-",         "not", "needs", ":bytes"};
  Random random(6, 0);
  int accepted = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    wire::SurfaceT message = example();
    wire::ConstraintT& constraint = *message.constraints[0];
    std::string* texts[] = {&constraint.assertion, &constraint.needs, &constraint.available,
                            &constraint.message};
    std::string& text = *texts[random.below(4)];
    for (uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const size_t at = random.below(text.size() + 1);
      if (random.below(2) == 0) {
        text.erase(at, random.below(6));
      } else {
        text.insert(at, std::string(kPieces[random.below(std::size(kPieces))]) + " ");
      }
    }
    exercise(message, &accepted);
  }
  EXPECT_GT(accepted, 100) << "the test should also reach the resolver";
}

}  // namespace
}  // namespace zomboss::resolver
