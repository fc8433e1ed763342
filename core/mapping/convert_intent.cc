// Intents and plans between values and messages.
#include <fmt/format.h>

#include "core/mapping/convert.h"

namespace zomboss::mapping {
namespace {

Result<Assignment> read_assignment(const Surface& surface, const wire::AssignmentT& message) {
  if (message.strength > Strength::MAX) {
    return invalid_argument(
        fmt::format("an assignment has the unknown strength {}", static_cast<int>(message.strength)));
  }
  return make_assignment(surface, message.knob, message.value, message.strength);
}

Result<Plan> read_sections(const wire::PlanT& message) {
  if (message.sections.size() != kCategoryCount) {
    return data_loss(
        fmt::format("the plan has {} sections, not {}", message.sections.size(), kCategoryCount));
  }
  Plan plan;
  for (size_t s = 0; s < kCategoryCount; ++s) {
    const auto& section = message.sections[s];
    if (section == nullptr || static_cast<size_t>(section->category) != s) {
      return data_loss(
          fmt::format("section {} of the plan is not '{}'", s, category_name(static_cast<Category>(s))));
    }
    for (const auto& decision : section->decisions) {
      if (decision == nullptr || decision->origin > Origin::MAX) {
        return data_loss(fmt::format("a decision in section '{}' of the plan is damaged",
                                     category_name(static_cast<Category>(s))));
      }
      plan.sections[s].push_back({decision->knob, decision->value, {}, decision->origin});
    }
  }
  plan.hash = plan_hash(plan);
  return plan;
}

}  // namespace

Result<Intent> intent_from_wire(const Surface& surface, const wire::IntentT& message) {
  return intent_from_wire(surface, message.assignments);
}

Result<Intent> intent_from_wire(const Surface& surface,
                                const std::vector<std::unique_ptr<wire::AssignmentT>>& assignments) {
  // As many as there are knobs is all that can be right; a few more are worth naming.
  constexpr size_t kSlack = 16;
  if (assignments.size() > surface.knobs().size() + kSlack) {
    return invalid_argument(fmt::format("the intent has {} assignments for {} knobs", assignments.size(),
                                        surface.knobs().size()));
  }
  Intent intent;
  std::string problems;
  const auto report = [&](const std::string& problem) {
    problems += (problems.empty() ? "" : "; ") + problem;
  };
  for (const auto& message : assignments) {
    if (message == nullptr) {
      report("an assignment is missing");
      continue;
    }
    const auto assignment = read_assignment(surface, *message);
    if (!assignment.ok()) {
      report(assignment.status().message());
    } else if (intent.find(assignment->knob) != nullptr) {
      report(fmt::format("knob '{}' is assigned twice", message->knob));
    } else {
      intent.set(*assignment);
    }
  }
  if (!problems.empty()) return invalid_argument(problems);
  return intent;
}

wire::IntentT to_wire(const Surface& surface, const Intent& intent) {
  wire::IntentT message;
  for (const Assignment& assignment : intent.assignments()) {
    auto out = std::make_unique<wire::AssignmentT>();
    out->knob = surface.knob(assignment.knob).name;
    out->value = assignment.value;
    out->strength = assignment.strength;
    message.assignments.push_back(std::move(out));
  }
  return message;
}

wire::PlanT to_wire(const Plan& plan, const std::string& target, const std::string& workload) {
  wire::PlanT message;
  message.target = target;
  message.workload = workload;
  message.hash = plan.hash.hex();
  for (size_t s = 0; s < kCategoryCount; ++s) {
    auto section = std::make_unique<wire::SectionT>();
    section->category = static_cast<Category>(s);
    for (const Decision& decision : plan.sections[s]) {
      auto out = std::make_unique<wire::DecisionT>();
      out->knob = decision.knob;
      out->value = decision.value;
      out->label = decision.text;
      out->origin = decision.origin;
      section->decisions.push_back(std::move(out));
    }
    message.sections.push_back(std::move(section));
  }
  for (const Relaxation& relaxation : plan.relaxations) {
    auto out = std::make_unique<wire::RelaxationT>();
    out->knob = relaxation.knob;
    out->requested = relaxation.requested;
    out->realized = relaxation.realized;
    out->reason = relaxation.reason;
    message.relaxations.push_back(std::move(out));
  }
  return message;
}

wire::PlanT to_wire(const Surface& surface, const Plan& plan) {
  return to_wire(plan, surface.target(), surface.workload());
}

Result<Plan> plan_from_wire(const Surface& surface, const wire::PlanT& message) {
  if (message.target != surface.target()) {
    return invalid_argument(
        fmt::format("the plan is for target '{}', not '{}'", message.target.substr(0, 60), surface.target()));
  }
  ZB_ASSIGN(const Plan read, read_sections(message));
  if (read.hash.hex() != message.hash) {
    return data_loss(
        fmt::format("the plan's hash is '{}', but its decisions hash to {}: it was changed by hand",
                    message.hash.substr(0, 40), read.hash.hex()));
  }
  ZB_ASSIGN(const std::vector<int64_t> values, plan_values(surface, read));
  std::vector<Origin> origins;
  for (const auto& section : read.sections) {
    for (const Decision& decision : section) origins.push_back(decision.origin);
  }
  std::vector<Relaxation> relaxations;
  for (const auto& relaxation : message.relaxations) {
    if (relaxation == nullptr || !surface.find_knob(relaxation->knob)) {
      return data_loss("the plan records a relaxation of a knob that the surface does not have");
    }
    relaxations.push_back(
        {relaxation->knob, relaxation->requested, relaxation->realized, relaxation->reason});
  }
  return make_plan(surface, values, origins, std::move(relaxations));
}

}  // namespace zomboss::mapping
