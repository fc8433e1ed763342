// The text of a run that must be the same when the run is repeated.
#include <fmt/format.h>

#include <cmath>

#include "core/base/hash.h"
#include "core/history/impl.h"

namespace zomboss::history {
namespace {

// In quotes, on one line.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out += '"';
}

std::string usage_text(const Usage& usage) {
  return fmt::format(
      "requests={} prompt={} completion={} cached={} reasoning={} malformed={} cost={}{}{} currency={}",
      usage.requests, usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens,
      usage.reasoning_tokens, usage.malformed, usage.cost, usage.cost_unknown ? " cost-unknown" : "",
      usage.estimated ? " estimated" : "", quoted(usage.currency));
}

void append_proposal(std::string& out, const Proposal& proposal) {
  fmt::format_to(std::back_inserter(out), "proposal {} bytes={} rationale={} trials={} {}\n", proposal.number,
                 hash_bytes(proposal.bytes).hex(), quoted(proposal.rationale), proposal.trials.size(),
                 usage_text(proposal.usage));
  for (const Trial& trial : proposal.trials) {
    fmt::format_to(
        std::back_inserter(out),
        "trial {} proposal={} index={} evaluation={} outcome={} plan={} latency={} static_cost={}{} "
        "intent={} reason={}\n",
        trial.number, trial.proposal, trial.index, trial.evaluation, quoted(trial.outcome),
        quoted(trial.plan), trial.latency, trial.static_cost, trial.incumbent ? " incumbent" : "",
        quoted(trial.intent), quoted(trial.reason));
  }
}

}  // namespace

Result<std::string> History::canonical_text(int64_t run) const {
  ZB_ASSIGN(const Run totals, this->run(run));
  std::string out;
  ZB_TRY(each_proposal(run, [&](const Proposal& proposal) {
    append_proposal(out, proposal);
    return true;
  }));
  fmt::format_to(std::back_inserter(out),
                 "total proposals={} trials={} evaluations={} candidate0={} candidate0_latency={} best={} "
                 "best_evaluation={} best_latency={} {} state={} stop={}\n",
                 totals.proposals, totals.trials, totals.evaluations, quoted(totals.candidate0_plan),
                 totals.candidate0_latency, quoted(totals.best_plan), totals.best_evaluation,
                 totals.best_latency, usage_text(totals.usage), quoted(totals.state),
                 quoted(totals.stop_reason));
  return out;
}

}  // namespace zomboss::history
