// Helpers of the tests of core/hlo.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/hlo/checker.h"
#include "core/hlo/parser.h"
#include "core/hlo/printer.h"

namespace zomboss::hlo {

// Parses a text that must be good, and proves that its printed form gives the same module.
inline Module parse_good(const std::string& text) {
  const Source source("t.hlo", text);
  Diagnostics diagnostics(source);
  Result<Module> module = parse_module(source, diagnostics);
  EXPECT_TRUE(module.ok()) << diagnostics.render_all() << text;
  if (!module.ok()) return {};
  const std::string printed = print(*module);
  const Source again("printed", printed);
  Diagnostics more(again);
  const Result<Module> second = parse_module(again, more);
  EXPECT_TRUE(second.ok()) << more.render_all() << printed;
  if (second.ok()) {
    EXPECT_TRUE(equivalent(*module, *second)) << printed << print(*second);
    EXPECT_EQ(print(*second), printed);
  }
  Diagnostics checked(source);
  check_module(*module, checked);
  EXPECT_TRUE(checked.ok()) << checked.render_all();
  return *std::move(module);
}

inline std::string diagnostics_line(const Diagnostic& diagnostic) {
  return std::to_string(diagnostic.where.line) + ":" + std::to_string(diagnostic.where.column) + ": " +
         (diagnostic.severity == Severity::kWarning ? "warning: " : "") + diagnostic.message +
         (diagnostic.hint.empty() ? "" : " | " + diagnostic.hint);
}

// All diagnostics, one a line: "line:col: message | hint".
inline std::string diagnose(const std::string& text) {
  const Source source("t.hlo", text);
  Diagnostics diagnostics(source);
  const Result<Module> module = parse_module(source, diagnostics);
  EXPECT_EQ(module.ok(), diagnostics.ok());
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics.all()) out += diagnostics_line(diagnostic) + "\n";
  return out;
}

// The instruction of that name in the entry computation; fails the test when there is none.
inline const Instruction& at(const Module& module, std::string_view name) {
  static const Instruction kNone;
  if (module.computations.empty()) return kNone;
  const auto index = find_instruction(module.entry_computation(), name);
  EXPECT_TRUE(index.has_value()) << name;
  return index ? module.entry_computation().instructions[*index] : kNone;
}

// An entry computation around `statements`, whose first line is line 2.
inline std::string entry(const std::string& statements) {
  return "ENTRY e {\n" + statements + "\n}\n";
}

}  // namespace zomboss::hlo
