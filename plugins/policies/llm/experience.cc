#include "plugins/policies/llm/experience.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "plugins/policies/llm/numbers.h"

namespace zomboss::policies::llm {
namespace {

constexpr size_t kLesson = 400;

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32; }, ' ');
  return text.size() <= kLesson ? text : valid_utf8(text.substr(0, kLesson)) + "...";
}

}  // namespace

std::vector<Pair> select_pairs(const Journal& journal, const std::vector<Branch>& branches,
                               const LlmOptions& options) {
  const auto& tried = journal.tried();
  std::vector<Pair> gains, losses;
  for (const Branch& branch : branches) {
    if (branch.results.empty() || !tried[branch.parent].verified) continue;
    const auto faster = [&](size_t a, size_t b) { return tried[a].latency < tried[b].latency; };
    const size_t best = *std::min_element(branch.results.begin(), branch.results.end(), faster);
    const size_t worst = *std::max_element(branch.results.begin(), branch.results.end(), faster);
    const double gain = tried[branch.parent].latency / tried[best].latency;
    const double loss = tried[worst].latency / tried[branch.parent].latency;
    if (gain > options.positive)
      gains.push_back({branch.parent, best, gain});
    else if (gain <= 1 && loss > options.negative)
      losses.push_back({worst, branch.parent, loss});
  }
  const auto larger = [](const Pair& a, const Pair& b) { return a.speedup > b.speedup; };
  std::stable_sort(gains.begin(), gains.end(), larger);
  std::stable_sort(losses.begin(), losses.end(), larger);
  const auto most = static_cast<size_t>(options.topk);
  gains.resize(std::min(gains.size(), (most + 1) / 2));
  for (size_t i = 0; i < losses.size() && gains.size() < most; ++i) gains.push_back(losses[i]);
  return gains;
}

std::vector<size_t> select_beam(const Journal& journal, const std::vector<Branch>& branches, size_t size) {
  const auto& tried = journal.tried();
  std::vector<std::pair<double, size_t>> candidates;
  std::vector<size_t> refill;
  for (const Branch& branch : branches) {
    if (branch.results.empty()) {
      refill.push_back(branch.parent);
      continue;
    }
    for (const size_t result : branch.results) candidates.emplace_back(tried[result].latency, result);
  }
  const auto best = static_cast<size_t>(&journal.best() - tried.data());
  candidates.emplace_back(tried[best].latency, best);
  std::stable_sort(candidates.begin(), candidates.end());
  std::vector<size_t> beam;
  const auto take = [&](size_t plan) {
    if (beam.size() < size && std::find(beam.begin(), beam.end(), plan) == beam.end()) beam.push_back(plan);
  };
  for (const auto& [latency, plan] : candidates) take(plan);
  for (const size_t parent : refill) take(parent);
  return beam;
}

std::string lesson_text(const SearchView& view, const Pair& pair, const std::string& words) {
  const auto& tried = view.journal.tried();
  std::string text = view.vocabulary.changes(tried[pair.slow].point, tried[pair.fast].point) + " gave " +
                     fmt::format("{:.2f}x", pair.speedup);
  if (!words.empty()) text += ": " + words;
  return one_line(std::move(text));
}

Result<std::vector<std::string>> read_experience(const std::string& path, const std::string& target,
                                                 size_t most) {
  std::vector<std::string> lessons;
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) {
    const auto record = parse_json(line);
    if (!record.has_value() || text_of(*record, "lesson").empty())
      return data_loss("policy llm: the file of option 'experience', " + path + ", has a damaged line");
    if (text_of(*record, "target") != target) continue;
    lessons.insert(lessons.begin(), one_line(text_of(*record, "lesson")));
  }
  lessons.resize(std::min(lessons.size(), most));
  return lessons;
}

Status write_experience(const std::string& path, const std::string& target,
                        const std::vector<std::string>& lessons) {
  std::string lines;
  for (const std::string& lesson : lessons)
    lines += canonical({{"target", target}, {"lesson", lesson}}) + "\n";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  bool good = file >= 0 && ::flock(file, LOCK_EX) == 0;
  good = good && ::write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()) &&
         ::fsync(file) == 0;
  if (file >= 0) ::close(file);
  return good ? Status()
              : data_loss("policy llm: the file of option 'experience', " + path + ", cannot be written");
}

}  // namespace zomboss::policies::llm
