#include "core/mapping/convert.h"

#include <gtest/gtest.h>

#include "core/mapping/testing.h"
#include "core/mapping/vocabulary.h"
#include "zomboss/sdk/message.h"

namespace zomboss::mapping {
namespace {

using mapping::testing::SurfaceBuilder;

SurfaceBuilder example() {
  SurfaceBuilder builder;
  builder.boolean("hoist")
      .choice("buffering", {"single", "double"})
      .knob("tile_n", {32, 16, 64}, Category::MatrixDecomposition, DefaultPolicy::Smallest)
      .knob("tile_m", {32, 16, 64}, Category::MatrixDecomposition, DefaultPolicy::Largest)
      .capacity("acc", "(* tile_m tile_n 4)", "8192",
                "accumulator needs {needs:bytes}, has {available:bytes}");
  return builder;
}

// The first refusal of the example after a change.
template <typename Change>
std::string refusal(Change change) {
  SurfaceBuilder builder = example();
  change(builder);
  const auto surface = builder.build();
  return surface.ok() ? "accepted" : surface.status().message();
}

TEST(Surface, SortsKnobsValuesAndRowsIntoDefaultOrder) {
  const Surface surface = *example().row({1, 0, 64, 32}).row({0, 1, 16, 64}).row({0, 0, 16, 64}).build();
  EXPECT_EQ(surface.knob_names(), (std::vector<std::string>{"tile_m", "tile_n", "buffering", "hoist"}));
  EXPECT_EQ(surface.knob(0).values, (std::vector<int64_t>{64, 32, 16}));
  EXPECT_EQ(surface.knob(1).values, (std::vector<int64_t>{16, 32, 64}));
  ASSERT_EQ(surface.row_count(), 3u);
  const auto row = [&](size_t r) {
    return std::vector<uint16_t>(surface.row(r).begin(), surface.row(r).end());
  };
  EXPECT_EQ(row(0), (std::vector<uint16_t>{0, 0, 0, 0}));
  EXPECT_EQ(row(1), (std::vector<uint16_t>{0, 0, 1, 0}));
  EXPECT_EQ(row(2), (std::vector<uint16_t>{1, 2, 0, 1}));
  EXPECT_EQ(surface.find_knob("tile_n"), 1u);
  EXPECT_EQ(surface.find_knob("x"), std::nullopt);
}

TEST(Surface, RoundTripsThroughItsMessage) {
  const Surface surface = *example()
                               .row({1, 0, 64, 32})
                               .row({0, 1, 16, 64})
                               .reference("library", {0, 1, 16, 64}, "the vendor's choice")
                               .build();
  EXPECT_EQ(surface.references(),
            (std::vector<Reference>{{"library", {64, 16, 1, 0}, "the vendor's choice"}}));
  const wire::SurfaceT message = to_wire(surface);
  const auto bytes = encode(message);
  const auto decoded = decode<wire::SurfaceT>(as_bytes(bytes));
  ASSERT_TRUE(decoded.ok());
  const auto again = from_wire(*decoded);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(encode(to_wire(*again)), bytes);
  EXPECT_EQ(again->knobs(), surface.knobs());
  EXPECT_EQ(again->parts().catalog, surface.parts().catalog);
  EXPECT_EQ(again->references(), surface.references());
}

TEST(Surface, RefusesBadKnobs) {
  EXPECT_EQ(refusal([](auto&) {}), "accepted");
  EXPECT_EQ(refusal([](auto& b) { b.message.target.clear(); }), "the surface: has no target name");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs.clear(); }), "the surface: has no knobs");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->values.clear(); }),
            "the surface: knob 'tile_m' has an empty domain");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->values.push_back(16); }),
            "the surface: knob 'tile_m' has the value 16 twice");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->values.assign(4097, 0); }),
            "the surface: knob 'tile_m' has 4097 values, the limit is 4096");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->name = "tile_n"; }),
            "the surface: knob 'tile_n' is there twice");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->name = "needs"; }),
            "the surface: knob 'needs': the name is reserved");
  for (const char* name : {"", "9a", "a b", "a-b", "a\x1b[2J", "(", "a=b"}) {
    EXPECT_NE(refusal([&](auto& b) { b.message.knobs[3]->name = name; }).find("knob 3: its name must be"),
              std::string::npos)
        << name;
  }
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->category = Category::Precision; }),
            "the surface: knob 'tile_m' has the category 'precision', but 'tile_m' is a shared name of "
            "category 'matrix "
            "decomposition'");
  EXPECT_EQ(refusal([](auto& b) { b.knob("ffn.tile_m", {1}, Category::Precision); }),
            "the surface: knob 'ffn.tile_m' has the category 'precision', but 'tile_m' is a shared name of "
            "category "
            "'matrix decomposition'");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->category = static_cast<Category>(8); }),
            "the surface: knob 'tile_m' has the unknown category 8");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->type = static_cast<KnobType>(3); }),
            "the surface: knob 'tile_m' has the unknown type 3");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->default_policy = static_cast<DefaultPolicy>(3); }),
            "the surface: knob 'tile_m' has the unknown default policy 3");
  EXPECT_EQ(refusal([](auto& b) {
              b.message.knobs[0]->values = {0, 2};
            }),
            "the surface: knob 'hoist' is boolean but has a value other than 0 and 1");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->doc = "\x1b[2J"; }),
            "the surface: knob 'tile_m' doc has a control character at byte 0");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->doc = "a\xc2\x9b"; }),
            "the surface: knob 'tile_m' doc has a control character at byte 1");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->doc = "\u00e9\u20ac"; }), "accepted");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[3]->doc = "\xc0\x80"; }),
            "the surface: knob 'tile_m' doc is not UTF-8 at byte 0");
}

