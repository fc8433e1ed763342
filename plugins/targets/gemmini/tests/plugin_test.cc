// The plugin as the host uses it: its own TAIDL text checked by the host, HLO files of the suite through
// surface, lowering, simulation and export, compared with the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "core/evaluate/evaluator.h"
#include "core/evaluate/target.h"
#include "core/evaluate/workload.h"
#include "core/mapping/convert.h"
#include "zomboss/plugin.h"

extern "C" const zb_plugin* zb_plugin_query_v1(uint32_t host_major, uint32_t host_minor);

namespace zomboss {
namespace {

std::unique_ptr<evaluate::Target> open_target(const std::map<std::string, int64_t>& overrides = {},
                                              const wire::OptionsT& options = {}) {
  auto target = evaluate::Target::open(*zb_plugin_query_v1(ZB_ABI_MAJOR, ZB_ABI_MINOR), options, overrides);
  EXPECT_TRUE(target.ok()) << target.status().message();
  return target.ok() ? *std::move(target) : nullptr;
}

evaluate::Workload load(const Source& source, const std::string& name) {
  Diagnostics diagnostics(source);
  auto workload = evaluate::load_workload(source, name, {}, diagnostics);
  EXPECT_TRUE(workload.ok()) << workload.status().message();
  return *std::move(workload);
}

evaluate::Workload load_file(const std::string& name) {
  const auto source = read_source(std::string(ZB_SOURCE_DIR) + "/workloads/" + name + ".hlo");
  EXPECT_TRUE(source.ok()) << source.status().message();
  return load(*source, name);
}

// The plan of one catalog row.
wire::PlanT plan_of(const mapping::Surface& surface, size_t row) {
  wire::PlanT plan;
  plan.target = surface.target();
  plan.workload = surface.workload();
  plan.hash = std::to_string(row);
  for (uint8_t category = 0; category < mapping::kCategoryCount; ++category) {
    auto section = std::make_unique<wire::SectionT>();
    section->category = static_cast<wire::Category>(category);
    for (size_t k = 0; k < surface.knobs().size(); ++k) {
      if (surface.knob(k).category != section->category) continue;
      auto decision = std::make_unique<wire::DecisionT>();
      decision->knob = surface.knob(k).name;
      decision->value = surface.knob(k).values[surface.row(row)[k]];
      section->decisions.push_back(std::move(decision));
    }
    plan.sections.push_back(std::move(section));
  }
  return plan;
}

mapping::Surface surface_of(evaluate::Target& target, const evaluate::Workload& workload) {
  const auto message = target.surface(workload.encoded);
  EXPECT_TRUE(message.ok()) << message.status().message();
  auto surface = mapping::from_wire(*message);
  EXPECT_TRUE(surface.ok()) << surface.status().message();
  return *std::move(surface);
}

// Verifies a few rows from the first to the last; the fastest latency of them over the first one's.
double verify_rows(evaluate::Target& target, const evaluate::Workload& workload) {
  const mapping::Surface surface = surface_of(target, workload);
  const auto reference = evaluate::make_reference(workload);
  EXPECT_TRUE(reference.ok()) << reference.status().message();
  const auto evaluator = evaluate::make_evaluator(target, workload, *reference);
  const auto bound = target.bound(workload.encoded);
  EXPECT_TRUE(bound.ok());
  uint64_t first = 0, best = 0;
  for (size_t row = 0; row < surface.row_count(); row += std::max<size_t>(1, surface.row_count() / 5)) {
    const wire::PlanT plan = plan_of(surface, row);
    const evaluate::Evaluation evaluation = evaluator->evaluate(plan);
    EXPECT_EQ(evaluation.outcome, wire::Outcome::Valid) << evaluation.reason;
    EXPECT_GE(static_cast<double>(evaluation.latency), bound->latency);
    const auto schedule = target.schedule(workload.encoded, encode(plan));
    EXPECT_TRUE(schedule.ok() && schedule->static_cost > 0);
    if (row == 0) first = best = evaluation.latency;
    best = std::min(best, evaluation.latency);
  }
  return static_cast<double>(first) / static_cast<double>(best);
}

TEST(GemminiPlugin, VerifiesTheWholeSuite) {
  const auto target = open_target();
  ASSERT_NE(target, nullptr);
  size_t files = 0;
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ZB_SOURCE_DIR) + "/workloads/gemmini"))
    if (entry.path().extension() == ".hlo") names.push_back("gemmini/" + entry.path().stem().string());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    EXPECT_GT(verify_rows(*target, load_file(name)), 1.5);
    ++files;
  }
  EXPECT_EQ(files, 20u);
}

TEST(GemminiPlugin, FollowsOverridesOfTheArrayAndTheMemories) {
  const evaluate::Workload workload = load_file("gemmini/gemm_c3");
  for (int64_t dim : {4, 8, 32}) {
    const auto target = open_target({{"DIM", dim}});
    ASSERT_NE(target, nullptr);
    verify_rows(*target, workload);
    const mapping::Surface surface = surface_of(*target, workload);
    EXPECT_EQ(surface.knob(*surface.find_knob("tile_m")).values.front(), dim);
  }
  const auto small = open_target({{"ACC_ROWS", 64}, {"BANK_ROWS", 64}});
  ASSERT_NE(small, nullptr);
  const auto large = open_target();
  EXPECT_LT(surface_of(*small, workload).row_count(), surface_of(*large, workload).row_count());
  verify_rows(*small, workload);
}

