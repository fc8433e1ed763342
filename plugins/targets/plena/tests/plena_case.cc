#include "plugins/targets/plena/tests/plena_case.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <optional>
#include <sstream>

#include "core/config/contract_file.h"
#include "core/config/suite.h"
#include "core/mapping/convert.h"
#include "zomboss/plugin.h"

extern "C" const zb_plugin* zb_plugin_query_v1(uint32_t host_major, uint32_t host_minor);

namespace zomboss::plena {
namespace {

const std::string kFolder = ZB_SOURCE_DIR "/workloads/";

std::unique_ptr<wire::AttributeT> option(const std::string& key, int64_t number, const std::string& text) {
  auto result = std::make_unique<wire::AttributeT>();
  result->key = key;
  if (text.empty())
    result->ints = {number};
  else
    result->text = text;
  return result;
}

std::unique_ptr<evaluate::Target> open_target(const CaseOptions& options) {
  wire::OptionsT message;
  message.values.push_back(option("profile", 0, options.profile));
  message.values.push_back(option("instruction_limit", static_cast<int64_t>(options.instruction_limit), ""));
  auto target =
      evaluate::Target::open(*zb_plugin_query_v1(ZB_ABI_MAJOR, ZB_ABI_MINOR), message, options.params);
  EXPECT_TRUE(target.ok()) << target.status().message();
  return target.ok() ? *std::move(target) : nullptr;
}

std::optional<config::Instance> instance_of(const std::string& name) {
  for (const char* suite_name : {"plena", "plena-decoder", "plena-extra"}) {
    const auto suite = config::read_suite(kFolder + suite_name + ".toml");
    EXPECT_TRUE(suite.ok()) << suite.status().message();
    if (!suite.ok()) continue;
    for (const config::Instance& each : suite->instances)
      if (each.name == name) return each;
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<PlenaCase> PlenaCase::make(const Source& source, const std::string& name,
                                           const evaluate::Contract& contract, const CaseOptions& options) {
  std::unique_ptr<PlenaCase> made(new PlenaCase);
  made->target_ = open_target(options);
  if (!made->target_) return nullptr;
  Diagnostics diagnostics(source);
  auto workload = evaluate::load_workload(source, name, contract, diagnostics);
  EXPECT_TRUE(workload.ok()) << workload.status().message();
  if (!workload.ok()) return nullptr;
  made->workload_ = *std::move(workload);
  auto reference = evaluate::make_reference(made->workload_);
  EXPECT_TRUE(reference.ok()) << reference.status().message();
  if (!reference.ok()) return nullptr;
  made->reference_ = *std::move(reference);
  const auto message = made->target_->surface(made->workload_.encoded);
  EXPECT_TRUE(message.ok()) << message.status().message();
  if (!message.ok()) return nullptr;
  const auto full = mapping::from_wire(*message);
  EXPECT_TRUE(full.ok()) << full.status().message();
  if (!full.ok()) return nullptr;
  auto derived = resolver::derive_domains(*full);
  EXPECT_TRUE(derived.ok()) << derived.status().message();
  if (!derived.ok()) return nullptr;
  made->surface_ = *std::move(derived);
  made->resolver_ = std::make_unique<resolver::Resolver>(made->surface_);
  made->evaluator_ = evaluate::make_evaluator(*made->target_, made->workload_, made->reference_);
  return made;
}

std::unique_ptr<PlenaCase> PlenaCase::of_file(const std::string& name, const CaseOptions& options) {
  const auto instance = instance_of(name);
  EXPECT_TRUE(instance.has_value()) << "no suite lists " << name;
  if (!instance) return nullptr;
  const auto contract = config::read_contract(instance->contract);
  EXPECT_TRUE(contract.ok()) << contract.status().message();
  const auto source = read_source(instance->hlo);
  EXPECT_TRUE(source.ok()) << source.status().message();
  if (!contract.ok() || !source.ok()) return nullptr;
  return make(*source, name, *contract, options);
}

std::unique_ptr<PlenaCase> PlenaCase::of_text(const std::string& name, std::string hlo,
                                              const std::string& family, const CaseOptions& options) {
  const auto contract = config::read_contract(kFolder + "plena/" + family + ".toml");
  EXPECT_TRUE(contract.ok()) << contract.status().message();
  if (!contract.ok()) return nullptr;
  return make(Source(name + ".hlo", std::move(hlo)), name, *contract, options);
}

Result<mapping::Intent> PlenaCase::intent(const std::string& text) const {
  return mapping::parse_intent(surface_, Source("intent", text));
}

Result<resolver::Completion> PlenaCase::complete(const std::string& text) {
  ZB_ASSIGN(const mapping::Intent parsed, intent(text));
  return resolver_->complete(parsed);
}

Result<mapping::Plan> PlenaCase::plan(const std::string& text) {
  ZB_ASSIGN(const mapping::Intent parsed, intent(text));
  return resolver_->plan(parsed);
}

std::string PlenaCase::known_part(const std::string& text) const {
  std::istringstream words(text);
  std::string result, word;
  while (words >> word) {
    if (!intent(word).ok()) continue;
    if (!result.empty()) result += ' ';
    result += word;
  }
  return result;
}

evaluate::Evaluation PlenaCase::evaluate(const mapping::Plan& plan) {
  return evaluator_->evaluate(mapping::to_wire(surface_, plan));
}

evaluate::Evaluation PlenaCase::evaluate(const std::string& text) {
  const auto completed = plan(text);
  EXPECT_TRUE(completed.ok()) << text << ": " << completed.status().message();
  if (completed.ok()) return evaluate(*completed);
  evaluate::Evaluation none;
  none.outcome = wire::Outcome::LoweringFailed;
  return none;
}

Result<wire::ProgramT> PlenaCase::lower(const std::string& text) {
  ZB_ASSIGN(const mapping::Plan completed, plan(text));
  return target_->lower(workload_.encoded, encode(mapping::to_wire(surface_, completed)));
}

Result<wire::SimulationT> PlenaCase::simulate(const wire::ProgramT& program) {
  return target_->simulate(encode(program), reference_.encoded_inputs);
}

bool PlenaCase::accepts(const std::vector<oracle::Tensor>& outputs) const {
  return evaluate::compare(reference_.outputs, outputs, *workload_.message.contract).accepted;
}

int64_t note(const wire::ProgramT& program, const std::string& key) {
  for (const auto& each : program.notes)
    if (each->key == key && each->ints.size() == 1) return each->ints[0];
  return 0;
}

int64_t counter(const wire::SimulationT& simulation, const std::string& name) {
  for (const auto& each : simulation.counters)
    if (each->name == name) return static_cast<int64_t>(each->value);
  return 0;
}

std::string hlo_module(const std::string& body) {
  return "HloModule m\n\nmax {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT c = f32[] maximum(a, b)\n}\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
         "  ROOT c = f32[] add(a, b)\n}\n\nENTRY main {\n" +
         body + "}\n";
}

std::string gemm_text(int64_t m, int64_t k, int64_t n) {
  return hlo_module(fmt::format(
      "  x = f32[{0},{1}] parameter(0)\n  w = f32[{1},{2}] parameter(1)\n"
      "  ROOT d = f32[{0},{2}] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
      m, k, n));
}

std::string attention_text(int64_t queries, int64_t keys, int64_t width, double scale) {
  return hlo_module(fmt::format(
      "  q = f32[{0},{2}] parameter(0)\n  k = f32[{1},{2}] parameter(1)\n  v = f32[{1},{2}] parameter(2)\n"
      "  d = f32[{0},{1}] dot(q, k), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}\n"
      "  c = f32[] constant({3})\n  cb = f32[{0},{1}] broadcast(c), dimensions={{}}\n"
      "  m = f32[{0},{1}] multiply(d, cb)\n  i = f32[] constant(-inf)\n"
      "  r = f32[{0}] reduce(m, i), dimensions={{1}}, to_apply=max\n"
      "  rb = f32[{0},{1}] broadcast(r), dimensions={{0}}\n  s = f32[{0},{1}] subtract(m, rb)\n"
      "  e = f32[{0},{1}] exponential(s)\n  z = f32[] constant(0)\n"
      "  t = f32[{0}] reduce(e, z), dimensions={{1}}, to_apply=sum\n"
      "  tb = f32[{0},{1}] broadcast(t), dimensions={{0}}\n  p = f32[{0},{1}] divide(e, tb)\n"
      "  ROOT o = f32[{0},{2}] dot(p, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
      queries, keys, width, scale));
}

std::string heads_text(int64_t s, int64_t hidden, int64_t heads, int64_t kv_heads, double scale) {
  const int64_t width = hidden / heads;
  const int64_t group = heads / kv_heads;
  std::string repeat_k, repeat_v;
  for (auto* text : {&repeat_k, &repeat_v}) {
    const char* name = text == &repeat_k ? "k" : "v";
    if (group == 1) {
      *text = fmt::format("  {0}h = f32[{1},{2},{3}] reshape({0})\n", name, s, heads, width);
    } else {
      *text = fmt::format(
          "  {0}g = f32[{1},{2},{3}] reshape({0})\n"
          "  {0}b = f32[{1},{2},{4},{3}] broadcast({0}g), dimensions={{0,1,3}}\n"
          "  {0}h = f32[{1},{5},{3}] reshape({0}b)\n",
          name, s, kv_heads, width, group, heads);
    }
  }
  return hlo_module(
      fmt::format("  x = f32[{0},{1}] parameter(0)\n  wq = f32[{1},{1}] parameter(1)\n"
                  "  wk = f32[{1},{2}] parameter(2)\n  wv = f32[{1},{2}] parameter(3)\n"
                  "  wo = f32[{1},{1}] parameter(4)\n"
                  "  q = f32[{0},{1}] dot(x, wq), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
                  "  k = f32[{0},{2}] dot(x, wk), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
                  "  v = f32[{0},{2}] dot(x, wv), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
                  "  qh = f32[{0},{3},{4}] reshape(q)\n",
                  s, hidden, kv_heads * width, heads, width) +
      repeat_k + repeat_v +
      fmt::format(
          "  d = f32[{3},{0},{0}] dot(qh, kh), lhs_batch_dims={{1}}, lhs_contracting_dims={{2}}, "
          "rhs_batch_dims={{1}}, rhs_contracting_dims={{2}}\n"
          "  c = f32[] constant({2})\n  cb = f32[{3},{0},{0}] broadcast(c), dimensions={{}}\n"
          "  m = f32[{3},{0},{0}] multiply(d, cb)\n  i = f32[] constant(-inf)\n"
          "  r = f32[{3},{0}] reduce(m, i), dimensions={{2}}, to_apply=max\n"
          "  rb = f32[{3},{0},{0}] broadcast(r), dimensions={{0,1}}\n"
          "  su = f32[{3},{0},{0}] subtract(m, rb)\n  e = f32[{3},{0},{0}] exponential(su)\n"
          "  z = f32[] constant(0)\n  t = f32[{3},{0}] reduce(e, z), dimensions={{2}}, to_apply=sum\n"
          "  tb = f32[{3},{0},{0}] broadcast(t), dimensions={{0,1}}\n"
          "  p = f32[{3},{0},{0}] divide(e, tb)\n"
          "  o = f32[{3},{0},{4}] dot(p, vh), lhs_batch_dims={{0}}, lhs_contracting_dims={{2}}, "
          "rhs_batch_dims={{1}}, rhs_contracting_dims={{0}}\n"
          "  ot = f32[{0},{3},{4}] transpose(o), dimensions={{1,0,2}}\n  of = f32[{0},{1}] reshape(ot)\n"
          "  ROOT out = f32[{0},{1}] dot(of, wo), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n",
          s, hidden, scale, heads, width));
}

std::string layer_norm_text(int64_t rows, int64_t cols) {
  return hlo_module(fmt::format(
      "  x = f32[{0},{1}] parameter(0)\n  gamma = f32[{1}] parameter(1)\n  beta = f32[{1}] parameter(2)\n"
      "  z = f32[] constant(0)\n  s = f32[{0}] reduce(x, z), dimensions={{1}}, to_apply=sum\n"
      "  n = f32[] constant({1})\n  nb = f32[{0}] broadcast(n), dimensions={{}}\n"
      "  mean = f32[{0}] divide(s, nb)\n  mb = f32[{0},{1}] broadcast(mean), dimensions={{0}}\n"
      "  c = f32[{0},{1}] subtract(x, mb)\n  q = f32[{0},{1}] multiply(c, c)\n"
      "  v = f32[{0}] reduce(q, z), dimensions={{1}}, to_apply=sum\n  w = f32[{0}] divide(v, nb)\n"
      "  e = f32[] constant(1e-05)\n  eb = f32[{0}] broadcast(e), dimensions={{}}\n"
      "  a = f32[{0}] add(w, eb)\n  r = f32[{0}] rsqrt(a)\n  rb = f32[{0},{1}] broadcast(r), "
      "dimensions={{0}}\n"
      "  y = f32[{0},{1}] multiply(c, rb)\n  g = f32[{0},{1}] broadcast(gamma), dimensions={{1}}\n"
      "  yg = f32[{0},{1}] multiply(y, g)\n  b = f32[{0},{1}] broadcast(beta), dimensions={{1}}\n"
      "  ROOT o = f32[{0},{1}] add(yg, b)\n",
      rows, cols));
}

}  // namespace zomboss::plena
