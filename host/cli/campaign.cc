#include "host/cli/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <limits>

namespace zomboss::cli {
namespace {

std::vector<std::array<std::string, 3>> flag_settings(const SearchOptions& options) {
  std::vector<std::array<std::string, 3>> flags;
  const auto add = [&](const std::string& value, const char* key, const char* flag) {
    if (!value.empty()) flags.push_back({key, value, flag});
  };
  add(options.policy, "search.policy", "--policy");
  add(options.seed, "search.seed", "--seed");
  add(options.evaluations, "search.evaluations", "--evaluations");
  add(options.proposals, "search.proposals", "--proposals");
  add(options.patience, "search.patience", "--patience");
  add(options.seconds, "search.seconds", "--seconds");
  add(options.tokens, "search.tokens", "--tokens");
  add(options.cost, "search.cost", "--cost");
  add(options.jobs, "search.jobs", "--jobs");
  add(options.output, "output.directory", "--output");
  if (options.history_given) flags.push_back({"history.file", options.history, "--history"});
  return flags;
}

std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(',', start), text.size());
    if (end > start) words.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

std::optional<uint64_t> parse_seed(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// "1..3,7" -> 1 2 3 7.
Result<std::vector<uint64_t>> parse_seeds(const std::string& text) {
  constexpr uint64_t kMost = 100'000;
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();  // as --seed takes it
  std::vector<uint64_t> seeds;
  for (const std::string& word : split_words(text)) {
    const size_t dots = word.find("..");
    const auto first = parse_seed(word.substr(0, dots));
    const auto last = dots == std::string::npos ? first : parse_seed(word.substr(dots + 2));
    if (!first || !last || *last < *first || *last - *first >= kMost || *last > kLargest)
      return invalid_argument(
          fmt::format("--seeds: '{}' is no seed and no range; write 1..5 or 1,4,7", word));
    for (uint64_t seed = *first;; ++seed) {
      seeds.push_back(seed);
      if (seed == *last) break;
    }
  }
  if (seeds.empty()) return invalid_argument("--seeds names no seed; write 1..5 or 1,4,7");
  return seeds;
}

}  // namespace

Result<Prepared> prepare(const CommonOptions& given, const SearchOptions& options, bool suite) {
  Prepared prepared;
  ZB_ASSIGN(const CommonOptions common, with_target_of_suites(given, options.inputs));
  ZB_ASSIGN(prepared.session, Session::open(common, flag_settings(options)));
  ZB_ASSIGN(prepared.tasks, read_tasks(*prepared.session, options.inputs));
  ZB_ASSIGN(prepared.settings, read_settings(prepared.session->config()));
  if (suite && !options.policies.empty()) prepared.policies = split_words(options.policies);
  if (suite && !options.seeds.empty()) {
    ZB_ASSIGN(prepared.seeds, parse_seeds(options.seeds));
  }
  if (prepared.policies.empty()) prepared.policies = {prepared.settings.policy};
  if (prepared.seeds.empty()) prepared.seeds = {prepared.settings.seed};
  return prepared;
}

Result<StoredJob> load_job(const CommonOptions& common, const history::History& history, int64_t job) {
  StoredJob stored;
  ZB_ASSIGN(stored.job, history.job(job));
  const std::string file = std::filesystem::absolute(history.path()).string();
  std::error_code error;
  std::filesystem::current_path(stored.job.folder, error);
  if (error)
    return failed_precondition(fmt::format("job {} was begun in {}, which cannot be entered: {}", job,
                                           stored.job.folder, error.message()));
  stored.line = std::make_unique<CommandLine>();
  if (parse_command_line(common.program, stored.job.arguments, *stored.line))
    return failed_precondition(fmt::format("the command line of job {} is not one of this version", job));
  stored.line->common.json = stored.line->common.json || common.json;
  stored.line->search.history = file;
  stored.line->search.history_given = true;
  return stored;
}

}  // namespace zomboss::cli