TEST(GemminiPlugin, ReadsItsOwnExportBack) {
  const auto target = open_target();
  const evaluate::Workload workload = load_file("gemmini/linear_c2");
  const auto reference = evaluate::make_reference(workload);
  ASSERT_TRUE(reference.ok());
  const mapping::Surface surface = surface_of(*target, workload);
  const auto program = target->lower(workload.encoded, encode(plan_of(surface, surface.row_count() - 1)));
  ASSERT_TRUE(program.ok()) << program.status().message();
  const auto files = target->export_kernel(workload.encoded, encode(*program), reference->encoded_inputs,
                                           reference->encoded_outputs);
  ASSERT_TRUE(files.ok()) << files.status().message();
  ASSERT_EQ(files->files[0]->path, "kernel.trace");
  const auto& content = files->files[0]->content;
  const auto back = target->import_kernel(workload.encoded, "kernel.trace",
                                          {reinterpret_cast<const char*>(content.data()), content.size()});
  ASSERT_TRUE(back.ok()) << back.status().message();
  const auto first = target->simulate(encode(*program), reference->encoded_inputs);
  const auto second = target->simulate(encode(*back), reference->encoded_inputs);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->latency, second->latency);
  EXPECT_EQ(encode(*first), encode(*second));
  EXPECT_FALSE(first->timeline.empty());
  EXPECT_LE(first->timeline.size(), 2003u);
}

TEST(GemminiPlugin, RefusesProgramsOfAnotherDescriptionAndDamagedOnes) {
  const auto target = open_target();
  const evaluate::Workload workload = load_file("gemmini/gemm_c1");
  const auto reference = evaluate::make_reference(workload);
  ASSERT_TRUE(reference.ok());
  const mapping::Surface surface = surface_of(*target, workload);
  const auto program = target->lower(workload.encoded, encode(plan_of(surface, 0)));
  ASSERT_TRUE(program.ok());
  const auto other = open_target({{"DIM", 8}});
  EXPECT_FALSE(other->simulate(encode(*program), reference->encoded_inputs).ok());
  uint64_t state = 9;
  for (int round = 0; round < 200; ++round) {
    wire::ProgramT damaged(*program);
    for (int i = 0; i < 4; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      damaged.code[(state >> 33) % damaged.code.size()] = static_cast<uint8_t>(state >> 20);
    }
    (void)target->simulate(encode(damaged), reference->encoded_inputs);
  }
  wire::ProgramT cut(*program);
  cut.buffers.pop_back();
  EXPECT_FALSE(target->simulate(encode(cut), reference->encoded_inputs).ok());
}

TEST(GemminiPlugin, RefusesUnknownOptionsAndOddPlans) {
  wire::OptionsT options;
  options.values.push_back(std::make_unique<wire::AttributeT>());
  options.values[0]->key = "latenzy";
  auto target = evaluate::Target::open(*zb_plugin_query_v1(ZB_ABI_MAJOR, ZB_ABI_MINOR), options, {});
  ASSERT_FALSE(target.ok());
  EXPECT_NE(target.status().message().find("no option 'latenzy'"), std::string::npos)
      << target.status().message();

  const auto good = open_target();
  const evaluate::Workload workload = load_file("gemmini/gemm_c1");
  const mapping::Surface surface = surface_of(*good, workload);
  const auto refused = [&](const std::string& knob, int64_t value) {
    wire::PlanT plan = plan_of(surface, 0);
    for (auto& section : plan.sections)
      for (auto& decision : section->decisions)
        if (decision->knob == knob) decision->value = value;
    return !good->lower(workload.encoded, encode(plan)).ok();
  };
  EXPECT_FALSE(refused("tile_m", 32));
  EXPECT_TRUE(refused("tile_m", 17));
  EXPECT_TRUE(refused("tile_m", 0));
  EXPECT_TRUE(refused("tile_m", 1 << 20));
  EXPECT_TRUE(refused("orientation", 7));
  EXPECT_TRUE(refused("batch_regions", 2));
  EXPECT_TRUE(refused("load_width_a", 5));
  EXPECT_TRUE(refused("store_schedule", 4));
  EXPECT_TRUE(refused("interface", 1));       // needs two accumulator tiles, among others
  EXPECT_TRUE(refused("store_schedule", 2));  // deferred: likewise
}

// Time follows the memory latency given as an option.
TEST(GemminiPlugin, TakesTheMemoryLatencyAsAnOption) {
  const evaluate::Workload workload = load_file("gemmini/gemm_c1");
  const auto reference = evaluate::make_reference(workload);
  ASSERT_TRUE(reference.ok());
  std::vector<uint64_t> latencies;
  for (int64_t latency : {20, 100}) {
    wire::OptionsT options;
    options.values.push_back(std::make_unique<wire::AttributeT>());
    options.values[0]->key = "latency";
    options.values[0]->ints = {latency};
    const auto target = open_target({}, options);
    const mapping::Surface surface = surface_of(*target, workload);
    const auto program = target->lower(workload.encoded, encode(plan_of(surface, 0)));
    ASSERT_TRUE(program.ok());
    const auto simulation = target->simulate(encode(*program), reference->encoded_inputs);
    ASSERT_TRUE(simulation.ok());
    latencies.push_back(simulation->latency);
  }
  EXPECT_GT(latencies[1], latencies[0]);
}

}  // namespace
}  // namespace zomboss
