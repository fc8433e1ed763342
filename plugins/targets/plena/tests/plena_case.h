// A workload on the plugin as the host uses it, for tests: HLO, contract, reference outputs, surface. The
// target is linked in; one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/evaluate/evaluator.h"
#include "core/evaluate/target.h"
#include "core/evaluate/workload.h"
#include "core/mapping/intent.h"
#include "core/resolver/resolver.h"

namespace zomboss::plena {

struct CaseOptions {
  std::string profile = "upstream";
  std::map<std::string, int64_t> params;  // of the description
  uint64_t instruction_limit = uint64_t{1} << 26;
};

class PlenaCase {
 public:
  // A file of workloads/plena with the contract of its suite, or of `family`. Failures fail the test, and
  // give nullptr.
  static std::unique_ptr<PlenaCase> of_file(const std::string& name, const CaseOptions& options = {});
  static std::unique_ptr<PlenaCase> of_text(const std::string& name, std::string hlo,
                                            const std::string& family, const CaseOptions& options = {});

  evaluate::Target& target() { return *target_; }
  const evaluate::Workload& workload() const { return workload_; }
  const evaluate::Reference& reference() const { return reference_; }
  const mapping::Surface& surface() const { return surface_; }

  bool has(const std::string& knob) const { return surface_.find_knob(knob).has_value(); }
  Result<mapping::Intent> intent(const std::string& text) const;
  // The plan of an intent's text; knobs that the surface does not have are an error.
  Result<mapping::Plan> plan(const std::string& intent);
  Result<resolver::Completion> complete(const std::string& intent);
  // The same without the assignments whose knob or value the surface does not have.
  std::string known_part(const std::string& intent) const;

  evaluate::Evaluation evaluate(const mapping::Plan& plan);
  evaluate::Evaluation evaluate(const std::string& intent);
  Result<wire::ProgramT> lower(const std::string& intent);
  Result<wire::SimulationT> simulate(const wire::ProgramT& program);
  bool accepts(const std::vector<oracle::Tensor>& outputs) const;

 private:
  PlenaCase() = default;
  static std::unique_ptr<PlenaCase> make(const Source& source, const std::string& name,
                                         const evaluate::Contract& contract, const CaseOptions& options);

  std::unique_ptr<evaluate::Target> target_;
  evaluate::Workload workload_;
  evaluate::Reference reference_;
  mapping::Surface surface_{mapping::SurfaceParts{}};
  std::unique_ptr<resolver::Resolver> resolver_;
  std::unique_ptr<evaluate::Evaluator> evaluator_;
};

// A note of a program, or a counter of a simulation; 0 when it is absent.
int64_t note(const wire::ProgramT& program, const std::string& key);
int64_t counter(const wire::SimulationT& simulation, const std::string& name);

// An ENTRY computation around `body`; the regions `max` and `sum` reduce.
std::string hlo_module(const std::string& body);
// Bodies: x[m,k] times w[k,n]; softmax(q k^T / sqrt(d)) v.
std::string gemm_text(int64_t m, int64_t k, int64_t n);
std::string attention_text(int64_t queries, int64_t keys, int64_t width, double scale);
// x[s,h], projections, attention of `heads` heads on `kv_heads` of keys and values, output projection.
std::string heads_text(int64_t s, int64_t hidden, int64_t heads, int64_t kv_heads, double scale);
std::string layer_norm_text(int64_t rows, int64_t cols);

}  // namespace zomboss::plena
