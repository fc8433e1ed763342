// A plugin of a later minor version runs on this host, and this host's own plugins are as the ABI promises.
#include <algorithm>

#include "tests/abi/instance.h"

namespace zomboss::abi {
namespace {

TEST(NewerPlugin, OfALaterMinorLoadsAndAnswers) {
  loader::Loader loader({loader::search_path_of({ZB_BINARY_DIR "/tests/plugins"}), {}});
  const auto plugin = loader.load("newer", loader::Kind::kPolicy);
  ASSERT_TRUE(plugin.ok()) << plugin.status().message();
  EXPECT_EQ((*plugin)->descriptor->abi_minor, 9);
  EXPECT_GT((*plugin)->descriptor->struct_size, sizeof(zb_plugin));
  EXPECT_GT((*plugin)->policy->struct_size, sizeof(zb_policy));
  Instance policy(**plugin);
  const auto proposal = policy.message<wire::ProposalT>((*plugin)->policy->propose, std::string("state"));
  ASSERT_TRUE(proposal.ok()) << proposal.status().message();
  EXPECT_EQ(proposal->kind, wire::ProposalKind::Stop);
  EXPECT_EQ(policy.bytes((*plugin)->policy->save)->size(), 0u);
}

class Shipped : public ::testing::TestWithParam<std::pair<const char*, loader::Kind>> {};

// What the entry promises: pure, NULL for a host of another major, unknown extensions are NULL.
TEST_P(Shipped, QueryIsPureAndExtensionsAreExact) {
  loader::Loader loader({loader::search_path_of({ZB_BINARY_DIR "/plugins"}), {}});
  const auto [id, kind] = GetParam();
  const auto loaded = loader.load(id, kind);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const zb_plugin& plugin = *(*loaded)->descriptor;
  const auto extension = [&](std::string_view name) { return plugin.extension({name.data(), name.size()}); };
  const std::string mandatory = kind == loader::Kind::kTarget ? ZB_TARGET_ID : ZB_POLICY_ID;
  EXPECT_NE(extension(mandatory), nullptr);
  EXPECT_EQ(extension(mandatory), extension(mandatory));
  EXPECT_EQ(extension(mandatory + "0"), nullptr);
  EXPECT_EQ(extension(mandatory.substr(0, mandatory.size() - 1)), nullptr);
  EXPECT_EQ(extension(""), nullptr);
  EXPECT_EQ(extension(std::string_view("\0\xff", 2)), nullptr);
}
INSTANTIATE_TEST_SUITE_P(Policies, Shipped,
                         ::testing::Values(std::pair("random", loader::Kind::kPolicy),
                                           std::pair("hill", loader::Kind::kPolicy)),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace zomboss::abi