TEST(Surface, RefusesBadLabels) {
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[1]->labels.pop_back(); }),
            "the surface: knob 'buffering' has 1 labels for 2 values");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[1]->labels[1] = "single"; }),
            "the surface: knob 'buffering' has the label 'single' twice");
  EXPECT_EQ(refusal([](auto& b) { b.message.knobs[1]->labels[1] = "auto"; }),
            "the surface: knob 'buffering' has the label 'auto', which is reserved for intents");
  EXPECT_NE(refusal([](auto& b) { b.message.knobs[1]->labels[1] = "a b"; }).find("not plain"),
            std::string::npos);
  EXPECT_EQ(refusal([](auto& b) {
              b.message.knobs[3]->labels = {"a", "b", "c"};
            }),
            "the surface: knob 'tile_m' has labels but is no choice");
}

TEST(Surface, RefusesBadConstraints) {
  EXPECT_EQ(refusal([](auto& b) { b.rule("acc", "true", "m"); }),
            "the surface: constraint 'acc' is there twice");
  EXPECT_EQ(refusal([](auto& b) { b.rule("x", "true", ""); }), "the surface: constraint 'x' has no message");
  EXPECT_EQ(
      refusal([](auto& b) { b.rule("x", "true", "{needs}"); }),
      "the surface: constraint 'x': message, column 1: {needs} stands for the term 'needs', which is absent");
  EXPECT_EQ(
      refusal([](auto& b) { b.rule("x", "true", "is {tile_k}"); }),
      "the surface: constraint 'x': message, column 4: unknown placeholder {tile_k}; did you mean 'tile_m'?");
  EXPECT_EQ(refusal([](auto& b) { b.rule("x", "true", "is {tile_m"); }),
            "the surface: constraint 'x': message, column 4: '{' without '}'; write '{{' for a brace");
  EXPECT_EQ(refusal([](auto& b) { b.rule("x", "true", "is }"); }),
            "the surface: constraint 'x': message, column 4: '}' without '{'; write '}}' for a brace");
  EXPECT_EQ(refusal([](auto& b) { b.rule("x", "(< tile_k 4)", "m"); }),
            "the surface: constraint 'x':1:4: error: unknown knob 'tile_k'\n  (< tile_k 4)\n     ^\n"
            "  hint: did you mean 'tile_m'?");
  EXPECT_EQ(refusal([](auto& b) {
              b.message.knobs[3]->values = {int64_t{1} << 60};
              b.message.knobs[2]->values = {4};
            }),
            "the surface: constraint 'acc': a part of the term can leave 64 bits inside the knobs' domains");
  EXPECT_EQ(refusal([](auto& b) { b.message.constraints[0]->kind = static_cast<ConstraintKind>(9); }),
            "the surface: constraint 'acc' is of the unknown kind 9");
  EXPECT_NE(
      refusal([](auto& b) { b.message.constraints[0]->name = "catalog"; }).find("constraint 0: its name"),
      std::string::npos);
}

