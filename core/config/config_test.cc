#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "core/config/config.h"
#include "core/config/contract_file.h"
#include "core/config/suite.h"

namespace zomboss::config {
namespace {

// A file in a folder of the test's own.
std::string write(const std::string& name, const std::string& text) {
  const std::string folder = testing::TempDir() + "zomboss_config_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/" + name, std::ios::binary) << text;
  return folder + "/" + name;
}

// The message with the folder cut off.
std::string message(const Status& status) {
  std::string text = status.message();
  const std::string folder = testing::TempDir() + "zomboss_config_test/";
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder))
    text.erase(at, folder.size());
  return text;
}

TEST(Config, LaterLayersWinAndOriginsAreKept) {
  Config config;
  EXPECT_EQ(config.integer("search.seed"), 1);
  EXPECT_EQ(config.origin("search.seed"), "built-in");
  ASSERT_TRUE(config.add_file(write("a.toml", "[search]\nseed = 5\npolicy = 'random'\n")).ok());
  EXPECT_EQ(config.integer("search.seed"), 5);
  EXPECT_TRUE(config.origin("search.seed").ends_with("a.toml:2:1"));
  const std::map<std::string, std::string> environment = {{"ZB_SEARCH_SEED", "6"}};
  ASSERT_TRUE(config
                  .add_environment([&](const std::string& name) -> std::optional<std::string> {
                    const auto found = environment.find(name);
                    return found == environment.end() ? std::nullopt : std::optional(found->second);
                  })
                  .ok());
  EXPECT_EQ(config.origin("search.seed"), "environment ZB_SEARCH_SEED");
  ASSERT_TRUE(config.add_setting("search.seed=7", "--set").ok());
  EXPECT_EQ(config.integer("search.seed"), 7);
  EXPECT_EQ(config.text("search.policy"), "random");
}

TEST(Config, PluginSectionsBecomeOptionsAndParameters) {
  Config config;
  ASSERT_TRUE(
      config
          .add_file(write("b.toml",
                          "[target.gemmini]\nlatency = 40\nname = 'x'\n"
                          "[target.gemmini.params]\nDIM = 8\n[plugins]\ndirectories = ['/a', '/b']\n"))
          .ok());
  const wire::OptionsT options = config.plugin_options("target", "gemmini");
  ASSERT_EQ(options.values.size(), 2u);
  EXPECT_EQ(options.values[0]->key, "latency");
  EXPECT_EQ(options.values[0]->ints, std::vector<int64_t>{40});
  EXPECT_EQ(options.values[1]->text, "x");
  EXPECT_EQ(config.target_params("gemmini"), (std::map<std::string, int64_t>{{"DIM", 8}}));
  EXPECT_EQ(config.texts("plugins.directories"), (std::vector<std::string>{"/a", "/b"}));
}

TEST(Config, EveryErrorOfAFileIsReportedWithItsPlace) {
  Config config;
  EXPECT_EQ(message(config.add_file(write("c.toml", "[search]\nsed = 5\nevaluations = -3\nseed = 'x'\n"))),
            "c.toml:3:1: error: 'search.evaluations' is -3, expected 0 or more\n"
            "  evaluations = -3\n  ^\n"
            "c.toml:2:1: error: unknown configuration key 'search.sed'; did you mean 'search.seed'?\n"
            "  sed = 5\n  ^\n"
            "c.toml:4:1: error: 'search.seed' is 'x', expected an integer\n"
            "  seed = 'x'\n  ^");
}

TEST(Config, SyntaxErrorsHaveLineAndColumn) {
  Config config;
  EXPECT_TRUE(message(config.add_file(write("d.toml", "[search\nseed = 1\n")))
                  .starts_with("d.toml:1:8: error: not valid TOML: "));
  EXPECT_EQ(message(config.add_file(testing::TempDir() + "zomboss_config_test/none.toml")),
            "none.toml: no such file");
}

