// Helpers of the tests of core/graph and core/oracle.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/hlo/parser.h"
#include "core/oracle/oracle.h"

namespace zomboss::oracle {

// A parsed module; fails the test and gives an empty module when the text is wrong.
inline hlo::Module parse(const std::string& text) {
  const Source source("test.hlo", text);
  Diagnostics diagnostics(source);
  auto module = hlo::parse_module(source, diagnostics);
  EXPECT_TRUE(module.ok()) << diagnostics.render_all() << text;
  return module.ok() ? *std::move(module) : hlo::Module{};
}

// An ENTRY computation around these lines.
inline hlo::Module parse_entry(const std::string& lines) {
  return parse("HloModule test\nENTRY e {\n" + lines + "\n}\n");
}

// The only output; fails the test when there is none.
inline Tensor run(const hlo::Module& module, const std::vector<Tensor>& inputs = {}, Options options = {}) {
  auto outputs = evaluate(module, inputs, options);
  EXPECT_TRUE(outputs.ok()) << outputs.status().message();
  if (!outputs.ok()) return {};
  EXPECT_EQ(outputs->size(), 1u);
  return (*outputs)[0];
}

// The output of a computation without parameters, as a list of T.
template <typename T>
std::vector<T> values_of(const std::string& lines, Options options = {}) {
  return tensor_values<T>(run(parse_entry(lines), {}, std::move(options)));
}

}  // namespace zomboss::oracle
