// zomboss ask and zomboss tell: a search that a program of any language drives. `ask` begins a run and says
// what there is to decide; `tell` reads proposals, a JSON document on each line, and answers each with a
// line. docs/cli.md describes both.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "core/mapping/convert.h"
#include "host/cli/campaign.h"
#include "host/cli/exit.h"
#include "host/cli/history_access.h"
#include "host/cli/interrupt.h"
#include "host/cli/json.h"

namespace zomboss::cli {
namespace {

// One line of JSON on stdout, at once.
void say(const Json& json) {
  fmt::print("{}\n", dump_json(json));
  std::fflush(stdout);
}

Json decisions_json(const wire::PlanT& plan, const mapping::Surface& surface) {
  Json json = Json::object();
  for (const auto& section : plan.sections)
    for (const auto& decision : section->decisions) {
      const auto knob = surface.find_knob(decision->knob);
      if (knob) json[decision->knob] = mapping::value_text(surface.knob(*knob), decision->value);
    }
  return json;
}

// Turns the JSON of a line into the proposal that a policy plugin would have made.
class ProposalReader {
 public:
  explicit ProposalReader(const mapping::Surface& surface) : surface_(surface) {}

  Result<wire::ProposalT> read(const std::string& line) {
    std::string repeated;
    const Json json = parse_line(line, repeated);
    if (json.is_discarded()) return invalid_argument("the line is no JSON");
    if (!repeated.empty()) return invalid_argument(fmt::format("'{}' stands twice in one object", repeated));
    if (!json.is_object()) return invalid_argument("the line is no JSON object");
    for (const auto& [key, value] : json.items())
      if (key != "intents" && key != "region" && key != "stop" && key != "rationale")
        return invalid_argument(
            fmt::format("'{}' is no part of a proposal: intents, region, stop, rationale", key));
    if (json.contains("intents") + json.contains("region") + json.contains("stop") != 1)
      return invalid_argument("a proposal has exactly one of intents, region and stop");
    wire::ProposalT proposal;
    if (json.contains("rationale")) {
      if (!json["rationale"].is_string()) return invalid_argument("rationale is no text");
      proposal.rationale = json["rationale"];
    }
    if (json.contains("stop")) {
      if (!json["stop"].is_string()) return invalid_argument("stop is no text that says why");
      proposal.rationale = json["stop"];
      return proposal;
    }
    if (json.contains("region")) {
      proposal.kind = wire::ProposalKind::Region;
      ZB_TRY(read_region(json["region"], proposal));
      return proposal;
    }
    proposal.kind = wire::ProposalKind::Intents;
    if (!json["intents"].is_array()) return invalid_argument("intents is no array");
    for (const Json& each : json["intents"]) {
      ZB_TRY(read_intent(each, proposal));
    }
    return proposal;
  }

 private:
  // `repeated`: a key that an object has twice; the library would take the last.
  static Json parse_line(const std::string& line, std::string& repeated) {
    std::vector<std::set<std::string>> open;
    const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
      if (event == Json::parse_event_t::object_start) open.emplace_back();
      if (event == Json::parse_event_t::object_end) open.pop_back();
      if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
        repeated = parsed.get<std::string>();
      return true;
    };
    return Json::parse(line, watch, false);
  }

  // {"tile_m": 64, "buffering": {"preferred": "double"}, "tile_k": "auto"}, or "tile_m=64 buffering~double".
  Status read_intent(const Json& json, wire::ProposalT& proposal) {
    auto intent = std::make_unique<wire::IntentT>();
    if (json.is_string()) {
      ZB_ASSIGN(const mapping::Intent parsed,
                mapping::parse_intent(surface_, Source("intent", json.get<std::string>())));
      *intent = mapping::to_wire(surface_, parsed);
    } else if (json.is_object()) {
      for (const auto& [knob, value] : json.items()) {
        const bool preferred = value.is_object() && value.size() == 1 && value.contains("preferred");
        ZB_ASSIGN(auto assignment,
                  read_assignment(knob, preferred ? value["preferred"] : value,
                                  preferred ? wire::Strength::Preferred : wire::Strength::Hard));
        intent->assignments.push_back(std::move(assignment));
      }
    } else {
      return invalid_argument("an intent is an object of knobs, or a text as `complete` takes it");
    }
    proposal.intents.push_back(std::move(intent));
    return {};
  }