TEST(Config, SettingsAreChecked) {
  Config config;
  EXPECT_EQ(config.add_setting("search.seed", "--set").message(), "--set 'search.seed': expected key=value");
  EXPECT_EQ(config.add_setting("search.seed=x", "--set").message(),
            "--set: 'search.seed' is 'x', expected an integer");
  EXPECT_EQ(config.add_setting("target.gemmini=1", "--set").message(),
            "--set: 'target.gemmini' is no plugin option: write target.ID.OPTION, policy.ID.OPTION or "
            "target.ID.params.NAME");
}

TEST(Config, SettingsTakeQuotedTextAndPluginsGetBooleansAsNumbersToo) {
  Config config;
  ASSERT_TRUE(config.add_setting("target.t.name=\"a b\"", "--set").ok());
  ASSERT_TRUE(config.add_setting("target.t.off=false", "--set").ok());
  ASSERT_TRUE(config.add_setting("target.t.quote=\"", "--set").ok());
  const wire::OptionsT options = config.plugin_options("target", "t");
  ASSERT_EQ(options.values.size(), 3u);
  EXPECT_EQ(options.values[0]->text, "a b");
  EXPECT_TRUE(options.values[0]->ints.empty());
  EXPECT_EQ(options.values[1]->text, "false");
  EXPECT_EQ(options.values[1]->ints, std::vector<int64_t>{0});
  EXPECT_EQ(options.values[2]->text, "\"");
}

TEST(Config, TheReferenceListsEveryKeyOfTheTable) {
  std::ifstream stream(ZB_SOURCE_DIR "/docs/cli.md");
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  for (const OptionInfo& option : option_table()) {
    const std::string value = option.default_value.empty() ? " " : " " + option.default_value + " ";
    const std::string row =
        "| `" + option.key + "` | " + option.type + " |" + value + "| " + option.doc + " |";
    EXPECT_NE(text.find(row), std::string::npos) << "docs/cli.md lacks the row\n" << row;
  }
}

TEST(Suite, ReadsInstancesWithPathsBesideTheFile) {
  const auto suite = read_suite(
      write("s.toml",
            "name = 's'\ntarget = 't'\n[[instance]]\nhlo = 'x/a.hlo'\n"
            "family = 'gemm'\nparams = { M = 3, K = 4 }\n[[instance]]\nname = 'b'\nhlo = '/b.hlo'\n"));
  ASSERT_TRUE(suite.ok()) << suite.status().message();
  EXPECT_EQ(suite->instances[0].name, "a");
  EXPECT_EQ(suite->instances[0].params, "K=4 M=3");
  EXPECT_TRUE(suite->instances[0].hlo.ends_with("zomboss_config_test/x/a.hlo"));
  EXPECT_EQ(suite->instances[1].hlo, "/b.hlo");
}

TEST(Suite, ReadsBaselinesAndRefusesThoseThatAreNoLatency) {
  const auto suite =
      read_suite(write("v.toml",
                       "name = 's'\ntarget = 't'\n[[instance]]\nhlo = 'a.hlo'\nbaseline = 1448\n"
                       "baseline_source = 'measured'\n[[instance]]\nhlo = 'b.hlo'\n"));
  ASSERT_TRUE(suite.ok()) << suite.status().message();
  EXPECT_EQ(suite->instances[0].baseline, 1448);
  EXPECT_EQ(suite->instances[0].baseline_source, "measured");
  EXPECT_FALSE(suite->instances[1].baseline.has_value());
  EXPECT_EQ(
      message(read_suite(
                  write("w.toml", "name = 's'\ntarget = 't'\n[[instance]]\nhlo = 'a.hlo'\nbaseline = -1\n"))
                  .status()),
      "w.toml:3:1: error: baseline is -1, expected more than 0\n  [[instance]]\n  ^");
}

TEST(Suite, ReportsUnknownAndMissingKeysAndDuplicates) {
  EXPECT_EQ(message(read_suite(write("t.toml",
                                     "name = 's'\ntarget = 't'\n[[instance]]\nhol = 'a.hlo'\n"
                                     "[[instance]]\nhlo = 'b.hlo'\n[[instance]]\nhlo = 'c/b.hlo'\n"))
                        .status()),
            "t.toml:4:1: error: unknown key 'hol' in [[instance]]; did you mean 'hlo'?\n"
            "  hol = 'a.hlo'\n  ^\n"
            "  hint: known keys: name, family, config, hlo, contract, params, baseline, baseline_source\n"
            "t.toml:3:1: error: [[instance]] lacks the key 'hlo'\n"
            "  [[instance]]\n  ^\n"
            "t.toml:7:1: error: two instances are named 'b'\n"
            "  [[instance]]\n  ^");
  EXPECT_EQ(message(read_suite(write("u.toml", "name = 's'\ntarget = 't'\n")).status()),
            "u.toml:1:1: error: the suite has no [[instance]]\n  name = 's'\n  ^\n"
            "  hint: add one with at least hlo = \"FILE\"");
}

