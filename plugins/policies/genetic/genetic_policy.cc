#include "plugins/policies/genetic/genetic_policy.h"

#include <algorithm>

#include "plugins/policies/common/options.h"

namespace zomboss::policies {
namespace {

constexpr uint64_t kStream = 3;
constexpr int kDraws = 1000;               // attempts to find an unseen point before giving up
constexpr uint64_t kFamilyDuplicates = 8;  // in a row: the population has converged, strangers come in
constexpr uint64_t kDuplicateLimit = 128;  // in a row: the legal plans are as good as exhausted

wire::ProposalT stop(std::string why) {
  wire::ProposalT proposal;
  proposal.kind = wire::ProposalKind::Stop;
  proposal.rationale = std::move(why);
  return proposal;
}

// How far apart two points are: of an ordered knob the share of its range, of another knob 0 or 1.
double distance(const Space& space, const Point& a, const Point& b) {
  double sum = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k] == b[k]) continue;
    const SpaceKnob& knob = space.knobs[k];
    const double steps = static_cast<double>(knob.rank[a[k]]) - static_cast<double>(knob.rank[b[k]]);
    const double last = static_cast<double>(knob.values.size() - 1);
    sum += knob.ordered ? (steps < 0 ? -steps : steps) / last : 1;
  }
  return sum;
}

}  // namespace

Result<std::unique_ptr<GeneticPolicy>> GeneticPolicy::create(sdk::Call&, const wire::OptionsT& options) {
  auto policy = std::make_unique<GeneticPolicy>();
  OptionReader reader("genetic", options);
  ZB_TRY(reader.integer("population", 4, 256, policy->population_));
  ZB_TRY(reader.integer("elite", 1, 64, policy->elite_));
  ZB_TRY(reader.number("mutation", 0, 1, policy->mutation_));
  ZB_TRY(reader.number("crossover", 0, 1, policy->crossover_));
  ZB_TRY(reader.integer("tournament", 1, 16, policy->tournament_));
  ZB_TRY(reader.integer("batch", 1, 256, policy->batch_));
  ZB_TRY(reader.finish());
  if (policy->elite_ >= policy->population_)
    return invalid_argument("policy genetic: option 'elite' (" + std::to_string(policy->elite_) +
                            ") must be less than 'population' (" + std::to_string(policy->population_) + ")");
  return policy;
}

Status GeneticPolicy::start(sdk::Call&, const wire::SearchContextT& context) {
  ZB_ASSIGN(space_, Space::from_context(context));
  if (!(context.candidate0_latency > 0))
    return invalid_argument("the latency of Candidate-0 is not positive");
  seed_ = context.seed;
  free_.clear();
  for (size_t k = 0; k < space_.knobs.size(); ++k)
    if (space_.knobs[k].values.size() > 1) free_.push_back(k);
  state_ = GeneticState();
  state_.population = {{space_.start, context.candidate0_latency}};
  state_.seen = {space_.start};
  return {};
}

// The first generation fills the population, later ones what the elite leaves.
uint64_t GeneticPolicy::children_wanted() const {
  return static_cast<uint64_t>(population_ - (state_.generation == 0 ? 1 : elite_));
}

Point GeneticPolicy::draw(Random& random) const {
  if (space_.catalog) {
    size_t best = random.below(space_.rows.size());
    for (int64_t i = 1; i < tournament_ && !space_.costs.empty(); ++i) {
      const size_t other = random.below(space_.rows.size());
      if (space_.costs[other] < space_.costs[best]) best = other;
    }
    return space_.rows[best];
  }
  Point point;
  for (const SpaceKnob& knob : space_.knobs)
    point.push_back(static_cast<uint32_t>(random.below(knob.values.size())));
  return point;
}

const Individual& GeneticPolicy::parent(Random& random) const {
  size_t best = random.below(state_.population.size());
  for (int64_t i = 1; i < tournament_; ++i)
    best = std::min(best, static_cast<size_t>(random.below(state_.population.size())));
  return state_.population[best];
}

Point GeneticPolicy::recombine(Random& random, const Point& a, const Point& b) const {
  bool from_b[256] = {};  // by section
  for (bool& each : from_b) each = random.below(2) == 1;
  Point point = a;
  for (size_t k = 0; k < point.size(); ++k)
    if (from_b[space_.knobs[k].category]) point[k] = b[k];
  return point;
}

// Of an ordered knob: one step up or down, with probability 1/2 one more, and so on; back inside at the ends.
void GeneticPolicy::mutate_knob(Random& random, size_t k, Point& point) const {
  const SpaceKnob& knob = space_.knobs[k];
  const auto last = static_cast<int64_t>(knob.values.size()) - 1;
  if (!knob.ordered) {
    const auto other = static_cast<uint32_t>(random.below(static_cast<uint64_t>(last)));
    point[k] = other >= point[k] ? other + 1 : other;
    return;
  }
  int64_t steps = 1;
  while (steps < last && random.below(2) == 1) ++steps;
  const auto at = static_cast<int64_t>(knob.rank[point[k]]);
  if (random.below(2) == 1) steps = -steps;
  const bool outside = at + steps < 0 || at + steps > last;
  int64_t to = std::clamp<int64_t>(at + (outside ? -steps : steps), 0, last);
  if (to == at) to = at == 0 ? 1 : at - 1;
  point[k] = static_cast<uint32_t>(std::find(knob.rank.begin(), knob.rank.end(), static_cast<uint32_t>(to)) -
                                   knob.rank.begin());
}

