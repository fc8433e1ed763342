// docs/plugin-abi.md shows the examples as they are built, and lists every refusal code.
#include <gtest/gtest.h>

#include "host/loader/refusal.h"
#include "tests/badplugins/support.h"

namespace zomboss::abi {
namespace {

TEST(PluginAbiPage, ShowsTheExamplesAsTheyAreBuilt) {
  const std::string page = badplugins::read_file(ZB_SOURCE_DIR "/docs/plugin-abi.md");
  const std::string mark = "<!-- file: ";
  size_t shown = 0;
  for (size_t at = page.find(mark); at != std::string::npos; at = page.find(mark, at + 1), ++shown) {
    const size_t name = at + mark.size();
    const std::string file = page.substr(name, page.find(" -->", name) - name);
    const size_t start = page.find('\n', page.find("\n```", name) + 1) + 1;
    EXPECT_EQ(page.substr(start, page.find("\n```", start) + 1 - start),
              badplugins::read_file(ZB_SOURCE_DIR "/" + file))
        << "copy " << file << " into the page";
  }
  EXPECT_EQ(shown, 3u);
}

TEST(PluginAbiPage, ListsEveryRefusalCode) {
  const std::string page = badplugins::read_file(ZB_SOURCE_DIR "/docs/plugin-abi.md");
  for (int code = 1; code <= static_cast<int>(loader::Refusal::kNoOperations); ++code) {
    const std::string row = "\n| " + loader::refusal_code(static_cast<loader::Refusal>(code)) + " | ";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace zomboss::abi
