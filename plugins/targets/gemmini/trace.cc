#include "plugins/targets/gemmini/trace.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "plugins/targets/gemmini/command_check.h"
#include "plugins/targets/gemmini/program.h"

namespace zomboss::gemmini {
namespace {

constexpr std::array<std::string_view, 4> kRoles = {"input", "output", "constant", "scratch"};
constexpr size_t kMaxWords = 8;

// The first words of a line; the last one holds all that is left.
std::vector<std::string_view> words_of(std::string_view line, size_t limit = kMaxWords) {
  std::vector<std::string_view> words;
  while (words.size() < limit) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) break;
    line.remove_prefix(begin);
    size_t end = words.size() + 1 == limit ? line.find_last_not_of(" \t\r") + 1 : line.find_first_of(" \t\r");
    if (end == std::string_view::npos) end = line.size();
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

std::optional<uint64_t> number(std::string_view word, int base) {
  if (word.starts_with("0x")) {
    word.remove_prefix(2);
    base = 16;
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

class TraceReader {
 public:
  TraceReader(wire::ProgramT blank, const Machine& machine, std::string_view file_name)
      : machine_(machine), file_name_(file_name), program_(std::move(blank)) {}

  Result<wire::ProgramT> run(std::string_view text) {
    program_.notes.clear();
    while (!text.empty()) {
      ++line_;
      const size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      ZB_TRY(line.starts_with("#") ? read_header(line.substr(1)) : read_command(line));
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    if (commands_.empty()) return wrong("the trace has no commands");
    program_.code = pack(commands_);
    add_notes(program_, commands_);
    return std::move(program_);
  }

 private:
  template <typename... Args>
  Status wrong(fmt::format_string<Args...> text, Args&&... args) const {
    return invalid_argument(
        fmt::format("{}:{}: {}", file_name_, line_, fmt::format(text, std::forward<Args>(args)...)));
  }

  Status read_header(std::string_view line) {
    const auto words = words_of(line);
    if (words.empty()) return {};
    if (words[0] == "spec" && (words.size() != 2 || words[1] != program_.spec_hash))
      return wrong("the kernel was made for target description {}, this one is {}; use the same parameters",
                   words.size() > 1 ? words[1] : "(none)", program_.spec_hash);
    if (words[0] == "workload" && (words.size() < 2 || words[1] != program_.workload))
      return wrong("the kernel is for workload {}, this one is {}", words.size() > 1 ? words[1] : "(none)",
                   program_.workload);
    if (words[0] == "buffer") return read_buffer(line);
    return {};
  }

  Status read_buffer(std::string_view line) {
    if (!commands_.empty()) return wrong("buffers stand before the first command");
    if (!own_buffers_) std::swap(program_.buffers, workload_buffers_);
    own_buffers_ = true;
    const auto words = words_of(line, 7);
    if (words.size() < 5) return wrong("a buffer line has role, index, address, bytes, type and name");
    const auto index = number(words[2], 10), address = number(words[3], 16), bytes = number(words[4], 10);
    size_t role = 0;
    while (role < kRoles.size() && kRoles[role] != words[1]) ++role;
    if (role == kRoles.size())
      return wrong("'{}' is no role; input, output, constant and scratch are", words[1]);
    if (!index || !address || !bytes || *bytes > uint64_t{1} << 31 || *address > uint64_t{1} << 48)
      return wrong("index, address or size of the buffer is no number in range");
    auto buffer = std::make_unique<wire::BufferT>();
    if (static_cast<wire::BufferRole>(role) == wire::BufferRole::Scratch) {
      buffer->type = std::make_unique<wire::TensorTypeT>();
      buffer->type->dtype = wire::DType::U8;
      buffer->type->dims = {static_cast<int64_t>(*bytes)};
    } else {
      const wire::BufferT* own = nullptr;
      for (const auto& each : workload_buffers_)
        if (each->role == static_cast<wire::BufferRole>(role) && each->index == *index) own = each.get();
      if (own == nullptr) return wrong("the workload has no {} {}", words[1], *index);
      if (own->bytes != *bytes)
        return wrong("{} {} has {} bytes in the workload, {} here", words[1], *index, own->bytes, *bytes);
      buffer->type = std::make_unique<wire::TensorTypeT>(*own->type);
      buffer->data = own->data;
      buffer->name = own->name;
    }
    if (buffer->name.empty())
      buffer->name = words.size() > 6 ? std::string(words[6]) : fmt::format("buffer_{}", line_);
    buffer->role = static_cast<wire::BufferRole>(role);
    buffer->index = static_cast<uint32_t>(*index);
    buffer->address = *address;
    buffer->bytes = *bytes;
    for (const auto& other : program_.buffers) {
      if (*address < other->address + other->bytes && other->address < *address + *bytes)
        return wrong("the buffer overlaps '{}'", other->name);
      if (other->role == buffer->role && other->index == buffer->index &&
          buffer->role != wire::BufferRole::Scratch)
        return wrong("{} {} is placed a second time", words[1], *index);
    }
    program_.buffers.push_back(std::move(buffer));
    return {};
  }

  Status read_command(std::string_view line) {
    const auto words = words_of(line);
    if (words.empty()) return {};
    if (commands_.empty()) ZB_TRY(check_buffers());
    if (words.size() != 3) return wrong("expected 'funct rs1 rs2', found {} words", words.size());
    const auto funct = number(words[0], 10), rs1 = number(words[1], 16), rs2 = number(words[2], 16);
    if (!funct || *funct > 127) return wrong("'{}' is no funct in 0..127", words[0]);
    if (!rs1 || !rs2) return wrong("'{}' is no 64-bit hexadecimal number", rs1 ? words[2] : words[1]);
    const Command command{static_cast<uint32_t>(*funct), *rs1, *rs2};
    if (!check_) check_.emplace(machine_, program_);
    if (const auto why = check_->next(command)) return wrong("{}: {}", disassemble(command), *why);
    commands_.push_back(command);
    return {};
  }

  // Every input, output and constant has its place before the first command.
  Status check_buffers() const {
    for (const auto& own : workload_buffers_) {
      if (own->role == wire::BufferRole::Scratch) continue;
      bool placed = false;
      for (const auto& each : program_.buffers)
        placed = placed || (each->role == own->role && each->index == own->index);
      if (!placed)
        return wrong("no buffer line places {} {}", kRoles[static_cast<size_t>(own->role)], own->index);
    }
    return {};
  }

  const Machine& machine_;
  std::string_view file_name_;
  wire::ProgramT program_;
  std::vector<std::unique_ptr<wire::BufferT>> workload_buffers_;  // as they came, once lines place others
  std::vector<Command> commands_;
  std::optional<CommandCheck> check_;
  bool own_buffers_ = false;
  size_t line_ = 0;
};

}  // namespace

std::string write_trace(const wire::ProgramT& program, std::span<const Command> commands,
                        std::string_view workload, const Machine& machine) {
  std::string text = fmt::format("# gemmini kernel trace 1\n# workload {} {}\n# spec {}\n", program.workload,
                                 workload, program.spec_hash);
  const std::pair<const char*, uint32_t> params[] = {{"DIM", machine.dim},
                                                     {"SPAD_ROWS", machine.scratchpad_rows},
                                                     {"BANKS", machine.scratchpad_banks},
                                                     {"ACC_ROWS", machine.accumulator_rows},
                                                     {"ACC_BANKS", machine.accumulator_banks},
                                                     {"MAX_BYTES", machine.max_move_bytes}};
  auto out = std::back_inserter(text);
  for (const auto& [name, value] : params) fmt::format_to(out, "# param {} {}\n", name, value);
  for (const auto& buffer : program.buffers)
    fmt::format_to(out, "# buffer {} {} {:#x} {} {} {}\n", kRoles[static_cast<size_t>(buffer->role)],
                   buffer->index, buffer->address, buffer->bytes,
                   buffer->type ? type_text(*buffer->type) : "u8[]", buffer->name);
  for (const Command& command : commands)
    fmt::format_to(out, "{} {:016x} {:016x}\n", command.funct, command.rs1, command.rs2);
  return text;
}

Result<wire::ProgramT> read_trace(wire::ProgramT blank, const Machine& machine, std::string_view file_name,
                                  std::string_view text) {
  return TraceReader(std::move(blank), machine, file_name).run(text);
}

}  // namespace zomboss::gemmini
