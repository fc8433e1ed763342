// Internal to the cycle model: remembers what each chunk of a program did to each state of the machine, so
// that a chunk that meets a known state need not be simulated again. Exact: states are compared word by word.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/targets/gemmini/sim/timing.h"
#include "plugins/targets/gemmini/sim/timing_pattern.h"

namespace zomboss::gemmini::timing {

template <typename State>
class Memo {
 public:
  // What is counted along the way.
  struct Totals {
    uint64_t cycles = 0;
    uint64_t commands = 0;
    TimingCounters counters;
  };

  Memo(std::span<const Command> commands, uint64_t granule) : pattern_(commands, granule) {
    advance(kNone, {}, 0);  // nothing comes before the first chunk
  }

  // The number of commands taken at which `visit` is to be called; kNever for none.
  uint64_t wanted() const { return wanted_; }

  // The machine has taken `wanted` commands. `describe` gives its state in words, `snapshot` a copy. Adds to
  // totals and spans what the following chunks do, as far as that is known. Returns the state after them, or
  // null when nothing was skipped.
  template <typename Describe, typename Snapshot>
  const State* visit(Totals& totals, std::vector<Span>& spans, Describe&& describe, Snapshot&& snapshot) {
    const auto& chunks = pattern_.chunks();
    size_t node = node_of(describe(), snapshot);  // kNone for the rest of the way when there are too many
    if (recording_) record(node, totals, spans);
    recording_ = false;
    const size_t first = chunk_;
    while (node != kNone && chunk_ < chunks.size()) {
      const Edge* edge = nodes_[node].find(chunks[chunk_].content);
      if (edge == nullptr) break;
      apply(*edge, totals, spans);
      node = edge->next;
      ++chunk_;
    }
    const State* result = chunk_ == first ? nullptr : &nodes_[node].state;
    (chunk_ == first ? misses_ : hits_) += 1;
    advance(node, totals, spans.size());
    return result;
  }

 private:
  static constexpr size_t kNone = ~size_t{0};
  static constexpr uint64_t kNever = ~uint64_t{0};
  static constexpr size_t kMaxNodes = 1024;

  struct Edge {
    uint32_t content = 0;
    size_t next = 0;
    Totals totals;
    std::vector<Span> spans;  // relative to the start
  };
  struct Node {
    std::vector<uint64_t> words;
    State state;
    std::vector<Edge> edges;
    const Edge* find(uint32_t content) const {
      for (const Edge& edge : edges)
        if (edge.content == content) return &edge;
      return nullptr;
    }
  };
  using Sums = std::array<uint64_t, sizeof(TimingCounters) / sizeof(uint64_t)>;

  static void add(TimingCounters& to, const TimingCounters& from, bool subtract) {
    auto sums = std::bit_cast<Sums>(to);
    const auto more = std::bit_cast<Sums>(from);
    for (size_t n = 0; n < sums.size(); ++n) sums[n] += subtract ? -more[n] : more[n];
    to = std::bit_cast<TimingCounters>(sums);
  }

  // The node of a state, a new one when there is none; kNone when there are too many.
  template <typename Snapshot>
  size_t node_of(std::vector<uint64_t> words, Snapshot&& snapshot) {
    uint64_t hash = words.size();
    for (const uint64_t word : words) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 29;
    }
    const auto [first, last] = by_hash_.equal_range(hash);
    for (auto each = first; each != last; ++each)
      if (nodes_[each->second].words == words) return each->second;
    if (nodes_.size() == kMaxNodes) return kNone;
    by_hash_.emplace(hash, nodes_.size());
    nodes_.push_back({std::move(words), snapshot(), {}});
    return nodes_.size() - 1;
  }

  void record(size_t node, const Totals& totals, const std::vector<Span>& spans) {
    if (node == kNone) return;
    Edge edge = {pattern_.chunks()[chunk_ - 1].content, node, totals, {}};
    edge.totals.cycles -= start_.cycles;
    edge.totals.commands -= start_.commands;
    add(edge.totals.counters, start_.counters, true);
    for (size_t n = start_spans_; n < spans.size(); ++n) {
      Span span = spans[n];
      span.command -= static_cast<uint32_t>(start_.commands);
      span.start -= start_.cycles;
      span.end -= start_.cycles;
      edge.spans.push_back(span);
    }
    nodes_[from_].edges.push_back(std::move(edge));
  }

  static void apply(const Edge& edge, Totals& totals, std::vector<Span>& spans) {
    for (Span span : edge.spans) {
      span.command += static_cast<uint32_t>(totals.commands);
      span.start += totals.cycles;
      span.end += totals.cycles;
      spans.push_back(span);
    }
    totals.cycles += edge.totals.cycles;
    totals.commands += edge.totals.commands;
    add(totals.counters, edge.totals.counters, false);
  }

  // The next visit: after the chunk that comes, which is recorded if it repeats; else before the next one
  // that does. Never again when the states do not repeat.
  void advance(size_t node, const Totals& totals, size_t spans) {
    const auto& chunks = pattern_.chunks();
    wanted_ = kNever;
    if (misses_ > 256 + 4 * hits_ || chunk_ + 1 >= chunks.size()) return;
    recording_ = node != kNone && chunks[chunk_].repeats;
    if (recording_) {
      from_ = node;
      start_ = totals;
      start_spans_ = spans;
    }
    ++chunk_;
    while (!recording_ && !chunks[chunk_].repeats)
      if (++chunk_ == chunks.size()) return;
    wanted_ = chunks[chunk_ - 1].end;
  }

  Pattern pattern_;
  std::vector<Node> nodes_;
  std::unordered_multimap<uint64_t, size_t> by_hash_;
  size_t chunk_ = 0;  // that starts at `wanted_`
  uint64_t wanted_ = kNever;
  bool recording_ = false;
  size_t from_ = 0;
  Totals start_;
  size_t start_spans_ = 0;
  size_t hits_ = 0, misses_ = 0;
};

}  // namespace zomboss::gemmini::timing
