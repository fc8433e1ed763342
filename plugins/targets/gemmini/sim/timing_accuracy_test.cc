// Errors of the cycle model against cycles of the real RTL, and how well it ranks the mappings of one
// workload. The limits are what was reached, with a little slack: a change that makes the model worse fails
// here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "plugins/targets/gemmini/sim/test_support.h"
#include "plugins/targets/gemmini/sim/timing.h"

namespace zomboss::gemmini {
namespace {

const std::string kGolden = ZB_GOLDEN_DIR;
const std::string kData = kGolden + "/../data";

bool absent() {
  return !std::filesystem::exists(kGolden + "/gemmini-micro") || !std::filesystem::exists(kData);
}

double cycles(const std::vector<Command>& commands, uint32_t latency, uint32_t gap = 0) {
  TimingParameters parameters;
  parameters.memory_latency = latency;
  parameters.command_gap = gap;
  const auto result = simulate_timing(commands, testing::default_machine(), parameters);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? static_cast<double>(result->cycles) : 0;
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto index = static_cast<size_t>(q * static_cast<double>(values.size()));
  return values[std::min(index, values.size() - 1)];
}

void print_errors(const char* name, const std::vector<double>& errors) {
  std::printf("%-34s n %4zu  median %5.2f %%  p95 %6.2f %%  max %6.2f %%\n", name, errors.size(),
              100 * quantile(errors, 0.5), 100 * quantile(errors, 0.95), 100 * quantile(errors, 1));
}

TEST(GemminiTimingAccuracy, MicroTraces) {
  if (absent()) GTEST_SKIP() << "NO RTL CYCLES at " << kData;
  std::vector<double> errors;
  for (auto& row : testing::read_tsv(kData + "/gemmini-rtl-cycles.tsv")) {
    const auto trace = testing::read_trace(kGolden + "/gemmini-micro/" + row["name"] + ".txt");
    ASSERT_FALSE(trace.empty()) << row["name"];
    for (const uint32_t latency : {0u, 20u, 40u, 100u}) {
      const double expected = std::stod(row["L" + std::to_string(latency)]);
      const double got = cycles(trace, latency);
      errors.push_back(std::fabs(got - expected) / expected);
      if (errors.back() > 0.01) {
        std::printf("  %-24s L=%-3u model %6.0f  RTL %6.0f\n", row["name"].c_str(), latency, got, expected);
      }
    }
  }
  print_errors("micro traces", errors);
  EXPECT_GE(errors.size(), 240u);
  EXPECT_LE(quantile(errors, 0.5), 0.001);
  EXPECT_LE(quantile(errors, 0.95), 0.01);
  EXPECT_LE(quantile(errors, 1), 0.05);
}

TEST(GemminiTimingAccuracy, ReferencePrograms) {
  if (absent()) GTEST_SKIP() << "NO RTL CYCLES at " << kData;
  std::vector<double> directed, random;
  for (const auto& name : testing::list_folder(kGolden + "/gemmini")) {
    const testing::Vector vector = testing::read_vector(kGolden + "/gemmini", name);
    for (const uint32_t latency : {20u, 60u}) {
      const auto expected =
          static_cast<double>(testing::json_integer(vector.meta, std::to_string(latency), 0));
      if (expected <= 0) continue;  // the hardware refuses it
      const double error = std::fabs(cycles(vector.commands, latency) - expected) / expected;
      (name.starts_with("fuzz") ? random : directed).push_back(error);
    }
  }
  print_errors("directed reference programs", directed);
  print_errors("random reference programs", random);
  EXPECT_GE(directed.size(), 100u);
  EXPECT_LE(quantile(directed, 0.5), 0.005);
  EXPECT_LE(quantile(directed, 0.95), 0.06);
  EXPECT_LE(quantile(random, 0.5), 0.13);
}

struct Setting {
  const char* column;
  uint32_t latency;
  uint32_t gap;
};

// Kendall's tau over the pairs whose RTL cycles are at least 3 % apart: closer ones are noise of bank phases.
double rank_correlation(const std::vector<double>& model, const std::vector<double>& rtl) {
  double agree = 0, pairs = 0;
  for (size_t i = 0; i < rtl.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (std::fabs(rtl[i] - rtl[j]) < 0.03 * std::min(rtl[i], rtl[j])) continue;
      agree += (model[i] - model[j]) * (rtl[i] - rtl[j]) > 0 ? 1 : -1;
      ++pairs;
    }
  }
  return pairs == 0 ? 1 : agree / pairs;
}

TEST(GemminiTimingAccuracy, AlternativeMappings) {
  if (absent()) GTEST_SKIP() << "NO RTL CYCLES at " << kData;
  std::map<std::string, std::vector<std::map<std::string, std::string>>> workloads;
  for (auto& row : testing::read_tsv(kData + "/gemmini-alternatives.tsv"))
    workloads[row["workload"]].push_back(row);
  EXPECT_EQ(workloads.size(), 9u);
  std::vector<double> all;
  double tau_sum = 0, tau_min = 1, tau_count = 0;
  for (auto& [workload, rows] : workloads) {
    for (const Setting& setting : {Setting{"cycles_L20", 20, 0}, Setting{"cycles_L60", 60, 0},
                                   Setting{"cycles_L100", 100, 0}, Setting{"cycles_L20_gap9", 20, 9}}) {
      std::vector<double> model, rtl, errors;
      for (auto& row : rows) {
        const double expected = std::atof(row[setting.column].c_str());
        if (expected <= 0) continue;  // not measured
        const auto trace = testing::read_trace(kGolden + "/gemmini-alternatives/" + workload + "/" +
                                               row["id"] + ".trace.gz");
        model.push_back(cycles(trace, setting.latency, setting.gap));
        rtl.push_back(expected);
        errors.push_back(std::fabs(model.back() - expected) / expected);
      }
      const double tau = rank_correlation(model, rtl);
      print_errors((workload + " " + (setting.column + 7)).c_str(), errors);
      std::printf("%34s tau %.3f\n", "", tau);
      all.insert(all.end(), errors.begin(), errors.end());
      tau_sum += tau;
      tau_min = std::min(tau_min, tau);
      ++tau_count;
    }
  }
  print_errors("all alternatives", all);
  std::printf("Kendall tau: mean %.4f, least %.3f\n", tau_sum / tau_count, tau_min);
  EXPECT_LE(quantile(all, 0.5), 0.005);
  EXPECT_LE(quantile(all, 0.95), 0.06);
  EXPECT_GE(tau_sum / tau_count, 0.985);
  EXPECT_GE(tau_min, 0.95);
}

}  // namespace
}  // namespace zomboss::gemmini