  Result<std::unique_ptr<wire::AssignmentT>> read_assignment(const std::string& knob, const Json& value,
                                                             wire::Strength strength) {
    auto text = assignment_text(value);
    if (!text.ok()) return std::move(text).status().with_prefix("the value of '" + knob + "'");
    ZB_ASSIGN(const mapping::Assignment parsed, mapping::parse_assignment(surface_, knob, *text, strength));
    auto assignment = std::make_unique<wire::AssignmentT>();
    assignment->knob = knob;
    assignment->value = parsed.value;
    assignment->strength = parsed.strength;
    return assignment;
  }

  // {"hard": {...}, "preferred": {...}, "auto": [...], "diversity": [...], "center": HASH, "radius": N}
  Status read_region(const Json& json, wire::ProposalT& proposal) {
    if (!json.is_object()) return invalid_argument("region is no object");
    proposal.region = std::make_unique<wire::RegionT>();
    for (const auto& [key, value] : json.items()) {
      if (key == "hard" || key == "preferred") {
        if (!value.is_object()) return invalid_argument(key + " is no object of knobs");
        for (const auto& [knob, wanted] : value.items()) {
          ZB_ASSIGN(auto assignment,
                    read_assignment(knob, wanted,
                                    key == "hard" ? wire::Strength::Hard : wire::Strength::Preferred));
          proposal.region->assignments.push_back(std::move(assignment));
        }
      } else if (key == "auto" || key == "diversity") {
        if (!value.is_array()) return invalid_argument(key + " is no array of knobs");
        for (const Json& knob : value) {
          if (!knob.is_string()) return invalid_argument(key + " has something that is no name of a knob");
          if (key == "diversity") {
            proposal.region->diversity_axes.push_back(knob);
            continue;
          }
          auto assignment = std::make_unique<wire::AssignmentT>();
          assignment->knob = knob;
          assignment->strength = wire::Strength::Auto;
          proposal.region->assignments.push_back(std::move(assignment));
        }
      } else if (key == "center" && (value.is_string() || value.is_null())) {
        if (value.is_string()) proposal.region->center = value;
      } else if (key == "radius" && value.is_number_unsigned()) {
        proposal.region->radius = static_cast<uint32_t>(std::min<uint64_t>(value.get<uint64_t>(), 1000));
      } else {
        return invalid_argument(fmt::format("region: '{}' is unknown or has a value of the wrong type", key));
      }
    }
    return {};
  }

  const mapping::Surface& surface_;
};

// A policy whose mind is elsewhere: proposals are lines of stdin, feedback goes to stdout. What it proposed
// in earlier sessions comes from the history.
class DrivenPolicy final : public search::Policy {
 public:
  DrivenPolicy(const mapping::Surface& surface, std::vector<std::string> past, bool listen)
      : surface_(surface), past_(std::move(past)), listen_(listen) {}

  Status start(const wire::SearchContextT&) override { return {}; }
  Result<wire::ProposalT> propose(const wire::SearchStateT& state) override {
    if (next_ < past_.size()) return decode<wire::ProposalT>(as_bytes(past_[next_++]));
    live_ = true;
    left_ = {{"evaluations", state.evaluations_left}, {"proposals", state.proposals_left}};
    for (std::string line; listen_ && std::getline(std::cin, line);) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      auto proposal = ProposalReader(surface_).read(line);
      if (proposal.ok()) return proposal;
      say({{"schema", "zomboss.error/1"}, {"message", proposal.status().message()}});
    }
    return Status(Code::kCancelled, "the driver is gone");
  }
  Status observe(const wire::FeedbackBatchT& feedback) override {
    if (!live_) return {};
    Json results = Json::array();
    for (const auto& item : feedback.items) {
      Json result = {{"index", item->index},
                     {"outcome", search::outcome_name(item->outcome)},
                     {"evaluation", item->evaluation},
                     {"latency", item->latency},
                     {"incumbent", item->incumbent}};
      if (!item->reason.empty()) result["reason"] = item->reason;
      if (item->plan != nullptr) {
        result["plan"] = item->plan->hash;
        result["decisions"] = decisions_json(*item->plan, surface_);
        for (const auto& relaxed : item->plan->relaxations)
          result["relaxed"][relaxed->knob] = relaxed->reason;
      }
      if (!item->counters.empty()) result["counters"] = counters_json(item->counters);
      results.push_back(std::move(result));
    }
    say({{"schema", "zomboss.tell/1"}, {"results", results}, {"left_before", left_}});
    return {};
  }
  Result<std::string> save() override { return std::string(); }
  Status load(std::string_view) override { return {}; }

 private:
  const mapping::Surface& surface_;
  std::vector<std::string> past_;
  size_t next_ = 0;
  bool listen_;
  bool live_ = false;
  Json left_;
};

