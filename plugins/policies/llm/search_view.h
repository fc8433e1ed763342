// What the parts of the policy read of the running search. One instance, owned by the policy.
#pragma once

#include <string>

#include "plugins/policies/common/space.h"
#include "plugins/policies/llm/journal.h"
#include "plugins/policies/llm/llm_options.h"
#include "plugins/policies/llm/vocabulary.h"

namespace zomboss::policies::llm {

struct SearchView {
  LlmOptions options;
  uint64_t seed = 0;
  std::string target;
  std::string unit;  // of latencies
  double bound = 0;  // lower bound of latency, 0 = not known
  Space space;
  Vocabulary vocabulary;
  Journal journal;
  std::string facts;  // the sections WORKLOAD, TARGET, SURFACE and DEFAULT, the same in every prompt

  // Before anything else, once.
  Status start(const LlmOptions& llm_options, const wire::SearchContextT& context);
  bool full_feedback() const { return options.feedback == "full"; }
  // The rows of the catalog are listed in the prompt.
  bool rows_listed() const {
    return space.catalog && space.rows.size() <= static_cast<size_t>(options.catalog_rows);
  }
};

}  // namespace zomboss::policies::llm
