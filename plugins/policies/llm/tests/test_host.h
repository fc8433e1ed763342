// For tests: a call that may be cancelled, and a controller that answers intents and regions over a synthetic
// surface as the host would, with hashes, numbers of evaluations and counters.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugins/policies/common/test_search.h"
#include "plugins/policies/llm/llm_policy.h"
#include "zomboss/sdk/random.h"

namespace zomboss::policies::llm::testing {

using policies::testing::TestSurface;
using policies::testing::Values;

class TestCall {
 public:
  TestCall() : call_(&raw_) {
    raw_.struct_size = sizeof raw_;
    raw_.host = this;
    raw_.cancelled = [](const zb_call* call) {
      return static_cast<TestCall*>(call->host)->cancelled.load() ? int32_t{1} : int32_t{0};
    };
    raw_.log = [](const zb_call* call, zb_severity, zb_str text) {
      static_cast<TestCall*>(call->host)->logged.emplace_back(text.data, text.size);
    };
  }
  TestCall(const TestCall&) = delete;
  sdk::Call& operator*() { return call_; }
  void set_deadline_ns(uint64_t deadline) { raw_.deadline_ns = deadline; }

  std::atomic<bool> cancelled{false};
  std::vector<std::string> logged;

 private:
  zb_call raw_{};
  sdk::Call call_;
};

// Two seeds of the same host and policy give the same; a new host may be driven with a new policy to resume.
class TestHost {
 public:
  TestHost(const TestSurface& surface, Values candidate0, uint64_t seed = 7);

  // Creates and starts the policy.
  Status start(const wire::OptionsT& options);
  // One proposal and its feedback. False at a Stop.
  Result<bool> step();
  // Until `evaluations` are spent, the policy stops, or `proposals` were made.
  Status run(size_t evaluations, size_t proposals = 1000);

  TestCall call;
  wire::SearchContextT context;
  std::unique_ptr<LlmPolicy> policy;
  std::vector<wire::ProposalT> proposals;
  std::vector<std::string> encoded;  // the proposals' bytes
  std::vector<wire::FeedbackBatchT> feedback;
  size_t evaluations = 0;
  size_t budget = 1000;
  uint64_t tokens_left = 0;
  double cost_left = 0;
  double best = 0;
  std::string rationale;

 private:
  std::unique_ptr<wire::PlanT> plan(const Values& values) const;
  std::unique_ptr<wire::FeedbackT> evaluate(const Values& values, uint32_t index);
  std::vector<Values> choose(const wire::RegionT& region);

  const TestSurface& surface_;
  std::map<Values, double> known_;
};

// A folder of the test's own, removed at its end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};
std::string file_text(const std::filesystem::path& path);

// The text that a plan's values hash to here.
std::string hash_of(const Values& values);

}  // namespace zomboss::policies::llm::testing
