// A policy plugin as the controller uses it: one instance for one search. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/wire/instance.h"

namespace zomboss::search {

// Interface, so that tests can write a policy in ten lines.
class Policy {
 public:
  virtual ~Policy() = default;
  virtual Status start(const wire::SearchContextT& context) = 0;
  virtual Result<wire::ProposalT> propose(const wire::SearchStateT& state) = 0;
  virtual Status observe(const wire::FeedbackBatchT& feedback) = 0;
  virtual Result<std::string> save() = 0;
  virtual Status load(std::string_view state) = 0;
};

// A policy plugin's instance as a Policy.
std::unique_ptr<Policy> make_policy(std::unique_ptr<wire::Instance> instance);
// The same with a new instance in this process, with these options (its section of the configuration).
// `plugin` lives as long as the process. Fails with the plugin's reason.
Result<std::unique_ptr<Policy>> open_policy(const zb_plugin& plugin, const wire::OptionsT& options,
                                            wire::LogFunction log = {});

}  // namespace zomboss::search