Point GeneticPolicy::child(Random& random) const {
  const Point& mother = parent(random).point;
  const bool two = random.unit() < crossover_;
  const Point& father = two ? parent(random).point : mother;
  Point point = recombine(random, mother, father);
  for (const size_t k : free_)
    if (random.unit() < mutation_) mutate_knob(random, k, point);
  if (point == mother || point == father) mutate_knob(random, free_[random.below(free_.size())], point);
  return point;
}

// To the nearest row that was not seen; among equals the one with the lowest static cost, then the first.
bool GeneticPolicy::snap(Point& point) const {
  size_t best = space_.rows.size();
  double best_distance = 0;
  for (size_t row = 0; row < space_.rows.size(); ++row) {
    if (state_.seen.count(space_.rows[row]) != 0) continue;
    const double away = distance(space_, space_.rows[row], point);
    const bool better =
        best == space_.rows.size() || away < best_distance ||
        (away == best_distance && !space_.costs.empty() && space_.costs[row] < space_.costs[best]);
    if (!better) continue;
    best = row;
    best_distance = away;
  }
  if (best == space_.rows.size()) return false;
  point = space_.rows[best];
  return true;
}

bool GeneticPolicy::next_point(Random& random, Point& point) const {
  if (free_.empty()) return false;
  const bool strangers = state_.generation == 0 || state_.duplicates >= kFamilyDuplicates;
  if (space_.catalog) {
    if (space_.rows.empty()) return false;
    point = strangers ? draw(random) : child(random);
    return snap(point);
  }
  // A converged population has few children that were not seen: then strangers, too.
  for (int attempt = 0; attempt < kDraws; ++attempt) {
    point = strangers || attempt >= kDraws / 2 ? draw(random) : child(random);
    if (state_.seen.count(point) == 0) return true;
  }
  return false;
}

Result<wire::ProposalT> GeneticPolicy::propose(sdk::Call&, const wire::SearchStateT& state) {
  if (space_.knobs.empty()) return failed_precondition("propose was called before start");
  if (state_.duplicates >= kDuplicateLimit)
    return stop("the last " + std::to_string(state_.duplicates) + " intents led to known plans");
  const uint64_t wanted =
      std::min<uint64_t>({static_cast<uint64_t>(batch_), std::max<uint32_t>(1, state.evaluations_left),
                          children_wanted() - state_.answered});
  Random random(seed_, kStream);
  random.skip_to(state_.random_position);
  wire::ProposalT proposal;
  proposal.kind = wire::ProposalKind::Intents;
  proposal.rationale = "generation " + std::to_string(state_.generation) + ", " +
                       std::to_string(state_.answered) + " of " + std::to_string(children_wanted()) +
                       " children known";
  Point point;
  while (proposal.intents.size() < wanted && next_point(random, point)) {
    state_.seen.insert(point);
    proposal.intents.push_back(space_.catalog ? space_.exact_intent(point)
                                              : space_.preferred_intent(point, {}));
  }
  state_.random_position = random.position();
  if (!proposal.intents.empty()) return proposal;
  return stop(space_.catalog
                  ? "every row of the catalog was proposed"
                  : std::to_string(kDraws) + " attempts gave no point that was not requested before");
}

Status GeneticPolicy::observe(sdk::Call&, const wire::FeedbackBatchT& feedback) {
  for (const auto& item : feedback.items) {
    if (item->outcome == wire::Outcome::RejectedDuplicate) ++state_.duplicates;
    Point realized;
    if (item->plan != nullptr) {
      ZB_ASSIGN(realized, space_.point_of(*item->plan));
      state_.seen.insert(realized);
    }
    if (item->outcome >= wire::Outcome::RejectedDuplicate) continue;
    state_.duplicates = 0;
    ++state_.answered;
    if (item->outcome == wire::Outcome::Valid && item->latency > 0 && !realized.empty())
      state_.children.push_back({std::move(realized), item->latency});
    if (state_.answered >= children_wanted()) next_generation();
  }
  return {};
}

void GeneticPolicy::next_generation() {
  auto& population = state_.population;
  if (population.size() > static_cast<size_t>(elite_)) population.resize(static_cast<size_t>(elite_));
  population.insert(population.end(), std::make_move_iterator(state_.children.begin()),
                    std::make_move_iterator(state_.children.end()));
  std::stable_sort(population.begin(), population.end(),
                   [](const Individual& a, const Individual& b) { return a.latency < b.latency; });
  state_.children.clear();
  state_.answered = 0;
  ++state_.generation;
}

Status GeneticPolicy::load(sdk::Call&, Bytes bytes) {
  if (space_.knobs.empty()) return failed_precondition("load was called before start");
  ZB_ASSIGN(GeneticState state, load_state(space_, bytes));
  const GeneticState before = std::exchange(state_, std::move(state));
  if (state_.answered < children_wanted()) return {};
  state_ = before;
  return data_loss("the saved state of the genetic policy is of other options");
}

}  // namespace zomboss::policies
