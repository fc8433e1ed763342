// For the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/taidl/model.h"
#include "core/taidl/parser.h"

namespace zomboss::taidl {

inline const char* const kToy = "core/taidl/testdata/toy.taidl";
inline const char* const kGemmini = "plugins/targets/gemmini/gemmini.taidl";

inline Source read_spec(const std::string& path) {
  auto source = read_source(std::string(ZB_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(source.ok()) << source.status().message();
  return source.ok() ? *std::move(source) : Source("missing", "");
}

// The model of a file in the repository, which must pass without errors or warnings.
inline Model load_clean(const std::string& path, const Overrides& overrides = {}) {
  const Source source = read_spec(path);
  Diagnostics diagnostics(source);
  auto model = load_model(source, overrides, diagnostics);
  EXPECT_EQ(diagnostics.render_all(), "");
  EXPECT_TRUE(model.ok());
  return model.ok() ? *std::move(model) : Model{};
}

}  // namespace zomboss::taidl
