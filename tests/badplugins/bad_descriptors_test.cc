// Plugins whose shared object or descriptor is wrong: one test each, with the whole message.
#include "tests/badplugins/support.h"
#include "zomboss/sdk/plugin.h"

namespace zomboss::badplugins {
namespace {

struct Case {
  const char* id;
  const char* message;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.id;
}

class BadDescriptor : public ::testing::TestWithParam<Case> {};

TEST_P(BadDescriptor, IsRefusedWithItsMessage) {
  EXPECT_EQ(load_message(kPlugins, GetParam().id), GetParam().message);
}

const Case kCases[] = {
    {"good", "loaded"},
    {"no_entry",
     "ZB-LOAD-12: policy 'no_entry' 1.0.0 is refused: it does not export zb_plugin_query_v1\n"
     "  file: $DIR/no_entry.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: export the plugin with ZB_EXPORT_TARGET or ZB_EXPORT_POLICY and build it with zb_add_plugin()"},
    {"two_exports",
     "ZB-LOAD-13: policy 'two_exports' 1.0.0 is refused: it exports 2 more symbols than zb_plugin_query_v1: "
     "helper_function, helper_data\n"
     "  file: $DIR/two_exports.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: build it with zb_add_plugin(), which hides everything else"},
    {"v2_only",
     "ZB-LOAD-06: policy 'v2_only' 1.0.0 is refused: it only speaks another ABI: it exports "
     "zb_plugin_query_v2, not zb_plugin_query_v1\n"
     "  file: $DIR/v2_only.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: update zomboss, or rebuild the plugin for this ABI"},
    {"undefined",
     "ZB-LOAD-14: policy 'undefined' 1.0.0 is refused: the dynamic linker says: $DIR/undefined.so: undefined "
     "symbol: nobody_defines_this\n"
     "  file: $DIR/undefined.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: rebuild it with zb_add_plugin(), which links with -z defs, or install the library that it "
     "needs"},
    {"null_query",
     "ZB-LOAD-15: policy 'null_query' 1.0.0 is refused: it cannot run on a host this old (its query answered "
     "NULL)\n"
     "  file: $DIR/null_query.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: update zomboss, or use an older release of the plugin"},
    {"wrong_major",
     "ZB-LOAD-06: policy 'wrong_major' 1.0.0 is refused: its descriptor says ABI 3.0\n"
     "  file: $DIR/wrong_major.so\n"
     "  built for ABI 3.0; this host speaks ABI 1.0\n"
     "  next: rebuild it against the headers of ABI 1"},
    {"newer_host",
     "ZB-LOAD-16: policy 'newer_host' 1.0.0 is refused: it needs a host of ABI 1.9 or newer\n"
     "  file: $DIR/newer_host.so\n"
     "  built for ABI 1.9; this host speaks ABI 1.0\n"
     "  next: update zomboss, or use an older release of the plugin"},
    {"small_struct",
     "ZB-LOAD-18: policy 'small_struct' 1.0.0 is refused: its zb_plugin has struct_size 40, version 1.0 has "
     "72\n"
     "  file: $DIR/small_struct.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: set struct_size to sizeof(zb_plugin)"},
    {"tiny_struct",
     "ZB-LOAD-18: policy 'tiny_struct' 1.0.0 is refused: its zb_plugin has struct_size 0, version 1.0 has "
     "72\n"
     "  file: $DIR/tiny_struct.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: set struct_size to sizeof(zb_plugin)"},
    {"null_create",
     "ZB-LOAD-18: policy 'null_create' 1.0.0 is refused: 'create' of its zb_plugin is NULL\n"
     "  file: $DIR/null_create.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: fill every field of zb_plugin"},
    {"null_destroy",
     "ZB-LOAD-18: policy 'null_destroy' 1.0.0 is refused: 'destroy' of its zb_plugin is NULL\n"
     "  file: $DIR/null_destroy.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: fill every field of zb_plugin"},
    {"null_extension",
     "ZB-LOAD-18: policy 'null_extension' 1.0.0 is refused: 'extension' of its zb_plugin is NULL\n"
     "  file: $DIR/null_extension.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: fill every field of zb_plugin"},
    {"wrong_id",
     "ZB-LOAD-19: policy 'wrong_id' 1.0.0 is refused: the file says id 'another', its manifest says "
     "'wrong_id'\n"
     "  file: $DIR/wrong_id.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: install the plugin and $DIR/wrong_id.plugin.toml together again"},
    {"wrong_version",
     "ZB-LOAD-19: policy 'wrong_version' 1.0.0 is refused: the file says version '2.0.0', its manifest says "
     "'1.0.0'\n"
     "  file: $DIR/wrong_version.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: install the plugin and $DIR/wrong_version.plugin.toml together again"},
    {"wrong_kind",
     "ZB-LOAD-19: policy 'wrong_kind' 1.0.0 is refused: the file says kind 'target', its manifest says "
     "'policy'\n"
     "  file: $DIR/wrong_kind.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: install the plugin and $DIR/wrong_kind.plugin.toml together again"},
    {"unknown_kind",
     "ZB-LOAD-19: policy 'unknown_kind' 1.0.0 is refused: the file says kind '77', its manifest says "
     "'policy'\n"
     "  file: $DIR/unknown_kind.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: install the plugin and $DIR/unknown_kind.plugin.toml together again"},
    {"no_operations",
     "ZB-LOAD-20: policy 'no_operations' 1.0.0 is refused: it has no 'zomboss.policy/1'\n"
     "  file: $DIR/no_operations.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: offer a complete 'zomboss.policy/1' from extension()"},
    {"small_table",
     "ZB-LOAD-20: policy 'small_table' 1.0.0 is refused: its 'zomboss.policy/1' has struct_size 16, version "
     "1.0 has 48\n"
     "  file: $DIR/small_table.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: offer a complete 'zomboss.policy/1' from extension()"},
    {"null_operation",
     "ZB-LOAD-20: policy 'null_operation' 1.0.0 is refused: a mandatory operation is NULL\n"
     "  file: $DIR/null_operation.so\n"
     "  built for ABI 1.0; this host speaks ABI 1.0\n"
     "  next: give every function of the table; one that does nothing may answer ZB_UNIMPLEMENTED"},
};
INSTANTIATE_TEST_SUITE_P(All, BadDescriptor, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.id); });