TEST(Surface, RefusesBadCatalogs) {
  EXPECT_EQ(refusal([](auto& b) { b.message.kind = SurfaceKind::Catalog; }),
            "the surface: is a catalog without rows");
  EXPECT_EQ(refusal([](auto& b) { b.message.catalog = {1}; }),
            "the surface: is conditional but has catalog rows");
  EXPECT_EQ(refusal([](auto& b) {
              b.row({1, 0, 64});
            }),
            "the surface: has a catalog of 3 numbers, not a multiple of its 4 knobs");
  EXPECT_EQ(refusal([](auto& b) {
              b.row({1, 0, 64, 48});
            }),
            "the surface: catalog row 0 has tile_m=48, which is outside its domain: 64, 32, 16");
  EXPECT_EQ(refusal([](auto& b) {
              b.row({1, 0, 64, 32}).row({0, 0, 64, 32}).row({1, 0, 64, 32});
            }),
            "the surface: catalog rows 0 and 2 are the same");
  EXPECT_NE(refusal([](auto& b) {
              b.message.kind = SurfaceKind::Catalog;
              b.message.catalog.assign(4'400'000, 0);
            }).find("1100000 rows, too many"),
            std::string::npos);
  EXPECT_EQ(refusal([](auto& b) { b.message.kind = static_cast<SurfaceKind>(2); }),
            "the surface: is of the unknown kind 2");
}

TEST(Surface, RefusesBadReferences) {
  EXPECT_EQ(refusal([](auto& b) { b.reference("library", {0, 1, 16, 64}); }), "accepted");
  EXPECT_EQ(refusal([](auto& b) {
              b.reference("a", {0, 1, 16, 64}).reference("a", {0, 0, 16, 64});
            }),
            "the surface: reference 'a' is there twice");
  EXPECT_EQ(refusal([](auto& b) {
              b.reference("a", {0, 1, 16});
            }),
            "the surface: reference 'a' has 3 values for 4 knobs");
  EXPECT_EQ(refusal([](auto& b) {
              b.reference("a", {0, 1, 16, 48});
            }),
            "the surface: reference 'a': has tile_m=48, which is outside its domain: 64, 32, 16");
  EXPECT_EQ(refusal([](auto& b) {
              b.reference("a", {0, 1, 64, 64});
            }),
            "the surface: reference 'a': is not legal: accumulator needs 16 KiB, has 8 KiB");
  EXPECT_EQ(refusal([](auto& b) {
              b.row({0, 1, 16, 64}).reference("a", {0, 0, 16, 64});
            }),
            "the surface: reference 'a': is no row of the catalog");
  EXPECT_EQ(refusal([](auto& b) {
              b.row({0, 1, 16, 64}).row({0, 0, 16, 32}).row({1, 0, 16, 64}).reference("a", {1, 0, 16, 64});
            }),
            "accepted");
  for (const char* name : {"", "9a", "a b", "a\x1b[2J"})
    EXPECT_NE(refusal([&](auto& b) {
                b.reference(name, {0, 1, 16, 64});
              }).find("reference 0: its name must"),
              std::string::npos)
        << name;
  EXPECT_EQ(refusal([](auto& b) {
              b.reference("a", {0, 1, 16, 64}, "\x1b[2J");
            }),
            "the surface: reference 'a' has a control character at byte 0");
  EXPECT_EQ(refusal([](auto& b) {
              for (char c = 'a'; c <= 'i'; ++c) b.reference(std::string(1, c), {0, 1, 16, 64});
            }),
            "the surface: has 9 references, the limit is 8");
}

TEST(Vocabulary, IsSortedByCategoryAndName) {
  ASSERT_GE(vocabulary().size(), 50u);
  for (size_t i = 1; i < vocabulary().size(); ++i) {
    const auto &a = vocabulary()[i - 1], &b = vocabulary()[i];
    EXPECT_LT(std::pair(a.category, a.name), std::pair(b.category, b.name)) << b.name;
  }
  EXPECT_EQ(find_vocabulary("tile_m")->category, Category::MatrixDecomposition);
  EXPECT_EQ(find_vocabulary("tile_q"), nullptr);
}

}  // namespace
}  // namespace zomboss::mapping
