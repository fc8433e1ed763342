#include "plugins/policies/llm/transcript.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "plugins/policies/common/state_bytes.h"

namespace zomboss::policies::llm {
namespace {

struct Lines {
  std::vector<Json> records;
  size_t whole_bytes = 0;  // without a torn last line
};

Result<Lines> read_lines(const std::string& text) {
  Lines lines;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;
    ++number;
    auto record = parse_json(std::string_view(text).substr(begin, end - begin));
    if (!record.has_value() || !record->is_object())
      return data_loss("the transcript's line " + std::to_string(number) + " is damaged");
    begin = end + 1;
    lines.whole_bytes = begin;
    if (text_of(*record, "kind") == "branch") {
      const auto keep = count_of(*record, "keep");
      if (!keep.has_value() || *keep > lines.records.size())
        return data_loss("the transcript's line " + std::to_string(number) + " is damaged");
      lines.records.resize(*keep);
      continue;
    }
    lines.records.push_back(*std::move(record));
  }
  return lines;
}

Status write_error(const char* what) {
  return data_loss(std::string("the transcript cannot be ") + what + ": " + std::strerror(errno));
}

}  // namespace

Transcript::~Transcript() {
  if (file_ >= 0) ::close(file_);
}

Transcript::Transcript(Transcript&& other) noexcept {
  *this = std::move(other);
}

Transcript& Transcript::operator=(Transcript&& other) noexcept {
  std::swap(mode_, other.mode_);
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  std::swap(records_, other.records_);
  std::swap(position_, other.position_);
  return *this;
}

Result<Transcript> Transcript::open(ReplayMode mode, const std::string& path) {
  Transcript transcript;
  transcript.mode_ = mode;
  if (path.empty()) {
    if (mode == ReplayMode::kLive) return transcript;
    return failed_precondition(
        "policy llm: a replay needs a transcript: set option 'transcript' to its file");
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) {
    text << file.rdbuf();
  } else if (mode != ReplayMode::kLive) {
    return not_found("policy llm: the transcript to replay cannot be opened");
  }
  ZB_ASSIGN(Lines lines, read_lines(text.str()));
  transcript.records_ = std::move(lines.records);
  if (mode != ReplayMode::kLive) return transcript;
  transcript.file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (transcript.file_ < 0) return write_error("opened");
  if (::ftruncate(transcript.file_, static_cast<off_t>(lines.whole_bytes)) != 0) return write_error("cut");
  transcript.bytes_ = static_cast<off_t>(lines.whole_bytes);
  return transcript;
}

const Json& Transcript::peek() const {
  static const Json kNull;
  return at_end() ? kNull : records_[position_];
}

bool Transcript::attempt_follows() const {
  return text_of(peek(), "kind") == "attempt";
}

bool Transcript::attempt_follows(const Json& request) const {
  return attempt_follows() &&
         (mode_ == ReplayMode::kLenient || member(records_[position_], "request") == request);
}

Result<std::optional<Json>> Transcript::next_attempt(const Json& request, const std::string& where) {
  if (attempt_follows()) {
    const Json& record = records_[position_];
    const Json& recorded = member(record, "request");
    if (mode_ == ReplayMode::kLenient || recorded == request) {
      ++position_;
      return std::optional<Json>(record);
    }
    if (mode_ == ReplayMode::kStrict)
      return failed_precondition("replay: the request of " + where + " differs from the transcript's at " +
                                 first_difference(request, recorded));
  } else if (mode_ != ReplayMode::kLive) {
    return failed_precondition("replay: the transcript has no " +
                               std::string(position_ < records_.size() ? "attempt" : "more attempts") +
                               " for the request of " + where);
  }
  return std::optional<Json>();
}

std::optional<Json> Transcript::next_note(std::string_view kind) {
  if (text_of(peek(), "kind") != kind) return std::nullopt;
  return records_[position_++];
}

Status Transcript::append(const Json& record) {
  if (mode_ != ReplayMode::kLive) return {};
  if (position_ < records_.size()) {
    records_.resize(position_);
    ZB_TRY(write_line({{"kind", "branch"}, {"keep", position_}}));
  }
  ZB_TRY(write_line(record));
  records_.push_back(record);
  ++position_;
  return {};
}

Status Transcript::write_line(const Json& record) {
  if (file_ < 0) return {};
  const std::string line = canonical(record) + "\n";
  for (size_t done = 0; done < line.size();) {
    const ssize_t count = ::write(file_, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const Status error = write_error("written");
      if (::ftruncate(file_, bytes_) != 0)
        return write_error("written, nor cut");  // no torn line in the middle
      return error;
    }
    done += static_cast<size_t>(count);
  }
  bytes_ += static_cast<off_t>(line.size());
  return ::fsync(file_) == 0 ? Status() : write_error("made durable");
}

bool Transcript::seek(size_t position) {
  if (position > records_.size() && mode_ != ReplayMode::kLive) return false;
  if (position > records_.size()) records_.resize(position);
  position_ = position;
  return true;
}

std::string request_hash(const Json& request) {
  constexpr char kHex[] = "0123456789abcdef";
  uint64_t hash = fnv1a(canonical(request));
  std::string text(16, '0');
  for (size_t i = 16; i > 0; hash >>= 4) text[--i] = kHex[hash & 15];
  return text;
}

}  // namespace zomboss::policies::llm