TEST(Contract, ReadsGeneratorsAndAcceptance) {
  const auto contract =
      read_contract(write("k.toml",
                          "seed = 9\n[input.x]\ndistribution = 'uniform'\nlow = -8\nhigh = 7\n[acceptance]\n"
                          "kind = 'tolerance'\nabsolute = 0.5\nmatch_rate = 0.99\n"));
  ASSERT_TRUE(contract.ok()) << contract.status().message();
  EXPECT_EQ(contract->seed, 9u);
  EXPECT_EQ(contract->inputs.at("x").low, -8);
  EXPECT_TRUE(contract->has_acceptance);
  EXPECT_EQ(contract->acceptance.absolute, 0.5);
}

TEST(Contract, ReadsStorageFormatsAndOptions) {
  const auto contract = read_contract(
      write("m.toml",
            "[storage]\ndefault = 'mxfp8'\n[input.x]\nstorage = 'exact'\n[input.w]\ndistribution = 'normal'\n"
            "fan_in_dim = 1\nstorage = 'mxfp8'\n[options]\nkv_storage = 'exact'\nweights = 'natural'\n"));
  ASSERT_TRUE(contract.ok()) << contract.status().message();
  EXPECT_EQ(contract->default_storage, oracle::Storage::kMxfp8);
  EXPECT_EQ(contract->storage, (std::map<std::string, oracle::Storage>{{"w", oracle::Storage::kMxfp8},
                                                                       {"x", oracle::Storage::kExact}}));
  EXPECT_EQ(contract->inputs.size(), 1u);
  EXPECT_EQ(contract->inputs.at("w").fan_in_dim, 1);
  EXPECT_EQ(contract->kv_storage, oracle::Storage::kExact);
  EXPECT_EQ(contract->weights, "natural");
}

TEST(Contract, NamesTheKnownStorageFormats) {
  const std::string text =
      message(read_contract(write("n.toml",
                                  "[storage]\ndefault = 'mxpf8'\n[input.x]\nstorage = 'bf16'\n[options]\n"
                                  "kv_store = 'exact'\nweights = 'panels'\n[storage.x]\n"))
                  .status());
  for (const char* part :
       {"n.toml:2:11: error: 'default' in [storage] is 'mxpf8'; did you mean 'mxfp8'?\n",
        "  hint: known values: exact, mxfp8\n", "n.toml:4:11: error: 'storage' in [input.x] is 'bf16'\n",
        "n.toml:6:1: error: unknown key 'kv_store' in [options]; did you mean 'kv_storage'?\n",
        "n.toml:7:11: error: 'weights' in [options] is 'panels'\n", "  hint: known values: natural",
        "error: unknown key 'x' in [storage]"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

TEST(Contract, RefusesWhatCannotBeMeant) {
  const auto refusal = [](const std::string& text) {
    return message(read_contract(write("l.toml", text)).status());
  };
  EXPECT_TRUE(refusal("[input.x]\ndistribution = 'uniform'\nlow = 3\nhigh = 2\n")
                  .starts_with("l.toml:1:1: error: low = 3 is above high = 2"));
  EXPECT_TRUE(refusal("[acceptance]\nkind = 'tolerance'\nmatch_rate = 2\n")
                  .starts_with("l.toml:1:1: error: match_rate is 2, expected above 0 and at most 1"));
  EXPECT_TRUE(refusal("[input.x]\ndistribution = 'unifrom'\n")
                  .starts_with("l.toml:1:1: error: unknown distribution 'unifrom'"));
}

}  // namespace
}  // namespace zomboss::config
