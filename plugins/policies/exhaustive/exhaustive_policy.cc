#include "plugins/policies/exhaustive/exhaustive_policy.h"

#include <algorithm>
#include <numeric>

#include "plugins/policies/common/options.h"
#include "plugins/policies/common/state_bytes.h"

namespace zomboss::policies {
namespace {

constexpr uint32_t kMagic = 0x5845425a;  // "ZBEX"
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMostPoints = uint64_t{1} << 63;

}  // namespace

Result<std::unique_ptr<ExhaustivePolicy>> ExhaustivePolicy::create(sdk::Call&,
                                                                   const wire::OptionsT& options) {
  auto policy = std::make_unique<ExhaustivePolicy>();
  OptionReader reader("exhaustive", options);
  ZB_TRY(reader.integer("batch", 1, 256, policy->batch_));
  ZB_TRY(reader.finish());
  return policy;
}

Status ExhaustivePolicy::start(sdk::Call&, const wire::SearchContextT& context) {
  ZB_ASSIGN(space_, Space::from_context(context));
  progress_ = {};
  endless_ = false;
  if (space_.catalog) {
    order_.resize(space_.rows.size());
    std::iota(order_.begin(), order_.end(), 0u);
    if (!space_.costs.empty())
      std::stable_sort(order_.begin(), order_.end(),
                       [&](uint32_t a, uint32_t b) { return space_.costs[a] < space_.costs[b]; });
    size_ = order_.size();
  } else {
    size_ = 1;
    for (size_t k = 0; k < space_.knobs.size() && !endless_; ++k) {
      const uint64_t values = space_.knobs[k].values.size();
      endless_ = size_ > kMostPoints / values;
      size_ *= values;
    }
  }
  skip_start();
  return {};
}

void ExhaustivePolicy::skip_start() {
  if (!finished() && point(progress_.position) == space_.start) ++progress_.position;
}

Point ExhaustivePolicy::point(uint64_t number) const {
  if (space_.catalog) return space_.rows[order_[number]];
  Point point(space_.knobs.size(), 0);
  for (size_t k = space_.knobs.size(); k > 0 && number > 0; --k) {
    const uint64_t values = space_.knobs[k - 1].values.size();
    point[k - 1] = static_cast<uint32_t>(number % values);
    number /= values;
  }
  return point;
}

std::string ExhaustivePolicy::how_far(uint64_t last) const {
  const std::string what = space_.catalog ? "row" : "combination";
  std::string text = what + "s " + std::to_string(progress_.position + 1) + " to " + std::to_string(last) +
                     " of " + (endless_ ? "more than " + std::to_string(kMostPoints) : std::to_string(size_));
  if (space_.catalog) text += space_.costs.empty() ? ", in catalog order" : ", by static cost";
  return text;
}

wire::ProposalT ExhaustivePolicy::end() const {
  wire::ProposalT proposal;
  proposal.kind = wire::ProposalKind::Stop;
  // Candidate-0 was evaluated before the search.
  const std::string legal = std::to_string(progress_.legal + 1);
  proposal.rationale = space_.catalog
                           ? "every one of the " + legal + " mappings was evaluated: "
                           : "every one of the " + std::to_string(size_) + " combinations was tried, " +
                                 "all " + legal + " legal ones were evaluated: ";
  proposal.rationale += progress_.failed == 0 ? "the best is the optimum"
                                              : "the best is the optimum but for " +
                                                    std::to_string(progress_.failed) + " that failed";
  return proposal;
}

Result<wire::ProposalT> ExhaustivePolicy::propose(sdk::Call&, const wire::SearchStateT& state) {
  if (space_.knobs.empty()) return failed_precondition("propose was called before start");
  if (finished()) return end();
  auto wanted = static_cast<uint64_t>(batch_);
  // Rows are legal, so that each costs an evaluation; of combinations nobody knows how many do.
  if (space_.catalog) wanted = std::min<uint64_t>(wanted, std::max<uint32_t>(1, state.evaluations_left));
  wire::ProposalT proposal;
  proposal.kind = wire::ProposalKind::Intents;
  uint64_t number = progress_.position;
  for (; proposal.intents.size() < wanted && (endless_ || number < size_); ++number) {
    const Point next = point(number);
    if (next != space_.start) proposal.intents.push_back(space_.exact_intent(next));
  }
  proposal.rationale = how_far(number);
  return proposal;
}

// Answers are in order, and end early when the budget does.
Status ExhaustivePolicy::observe(sdk::Call&, const wire::FeedbackBatchT& feedback) {
  for (const auto& item : feedback.items) {
    ++progress_.position;
    skip_start();
    if (item->outcome >= wire::Outcome::RejectedDuplicate) continue;
    ++progress_.legal;
    if (item->outcome != wire::Outcome::Valid) ++progress_.failed;
  }
  return {};
}

Result<std::string> ExhaustivePolicy::save(sdk::Call&) const {
  StateWriter writer;
  writer.u32(kMagic);
  writer.u32(kVersion);
  writer.u64(space_.fingerprint);
  writer.u64(progress_.position);
  writer.u64(progress_.legal);
  writer.u64(progress_.failed);
  return std::move(writer).finish();
}

Status ExhaustivePolicy::load(sdk::Call&, Bytes bytes) {
  if (space_.knobs.empty()) return failed_precondition("load was called before start");
  StateReader reader(bytes);
  if (reader.u32() != kMagic || reader.u32() != kVersion || reader.u64() != space_.fingerprint) reader.fail();
  Progress progress;
  progress.position = reader.u64();
  progress.legal = reader.u64();
  progress.failed = reader.u64();
  if ((!endless_ && progress.position > size_) || progress.position > kMostPoints ||
      progress.legal > progress.position || progress.failed > progress.legal)
    reader.fail();
  ZB_TRY(reader.finish("exhaustive"));
  progress_ = progress;
  return {};
}

}  // namespace zomboss::policies
