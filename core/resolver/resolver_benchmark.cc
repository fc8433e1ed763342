// Completions per second on surfaces of realistic size.
#include <benchmark/benchmark.h>

#include "core/base/check.h"
#include "core/mapping/testing.h"
#include "core/resolver/resolver.h"

namespace zomboss::resolver {
namespace {

using mapping::Assignment;
using mapping::Intent;
using mapping::Strength;
using mapping::Surface;
using mapping::testing::SurfaceBuilder;

// A matmul of 512 x 512 x 1024 on a 16 x 16 array, 256 KiB scratchpad, 64 KiB accumulator: about 3,000 rows.
Surface catalog_surface() {
  SurfaceBuilder builder;
  builder.knob("tile_m", {16, 32, 64, 128, 256, 512})
      .knob("tile_n", {16, 32, 64, 128, 256, 512})
      .knob("tile_k", {16, 32, 64, 128, 256, 512, 1024})
      .choice("buffering", {"single", "double"})
      .choice("store_schedule", {"early", "late", "deferred"})
      .choice("dataflow", {"ws", "os"}, mapping::Category::Algorithm)
      .choice("load_order", {"a_first", "b_first", "interleaved"})
      .capacity("spad", "(* (+ buffering 1) (+ (* tile_m tile_k) (* tile_k tile_n)))", "262144",
                "scratchpad needs {needs:bytes}, has {available:bytes}")
      .capacity("acc", "(* tile_m tile_n 4)", "65536",
                "accumulator needs {needs:bytes}, has {available:bytes}");
  for (int64_t m : builder.message.knobs[0]->values) {
    for (int64_t n : builder.message.knobs[1]->values) {
      for (int64_t k : builder.message.knobs[2]->values) {
        for (int64_t rest = 0; rest < 36; ++rest) {
          const int64_t buffering = rest % 2;
          const bool fits = (buffering + 1) * (m + n) * k <= 262144 && m * n * 4 <= 65536;
          if (fits && (m + n + k + rest) % 32 < 23) {
            builder.row({m, n, k, buffering, rest / 2 % 3, rest / 6 % 2, rest / 12});
          }
        }
      }
    }
  }
  auto surface = builder.build();
  ZB_CHECK(surface.ok(), "the catalog surface");
  return *std::move(surface);
}

// 25 knobs with products in its capacity rules.
Surface conditional_surface() {
  SurfaceBuilder builder;
  builder.knob("tile_m", {16, 32, 48, 64, 96, 128, 192, 256, 384, 512})
      .knob("tile_n", {16, 32, 48, 64, 96, 128, 192, 256, 384, 512})
      .knob("tile_k", {16, 32, 64, 128, 256, 512, 1024})
      .knob("batch_regions", {1, 2, 4, 8})
      .knob("q_block", {4, 8, 16, 32, 64})
      .knob("kv_block", {64, 128})
      .knob("head_group", {1, 2, 4})
      .choice("buffering", {"single", "double"})
      .choice("acc_buffering", {"single", "double"})
      .choice("dataflow", {"ws", "os"}, mapping::Category::Algorithm);
  for (int i = 0; i < 15; ++i) {
    builder.choice("option" + std::to_string(i), {"a", "b", "c", "d"}, static_cast<mapping::Category>(i % 8));
  }
  builder
      .capacity("spad", "(* batch_regions (+ buffering 1) (+ (* tile_m tile_k) (* tile_k tile_n)))", "262144",
                "scratchpad needs {needs:bytes}, has {available:bytes}")
      .capacity("acc", "(* batch_regions (+ acc_buffering 1) tile_m tile_n 4)", "65536",
                "accumulator needs {needs:bytes}, has {available:bytes}")
      .capacity("scores", "(* q_block kv_block head_group 4)", "16384",
                "scores need {needs:bytes}, have {available:bytes}")
      .rule("covers_m", "(= (mod 1536 tile_m) 0)", "tile_m={tile_m} does not divide 1536")
      .rule("covers_n", "(= (mod 1536 tile_n) 0)", "tile_n={tile_n} does not divide 1536")
      .rule("blocks", "(= (mod tile_m q_block) 0)", "tile_m={tile_m} is no multiple of q_block={q_block}")
      .rule("os", "(=> (= dataflow 1) (>= tile_k (* 2 tile_m)))",
            "os needs tile_k of at least {(* 2 tile_m)}")
      .rule("work", "(>= (* tile_m tile_n tile_k batch_regions) 65536)", "the tile is too small")
      .rule("options", "(<= (+ option0 option1 option2 option3 option4 option5 option6 option7) 14)",
            "too many options")
      .rule("pair", "(=> (= option8 3) (distinct option9 option10))", "option9 and option10 are the same");
  auto surface = builder.build();
  ZB_CHECK(surface.ok(), "the conditional surface");
  return *std::move(surface);
}

// As region sampling makes them: each knob free, or preferred with its value drawn at random.
Intent sample(Random& random, const Surface& surface, uint64_t hard_percent, uint64_t preferred_percent) {
  Intent intent;
  for (size_t k = 0; k < surface.knobs().size(); ++k) {
    const auto& values = surface.knob(k).values;
    const Assignment assignment{k, values[random.below(values.size())], Strength::Preferred};
    const uint64_t draw = random.below(100);
    if (draw < hard_percent + preferred_percent) {
      intent.set({k, assignment.value, draw < hard_percent ? Strength::Hard : Strength::Preferred});
    }
  }
  return intent;
}

enum Kind { kCatalog, kConditional };

Surface surface_of(int64_t kind) {
  return kind == kCatalog ? catalog_surface() : conditional_surface();
}

void run(benchmark::State& state, uint64_t hard_percent, uint64_t preferred_percent, bool quiet) {
  const Surface surface = *derive_domains(surface_of(state.range(0)));
  Resolver resolver(surface);
  std::vector<Intent> intents;
  Random random(1, 0);
  for (int i = 0; i < 1024; ++i) intents.push_back(sample(random, surface, hard_percent, preferred_percent));
  size_t next = 0, legal = 0, done = 0;
  for (auto _ : state) {
    const Intent& intent = intents[next++ % intents.size()];
    const auto completion = quiet ? resolver.complete_quietly(intent) : resolver.complete(intent);
    ZB_CHECK(completion.ok(), "the engines decide these surfaces");
    legal += completion->plan ? 1 : 0;
    ++done;
  }
  state.SetItemsProcessed(static_cast<int64_t>(done));
  state.counters["legal_share"] = static_cast<double>(legal) / static_cast<double>(done);
  state.counters["rows"] = static_cast<double>(surface.row_count());
}

void empty_intent(benchmark::State& state) {
  run(state, 0, 0, true);
}
void partial_hard(benchmark::State& state) {
  run(state, 20, 0, true);
}
void partial_hard_explained(benchmark::State& state) {
  run(state, 20, 0, false);
}
void all_preferred(benchmark::State& state) {
  run(state, 0, 100, true);
}
void all_preferred_explained(benchmark::State& state) {
  run(state, 0, 100, false);
}

void batch_of_256_samples(benchmark::State& state) {
  const Surface surface = *derive_domains(surface_of(state.range(0)));
  Resolver resolver(surface);
  Random random(2, 0);
  for (auto _ : state) {
    for (int i = 0; i < 256; ++i) {
      const auto completion = resolver.complete_quietly(sample(random, surface, 0, 75));
      ZB_CHECK(completion.ok() && completion->plan, "preferences never make an intent illegal");
    }
  }
  state.SetItemsProcessed(state.iterations() * 256);
}

void derive(benchmark::State& state) {
  const Surface surface = surface_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(derive_domains(surface));
}

void z3_empty_intent(benchmark::State& state) {
  const Surface surface = conditional_surface();
  Options options;
  options.engine = Engine::kSolver;
  Resolver resolver(surface, options);
  for (auto _ : state) benchmark::DoNotOptimize(resolver.complete_quietly(Intent()));
}

BENCHMARK(empty_intent)
    ->ArgName("conditional")
    ->Arg(kCatalog)
    ->Arg(kConditional)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(partial_hard)
    ->ArgName("conditional")
    ->Arg(kCatalog)
    ->Arg(kConditional)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(partial_hard_explained)
    ->ArgName("conditional")
    ->Arg(kCatalog)
    ->Arg(kConditional)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(all_preferred)
    ->ArgName("conditional")
    ->Arg(kCatalog)
    ->Arg(kConditional)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(all_preferred_explained)
    ->ArgName("conditional")
    ->Arg(kCatalog)
    ->Arg(kConditional)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(batch_of_256_samples)
    ->ArgName("conditional")
    ->Arg(kCatalog)
    ->Arg(kConditional)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(derive)->ArgName("conditional")->Arg(kCatalog)->Arg(kConditional)->Unit(benchmark::kMillisecond);
BENCHMARK(z3_empty_intent)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zomboss::resolver
