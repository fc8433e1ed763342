// What rounds of the accelopt agent leave behind: pairs of a slower and a faster plan, and the lessons drawn
// from them, in the language of knobs. Lessons may be shared between searches of a target through a file.
#pragma once

#include <string>
#include <vector>

#include "plugins/policies/llm/search_view.h"

namespace zomboss::policies::llm {

// One plan of the planner and the plans that its samples led to; numbers are positions in the journal.
struct Branch {
  size_t parent = 0;
  std::vector<size_t> results;  // verified ones
};

struct Pair {
  size_t slow = 0;
  size_t fast = 0;
  double speedup = 1;  // of fast over slow, above 1
};

// Pairs worth a lesson: of each branch the fastest result if it beats its parent, else the slowest; speed-ups
// above `positive` first, at most topk / 2, the largest first; then slow-downs beyond 1 / `negative`, turned
// round.
std::vector<Pair> select_pairs(const Journal& journal, const std::vector<Branch>& branches,
                               const LlmOptions& options);

// The next beam: the fastest result of each branch, or its parent when there is none, fastest first, no plan
// twice; the fastest plan of all is always in it.
std::vector<size_t> select_beam(const Journal& journal, const std::vector<Branch>& branches, size_t size);

// "tile_m: 16->64, ... gave 1.23x" with the lesson's words, one line.
std::string lesson_text(const SearchView& view, const Pair& pair, const std::string& words);

// Lessons of other searches of the target, newest first, at most `most`. A file that is not there is empty.
Result<std::vector<std::string>> read_experience(const std::string& path, const std::string& target,
                                                 size_t most);
// Appends, durably, under a lock.
Status write_experience(const std::string& path, const std::string& target,
                        const std::vector<std::string>& lessons);

}  // namespace zomboss::policies::llm
