#include "core/config/settings_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>

namespace zomboss::config {
namespace {

wire::OptionsT options_with(const std::string& text) {
  const std::string path = testing::TempDir() + "settings_file_test.toml";
  std::ofstream(path) << text;
  wire::OptionsT options;
  auto file = std::make_unique<wire::AttributeT>();
  file->key = "settings_file";
  file->text = path;
  options.values.push_back(std::move(file));
  return options;
}

TEST(SettingsFile, GivesEveryNumberTextAndBooleanUnderItsPath) {
  wire::OptionsT options =
      options_with("[A.B]\nvalue = 64\nname = \"Fp\"\non = true\nhalf = 0.5\nlist = [1]\n[A.C.D]\nx = -1\n");
  ASSERT_TRUE(expand_settings_file(options).ok());
  std::map<std::string, const wire::AttributeT*> by_key;
  for (const auto& each : options.values) by_key[each->key] = each.get();
  ASSERT_EQ(by_key.size(), 5u);
  EXPECT_EQ(by_key.at("settings.A.B.value")->ints, std::vector<int64_t>{64});
  EXPECT_EQ(by_key.at("settings.A.B.name")->text, "Fp");
  EXPECT_EQ(by_key.at("settings.A.B.on")->text, "true");
  EXPECT_EQ(by_key.at("settings.A.B.half")->floats, std::vector<double>{0.5});
  EXPECT_EQ(by_key.at("settings.A.C.D.x")->ints, std::vector<int64_t>{-1});
}

TEST(SettingsFile, LeavesOptionsWithoutAFileAlone) {
  wire::OptionsT options;
  EXPECT_TRUE(expand_settings_file(options).ok());
  EXPECT_TRUE(options.values.empty());
}

TEST(SettingsFile, NamesThePlaceOfASyntaxError) {
  wire::OptionsT options = options_with("[A]\nx = = 1\n");
  const Status status = expand_settings_file(options);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("settings_file_test.toml:2:"), std::string::npos) << status.message();
}

TEST(SettingsFile, SaysThatAFileIsMissing) {
  wire::OptionsT options = options_with("");
  options.values[0]->text = "/nowhere/settings.toml";
  EXPECT_EQ(expand_settings_file(options).message(), "/nowhere/settings.toml: no such file");
}

}  // namespace
}  // namespace zomboss::config
