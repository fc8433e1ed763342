// Parse and print throughput on a large generated module. Run with --benchmark_counters_tabular=true.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "core/hlo/parser.h"
#include "core/hlo/printer.h"

namespace zomboss::hlo {
namespace {

// A chain of dense layers in the default form of XLA: signatures, operand types, layouts, metadata.
std::string layers(int count) {
  std::string out = "HloModule layers, is_scheduled=true\n\n";
  out +=
      "%sum (a: f32[], b: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  %b = f32[] parameter(1)\n"
      "  ROOT %c = f32[] add(f32[] %a, f32[] %b)\n}\n\nENTRY %main (x: f32[64,128], w: f32[128,128]) -> "
      "f32[64,128] {\n"
      "  %h.0 = f32[64,128]{1,0} parameter(0)\n  %w = f32[128,128]{1,0} parameter(1)\n  %zero = f32[] "
      "constant(0)\n";
  for (int i = 0; i < count; ++i) {
    const std::string at =
        fmt::format(", metadata={{op_type=\"layer\" op_name=\"jit(f)/layer_{}\" source_line={}}}", i, i);
    out += fmt::format(
        "  %dot.{0} = f32[64,128]{{1,0}} dot(f32[64,128]{{1,0}} %h.{0}, f32[128,128]{{1,0}} %w), "
        "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}{1}\n",
        i, at);
    out += fmt::format(
        "  %red.{0} = f32[64]{{0}} reduce(f32[64,128]{{1,0}} %dot.{0}, f32[] %zero), dimensions={{1}}, "
        "to_apply=%sum{1}\n",
        i, at);
    out += fmt::format(
        "  %bc.{0} = f32[64,128]{{1,0}} broadcast(f32[64]{{0}} %red.{0}), dimensions={{0}}{1}\n", i, at);
    out += fmt::format(
        "  %h.{1} = f32[64,128]{{1,0}} add(f32[64,128]{{1,0}} %dot.{0}, f32[64,128]{{1,0}} %bc.{0}){2}\n", i,
        i + 1, at);
  }
  return out + "}\n";
}

std::string constants(int count) {
  std::string out = fmt::format("ENTRY e {{ c = f32[{}] constant({{", count);
  for (int i = 0; i < count; ++i) out += fmt::format("{}{}.{:03}e-3", i == 0 ? "" : ", ", i % 977, i % 1000);
  return out + "}) }\n";
}

void parse(benchmark::State& state, const std::string& text) {
  const Source source("generated", text);
  for (auto _ : state) {
    Diagnostics diagnostics(source);
    auto module = parse_module(source, diagnostics);
    if (!module.ok()) state.SkipWithError(module.status().message().c_str());
    benchmark::DoNotOptimize(module);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

void ParseLayers(benchmark::State& state) {
  parse(state, layers(static_cast<int>(state.range(0))));
}
BENCHMARK(ParseLayers)->Arg(100)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

void ParseConstants(benchmark::State& state) {
  parse(state, constants(static_cast<int>(state.range(0))));
}
BENCHMARK(ParseConstants)->Arg(1000000)->Unit(benchmark::kMillisecond);

void PrintLayers(benchmark::State& state) {
  const Source source("generated", layers(1000));
  Diagnostics diagnostics(source);
  const auto module = parse_module(source, diagnostics);
  int64_t bytes = 0;
  for (auto _ : state) bytes += static_cast<int64_t>(print(*module).size());
  state.SetBytesProcessed(bytes);
}
BENCHMARK(PrintLayers)->Unit(benchmark::kMillisecond);

void ParseStatements(benchmark::State& state) {
  const Source source("block",
                      "xi = s32[n,16] convert(x)\nwi = s32[16,16] convert(w)\n"
                      "p = s32[n,16] dot(xi, wi), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n");
  Shape shape;
  shape.dtype = DType::S8;
  shape.dims = {16, 16};
  const std::vector<std::pair<std::string, Shape>> tensors = {{"x", shape}, {"w", shape}};
  StatementScope scope;
  scope.tensors = tensors;
  scope.evaluate = [](size_t, size_t) { return std::optional<int64_t>(16); };
  for (auto _ : state) {
    Diagnostics diagnostics(source);
    auto module = parse_statements(source, 0, source.text().size(), scope, diagnostics);
    if (!module.ok()) state.SkipWithError(module.status().message().c_str());
    benchmark::DoNotOptimize(module);
  }
}
BENCHMARK(ParseStatements);

}  // namespace
}  // namespace zomboss::hlo