Json state_json(const Workbench& bench, const Outcome& outcome, const history::Run& run) {
  const mapping::Surface& surface = *bench.problem().surface;
  const search::Report& report = outcome.report;
  Json published = to_json(surface);
  published.erase("references");  // a driver is told what a policy is
  const auto candidate = [&](const search::Candidate& each, uint32_t evaluation) {
    return Json{{"evaluation", evaluation},
                {"latency", each.evaluation.latency},
                {"plan", each.plan.hash.hex()},
                {"decisions", decisions_json(mapping::to_wire(surface, each.plan), surface)}};
  };
  return {{"schema", "zomboss.ask/1"},
          {"run", run.id},
          {"workload", run.label},
          {"target", surface.target()},
          {"unit", report.candidate0.evaluation.unit},
          {"surface", published},
          {"facts", machine_facts(bench.target().model())},
          {"lower_bound", bench.bound() ? Json(bench.bound()->latency) : Json()},
          {"candidate0", candidate(report.candidate0, 0)},
          {"incumbent", candidate(report.best, report.best_evaluation)},
          {"left",
           {{"evaluations", run.budget.evaluations - report.evaluations},
            {"proposals", run.budget.proposals - report.proposals}}},
          {"state", run.state},
          {"stop_reason", report.stop_reason}};
}

// Opens the workload of the command line and searches it with a driven policy, in this job.
int drive(const CommonOptions& common, const SearchOptions& options, int64_t job, bool listen) {
  const auto done = [&]() -> Result<Json> {
    ZB_ASSIGN(Prepared prepared, prepare(common, options, false));
    if (prepared.tasks.size() != 1 || options.inputs.size() != 1 || is_suite(options.inputs[0]))
      return invalid_argument("a driven run has one workload: name one HLO file");
    Session& session = *prepared.session;
    ZB_ASSIGN(auto history, open_history(session.config()));
    if (history == nullptr) return invalid_argument("ask and tell need a history, and history.file is empty");
    ZB_ASSIGN(auto bench, Workbench::open(session, prepared.tasks[0], job_count(session.config())));
    RunPlace place{history.get(), 0, 0};
    ZB_ASSIGN(place.job, open_job(*history, session, "ask", job));
    std::vector<std::string> past;
    ZB_ASSIGN(const auto found, history->find_run(place.job, 0));
    if (found) {
      ZB_TRY(history->each_proposal(found->id, [&](const history::Proposal& proposal) {
        past.push_back(proposal.bytes);
        return true;
      }));
    }
    PolicyHandle policy;
    policy.policy = std::make_unique<DrivenPolicy>(*bench->problem().surface, std::move(past), listen);
    policy.identity = {"policy", "driven", ZB_VERSION, ""};
    Settings settings = prepared.settings;
    settings.policy = "driven";
    settings.export_kernels = listen && !options.no_export;
    settings.quiet = true;
    ZB_ASSIGN(const Outcome outcome,
              search_run(session, *bench, prepared.tasks[0], settings, std::move(policy), place));
    ZB_TRY(history->end_job(place.job, outcome.report.interrupted ? "interrupted" : "complete"));
    ZB_ASSIGN(const history::Run run, history->run(outcome.run));
    return state_json(*bench, outcome, run);
  }();
  if (!done.ok()) return fail(common, done.status());
  say(*done);
  return stop_requested().load() ? kExitInterrupted : kExitSuccess;
}

// Goes on with a run that `ask` began.
int drive_again(const CommonOptions& common, const HistoryOptions& options, bool listen) {
  std::unique_ptr<CommandLine> line;
  int64_t job = 0;
  {
    const auto history = open_to_read(common, options);
    if (!history.ok()) return fail(common, history.status());
    const auto run = (*history)->run(options.run);
    if (!run.ok()) return fail(common, run.status());
    auto stored = load_job(common, **history, run->job);
    if (!stored.ok()) return fail(common, stored.status());
    if (stored->job.command != "ask")
      return fail(common,
                  invalid_argument(fmt::format("run {} has a policy of its own; begin a run for a driver "
                                               "with `ask`",
                                               options.run)));
    job = run->job;
    line = std::move(stored->line);
  }
  return drive(line->common, line->search, job, listen);
}

}  // namespace

int run_ask_command(const CommonOptions& common, const SearchOptions& search, int64_t run) {
  handle_interrupts();
  if (run == 0) return drive(common, search, 0, false);
  HistoryOptions options;
  options.history = search.history;
  options.run = run;
  return drive_again(common, options, false);
}

int run_tell_command(const CommonOptions& common, const HistoryOptions& options) {
  handle_interrupts();
  return drive_again(common, options, true);
}

}  // namespace zomboss::cli
