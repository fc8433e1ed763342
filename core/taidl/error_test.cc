// testdata/errors.test: small bad specs, each with all of its messages. ZB_UPDATE_GOLDEN=1 rewrites the file.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/taidl/model.h"

namespace zomboss::taidl {
namespace {

const std::string kPath = std::string(ZB_SOURCE_DIR) + "/core/taidl/testdata/errors.test";

struct Case {
  std::string name, spec, expected;
};

// "=== name", the spec, "---", the messages.
std::vector<Case> read_cases() {
  std::ifstream stream(kPath);
  std::vector<Case> cases;
  bool in_spec = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("=== ")) {
      cases.push_back({line.substr(4), "", ""});
      in_spec = true;
    } else if (line == "---" && in_spec) {
      in_spec = false;
    } else if (!cases.empty()) {
      (in_spec ? cases.back().spec : cases.back().expected) += line + "\n";
    }
  }
  return cases;
}

std::string messages(const std::string& spec) {
  const Source source("t.taidl", spec);
  Diagnostics diagnostics(source);
  const auto model = load_model(source, {}, diagnostics);
  EXPECT_EQ(model.ok(), diagnostics.ok());
  return diagnostics.render_all();
}

TEST(Errors, AreTheGoldenMessagesWithPositions) {
  std::vector<Case> cases = read_cases();
  ASSERT_GE(cases.size(), 40u) << kPath;
  const bool update = std::getenv("ZB_UPDATE_GOLDEN") != nullptr;
  std::string file;
  for (Case& item : cases) {
    const std::string found = messages(item.spec);
    EXPECT_NE(found, "") << item.name << ": a case of this file reports nothing";
    if (!update) {
      EXPECT_EQ(found, item.expected) << item.name;
    }
    file += "=== " + item.name + "\n" + item.spec + "---\n" + found;
  }
  if (update) std::ofstream(kPath) << file;
}

}  // namespace
}  // namespace zomboss::taidl
