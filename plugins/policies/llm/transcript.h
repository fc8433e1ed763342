// The record of a run's calls: JSON lines, one for each attempt, durable before its answer is used. A new run
// appends; a resumed or replayed one takes its answers from here in their order.
//
// Records by "kind":
// - attempt: one request and what came back; ChatClient writes it
// - capabilities: what the server was found to do
// - experience: what the run knew from others at its start
// - turn: the end of a proposal. "stop": a budget ended the search; "cut": the proposal was made of what was
//   there when server, budget or time failed. Failures after the last one may be tried again
// - branch: the records from number "keep" on are superseded: the run went another way from there
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "plugins/policies/llm/json_text.h"
#include "zomboss/sdk/status.h"

namespace zomboss::policies::llm {

enum class ReplayMode { kLive, kStrict, kLenient };

class Transcript {
 public:
  Transcript() = default;  // keeps nothing
  ~Transcript();
  Transcript(Transcript&& other) noexcept;
  Transcript& operator=(Transcript&& other) noexcept;

  // Live: reads `path` when it exists and appends to it; an empty path keeps nothing. Replay: reads `path`,
  // which must exist, and writes nothing. A torn last line is cut off; any other damage is data loss with its
  // line.
  static Result<Transcript> open(ReplayMode mode, const std::string& path);

  // The recorded attempt for this request, or nothing when it must be made. Strict replay: failed
  // precondition naming the first difference when the record is of another request, or when there is none.
  // Live: at another request what follows is superseded.
  Result<std::optional<Json>> next_attempt(const Json& request, const std::string& where);
  // The next record when it is of that kind.
  std::optional<Json> next_note(std::string_view kind);
  // Whether a recorded attempt follows; of this very request.
  bool attempt_follows() const;
  bool attempt_follows(const Json& request) const;
  // The next record, null at the end.
  const Json& peek() const;
  bool at_end() const { return position_ >= records_.size(); }
  bool live() const { return mode_ == ReplayMode::kLive; }

  // Data loss when it cannot be written.
  Status append(const Json& record);

  size_t position() const { return position_; }
  // After load: the records that the saved policy had used. False when there are fewer and nothing may be
  // made live.
  bool seek(size_t position);

 private:
  Status write_line(const Json& record);

  ReplayMode mode_ = ReplayMode::kLive;
  int file_ = -1;
  off_t bytes_ = 0;            // of the file
  std::vector<Json> records_;  // read at open or written since
  size_t position_ = 0;        // records used or written
};

// 16 hex digits.
std::string request_hash(const Json& request);

}  // namespace zomboss::policies::llm