TEST(BadSanitizer, IsRefusedNamingBoth) {
  const std::string message = load_message(kPlugins, "wrong_sanitizer");
  const std::string own = sdk::kSanitizer == ZB_SANITIZER_NONE      ? "no sanitizer"
                          : sdk::kSanitizer == ZB_SANITIZER_ADDRESS ? "AddressSanitizer"
                                                                    : "ThreadSanitizer";
  const std::string other = sdk::kSanitizer == ZB_SANITIZER_THREAD ? "AddressSanitizer" : "ThreadSanitizer";
  EXPECT_EQ(message, "ZB-LOAD-17: policy 'wrong_sanitizer' 1.0.0 is refused: it was built with " + other +
                         ", this program with " + own +
                         "\n  file: $DIR/wrong_sanitizer.so\n  built for ABI 1.0; this host speaks ABI 1.0\n"
                         "  next: build both with the same -fsanitize option");
}

TEST(BadPlugin, NeverHidesOrSpoilsTheOthers) {
  loader::Loader loader({loader::search_path_of({kPlugins}), {}});
  for (const Case& one : kCases) (void)loader.load(one.id, loader::Kind::kPolicy);
  const auto good = loader.load("good", loader::Kind::kPolicy);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, *loader.load("good", loader::Kind::kPolicy)) << "loaded once";
  EXPECT_EQ((*good)->sha256.size(), 64u);
  EXPECT_TRUE(loader.discovery().problems.empty());
}

}  // namespace
}  // namespace zomboss::badplugins
