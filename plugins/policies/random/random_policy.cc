#include "plugins/policies/random/random_policy.h"

#include <algorithm>

#include "plugins/policies/common/options.h"
#include "plugins/policies/common/state_bytes.h"

namespace zomboss::policies {
namespace {

constexpr uint32_t kMagic = 0x4e52425a;  // "ZBRN"
constexpr uint32_t kVersion = 1;
constexpr uint64_t kStream = 1;
constexpr int kDraws = 1000;              // attempts to find an unseen point before giving up
constexpr uint64_t kDuplicateLimit = 64;  // in a row: the legal plans are as good as exhausted

wire::ProposalT stop(std::string why) {
  wire::ProposalT proposal;
  proposal.kind = wire::ProposalKind::Stop;
  proposal.rationale = std::move(why);
  return proposal;
}

}  // namespace

Result<std::unique_ptr<RandomPolicy>> RandomPolicy::create(sdk::Call&, const wire::OptionsT& options) {
  auto policy = std::make_unique<RandomPolicy>();
  OptionReader reader("random", options);
  ZB_TRY(reader.integer("batch", 1, 64, policy->batch_));
  ZB_TRY(reader.finish());
  return policy;
}

Status RandomPolicy::start(sdk::Call&, const wire::SearchContextT& context) {
  ZB_ASSIGN(space_, Space::from_context(context));
  random_ = Random(context.seed, kStream);
  order_.clear();
  position_ = 0;
  duplicates_ = 0;
  seen_ = {space_.start};
  for (size_t row = 0; row < space_.rows.size(); ++row)
    if (space_.rows[row] != space_.start) order_.push_back(static_cast<uint32_t>(row));
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
  return {};
}

bool RandomPolicy::next_row(Point& point) {
  if (position_ >= order_.size()) return false;
  point = space_.rows[order_[position_++]];
  return true;
}

bool RandomPolicy::next_draw(Point& point) {
  for (int draw = 0; draw < kDraws; ++draw) {
    point.clear();
    for (const SpaceKnob& knob : space_.knobs)
      point.push_back(static_cast<uint32_t>(random_.below(knob.values.size())));
    if (seen_.insert(point).second) return true;
  }
  return false;
}

Result<wire::ProposalT> RandomPolicy::propose(sdk::Call&, const wire::SearchStateT& state) {
  if (space_.knobs.empty()) return failed_precondition("propose was called before start");
  if (duplicates_ >= kDuplicateLimit)
    return stop("the last " + std::to_string(duplicates_) + " random intents led to known plans");
  wire::ProposalT proposal;
  proposal.kind = wire::ProposalKind::Intents;
  proposal.rationale = "random sampling without replacement";
  const auto wanted = std::min(static_cast<size_t>(batch_), std::max<size_t>(1, state.evaluations_left));
  Point point;
  while (proposal.intents.size() < wanted && (space_.catalog ? next_row(point) : next_draw(point)))
    proposal.intents.push_back(space_.catalog ? space_.exact_intent(point)
                                              : space_.preferred_intent(point, {}));
  if (!proposal.intents.empty()) return proposal;
  return stop(space_.catalog ? "every row of the catalog was proposed"
                             : std::to_string(kDraws) + " draws gave no point that was not requested before");
}

Status RandomPolicy::observe(sdk::Call&, const wire::FeedbackBatchT& feedback) {
  for (const auto& item : feedback.items) {
    if (space_.catalog) continue;
    const bool fresh = item->outcome != wire::Outcome::RejectedDuplicate;
    duplicates_ = fresh ? 0 : duplicates_ + 1;
    if (item->plan == nullptr) continue;
    ZB_ASSIGN(Point realized, space_.point_of(*item->plan));
    seen_.insert(std::move(realized));
  }
  return {};
}

Result<std::string> RandomPolicy::save(sdk::Call&) const {
  StateWriter writer;
  writer.u32(kMagic);
  writer.u32(kVersion);
  writer.u64(space_.fingerprint);
  writer.u64(random_.position());
  writer.u64(position_);
  writer.u64(duplicates_);
  writer.u64(seen_.size());
  for (const Point& point : seen_) writer.point(point);
  return std::move(writer).finish();
}

Status RandomPolicy::load(sdk::Call&, Bytes bytes) {
  if (space_.knobs.empty()) return failed_precondition("load was called before start");
  StateReader reader(bytes);
  if (reader.u32() != kMagic || reader.u32() != kVersion || reader.u64() != space_.fingerprint) reader.fail();
  const uint64_t random_position = reader.u64();
  const uint64_t position = reader.u64();
  const uint64_t duplicates = reader.u64();
  std::set<Point> seen;
  for (size_t left = reader.count(4 * space_.knobs.size()); left > 0; --left) {
    Point point;
    for (const SpaceKnob& knob : space_.knobs) {
      point.push_back(reader.u32());
      if (point.back() >= knob.values.size()) reader.fail();
    }
    seen.insert(std::move(point));
  }
  if (position > order_.size()) reader.fail();
  ZB_TRY(reader.finish("random"));
  random_.skip_to(random_position);
  position_ = position;
  duplicates_ = duplicates;
  seen_ = std::move(seen);
  return {};
}

}  // namespace zomboss::policies
