#include "zomboss/sdk/message.h"

#include <gtest/gtest.h>

namespace zomboss {
namespace {

wire::SurfaceT surface() {
  wire::SurfaceT surface;
  surface.target = "toy";
  surface.workload = "w";
  for (const char* name : {"tile_m", "buffering"}) {
    auto knob = std::make_unique<wire::KnobT>();
    knob->name = name;
    knob->values = {1, 2, 4};
    knob->labels = {"one", "two", "four"};
    surface.knobs.push_back(std::move(knob));
  }
  auto constraint = std::make_unique<wire::ConstraintT>();
  constraint->name = "fits";
  constraint->assertion = "(<= tile_m 2)";
  constraint->message = "does not fit";
  surface.constraints.push_back(std::move(constraint));
  surface.catalog = {1, 2, 4, 1};
  return surface;
}

TEST(Message, RoundTripKeepsAllFields) {
  const auto decoded = decode<wire::SurfaceT>(as_bytes(encode(surface())));
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(decoded->target, "toy");
  ASSERT_EQ(decoded->knobs.size(), 2u);
  EXPECT_EQ(decoded->knobs[1]->name, "buffering");
  EXPECT_EQ(decoded->knobs[1]->labels, (std::vector<std::string>{"one", "two", "four"}));
  EXPECT_EQ(decoded->constraints[0]->assertion, "(<= tile_m 2)");
  EXPECT_EQ(decoded->catalog, (std::vector<int64_t>{1, 2, 4, 1}));
  EXPECT_EQ(decoded->schema_revision, 1u);
}

TEST(Message, EqualValuesGiveEqualBytes) {
  EXPECT_EQ(encode(surface()), encode(surface()));
  EXPECT_EQ(encode(*decode<wire::SurfaceT>(as_bytes(encode(surface())))), encode(surface()));
}

TEST(Message, EveryPrefixIsRefused) {
  const std::string bytes = encode(surface());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string prefix = bytes.substr(0, size);  // a copy, so that a sanitizer sees reads past its end
    const auto decoded = decode<wire::SurfaceT>(as_bytes(prefix));
    if (decoded.ok()) {
      EXPECT_EQ(encode(*decoded), bytes) << "only padding may be cut off, at " << size;
    } else {
      EXPECT_EQ(decoded.status().code(), Code::kDataLoss);
    }
  }
  EXPECT_FALSE(decode<wire::SurfaceT>(as_bytes(bytes.substr(0, bytes.size() / 2))).ok());
}

TEST(Message, EveryFlippedBitIsRefusedOrReadsAsAnotherValidMessage) {
  const std::string bytes = encode(surface());
  size_t refused = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto decoded = decode<wire::SurfaceT>(as_bytes(damaged));
    if (!decoded.ok())
      ++refused;
    else
      EXPECT_FALSE(encode(*decoded).empty());
  }
  EXPECT_GT(refused, bytes.size());
}

TEST(Message, MessageOfAnotherKindIsRefusedByItsIdentifier) {
  const auto decoded = decode<wire::PlanT>(as_bytes(encode(surface())));
  EXPECT_NE(decoded.status().message().find("not a valid Plan message of "), std::string::npos);
  EXPECT_NE(decoded.status().message().find("bytes: wrong identifier"), std::string::npos);
}

TEST(Message, LargerThanTheLimitIsRefusedUnread) {
  const std::string bytes = encode(surface());
  DecodeLimits limits;
  limits.bytes = bytes.size() - 1;
  EXPECT_FALSE(decode<wire::SurfaceT>(as_bytes(bytes), limits).ok());
  limits.bytes = bytes.size();
  EXPECT_TRUE(decode<wire::SurfaceT>(as_bytes(bytes), limits).ok());
  limits.tables = 3;  // surface, two knobs, one constraint
  EXPECT_FALSE(decode<wire::SurfaceT>(as_bytes(bytes), limits).ok());
}

TEST(Message, AnyAlignmentIsRead) {
  const std::string bytes = encode(surface());
  for (size_t shift = 0; shift < 8; ++shift) {
    const std::string shifted = std::string(shift, 'x') + bytes;
    EXPECT_TRUE(decode<wire::SurfaceT>(as_bytes(std::string_view(shifted).substr(shift))).ok());
  }
}

TEST(Message, MissingRequiredFieldIsRefused) {
  // A root table without any field: {root offset 12, "ZBSF", vtable of 4 bytes, table}.
  const uint8_t empty[] = {12, 0, 0, 0, 'Z', 'B', 'S', 'F', 4, 0, 4, 0, 4, 0, 0, 0};
  EXPECT_FALSE(decode<wire::SurfaceT>(Bytes(empty)).ok());
}

}  // namespace
}  // namespace zomboss
