#include "plugins/targets/plena/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "plugins/targets/plena/lower/lowerer.h"
#include "plugins/targets/plena/program.h"
#include "plugins/targets/plena/sim/assembler.h"
#include "zomboss/kit/float_format.h"

namespace zomboss::plena {
namespace {

constexpr std::string_view kMark = ";@";

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  size_t at = 0;
  while (at < line.size()) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r')) ++at;
    size_t end = at;
    while (end < line.size() && line[end] != ' ' && line[end] != '\t' && line[end] != '\r') ++end;
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::optional<int64_t> number_of(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class DirectiveParser {
 public:
  DirectiveParser(const Problem& problem, std::string_view name, wire::ProgramT& program)
      : problem_(problem), name_(name), program_(program) {}

  Status run(std::string_view text) {
    size_t at = 0;
    while (at < text.size()) {
      const size_t end = std::min(text.find('\n', at), text.size());
      std::string_view line = text.substr(at, end - at);
      ++line_;
      const size_t start = line.find_first_not_of(" \t");
      if (start != std::string_view::npos && line.substr(start).starts_with(kMark)) {
        ZB_TRY(directive(line, start + kMark.size()));
      } else if (start != std::string_view::npos && line[start] != ';' && line[start] != '\r' &&
                 !line.substr(start).starts_with("//")) {
        ++instructions_;
      }
      at = end + 1;
    }
    finish_constant();
    return {};
  }

 private:
  Status error(std::string_view line, std::string_view word, std::string why) const {
    const auto column = word.data() == nullptr ? 1 : word.data() - line.data() + 1;
    return invalid_argument(fmt::format("{}:{}:{}: error: {}", name_, line_, column, why));
  }

  Result<std::vector<int64_t>> list(std::string_view line, std::string_view word,
                                    std::string_view text) const {
    std::vector<int64_t> numbers;
    while (true) {
      const size_t comma = std::min(text.find(','), text.size());
      const auto number = number_of(text.substr(0, comma));
      if (!number) return error(line, word, fmt::format("'{}' is not a list of whole numbers", text));
      numbers.push_back(*number);
      if (comma == text.size()) return numbers;
      text.remove_prefix(comma + 1);
    }
  }

  static std::unique_ptr<wire::AttributeT> layout(std::string key, std::vector<int64_t> ints) {
    auto attribute = std::make_unique<wire::AttributeT>();
    attribute->key = std::move(key);
    attribute->ints = std::move(ints);
    return attribute;
  }

  void finish_constant() {
    if (constant_ != nullptr) constant_->data.resize(constant_->bytes, 0);
    constant_ = nullptr;
  }

  Status directive(std::string_view line, size_t from) {
    const std::vector<std::string_view> words = words_of(line.substr(from));
    if (words.empty())
      return error(line, {},
                   "an empty directive; there are input, constant, data, scratch, fp, output and region");
    const std::string_view kind = words[0];
    if (kind == "data") return data(line, words);
    finish_constant();
    if (kind == "fp") return slots(line, words);
    if (kind == "region") {
      auto note = layout("region", {instructions_});
      note->text = words.size() > 1 ? std::string(words[1]) : "";
      program_.notes.push_back(std::move(note));
      return {};
    }
    if (kind != "input" && kind != "constant" && kind != "scratch" && kind != "output")
      return error(
          line, kind,
          fmt::format("no directive '{}'; there are input, constant, data, scratch, fp, output and region",
                      kind));
    return buffer(line, kind, words);
  }

  Status buffer(std::string_view line, std::string_view kind, const std::vector<std::string_view>& words) {
    if (words.size() < 2)
      return error(
          line, kind,
          fmt::format("'{}' needs a {}", kind, kind == "input" || kind == "output" ? "number" : "name"));
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->name = std::string(words[1]);
    const bool is_input = kind == "input", is_output = kind == "output";
    buffer->role = is_input             ? wire::BufferRole::Input
                   : is_output          ? wire::BufferRole::Output
                   : kind == "constant" ? wire::BufferRole::Constant
                                        : wire::BufferRole::Scratch;
    buffer->memory = is_output ? "vram" : "hbm";
    if (is_input || is_output) {
      const auto index = number_of(words[1]);
      const size_t count = is_input ? problem_.input_types.size() : problem_.output_types.size();
      if (!index || *index < 0 || *index >= static_cast<int64_t>(count))
        return error(line, words[1], fmt::format("the workload has {}s 0..{}", kind, count - 1));
      buffer->index = static_cast<uint32_t>(*index);
      const auto& types = is_input ? problem_.input_types : problem_.output_types;
      buffer->type = std::make_unique<wire::TensorTypeT>(types[buffer->index]);
      buffer->name = is_input ? problem_.input_names[buffer->index] : fmt::format("output {}", *index);
    }
    for (size_t i = 2; i < words.size(); ++i) {
      const size_t equals = words[i].find('=');
      if (equals == std::string_view::npos)
        return error(line, words[i], fmt::format("'{}' is not KEY=NUMBERS", words[i]));
      const std::string key(words[i].substr(0, equals));
      ZB_ASSIGN(std::vector<int64_t> numbers, list(line, words[i], words[i].substr(equals + 1)));
      if (key == buffer->memory) {
        if (numbers.size() != 1 || numbers[0] < 0)
          return error(line, words[i], fmt::format("{} is one address", key));
        buffer->address = static_cast<uint64_t>(numbers[0]);
      } else if ((is_output && (key == "panel" || key == "dims" || key == "order")) ||
                 (!is_output && key == "mxfp8")) {
        buffer->layout.push_back(layout(key, std::move(numbers)));
      } else {
        return error(line, words[i],
                     fmt::format("no '{}' for {}; there are {}", key, kind,
                                 is_output ? "vram, panel, dims and order" : "hbm and mxfp8"));
      }
    }
    if (!is_output) ZB_TRY(size_buffer(line, words[0], *buffer));
    program_.buffers.push_back(std::move(buffer));
    if (kind == "constant") constant_ = program_.buffers.back().get();
    return {};
  }

  Status size_buffer(std::string_view line, std::string_view word, wire::BufferT& buffer) const {
    constexpr int64_t kLimit = int64_t{1} << 28;  // as for all that a file describes
    int64_t elements = 1;
    if (buffer.layout.empty() || buffer.layout[0]->ints.size() != 6)
      return error(line, word, "mxfp8=BATCH,ROWS,COLS,PADDED_ROWS,PADDED_COLS,BLOCK is missing");
    const auto& l = buffer.layout[0]->ints;
    for (const int64_t size : {l[0], l[3], l[4]}) {
      if (size < 1 || size > kLimit || elements > kLimit / size)
        return error(line, word, "a size is out of range");
      elements *= size;
    }
    if (l[5] < 1) return error(line, word, "a size is out of range");
    buffer.bytes = static_cast<uint64_t>(elements + elements / l[5]);
    return {};
  }

  Status data(std::string_view line, const std::vector<std::string_view>& words) {
    if (constant_ == nullptr) return error(line, words[0], "data belongs below a constant");
    if (words.size() != 3) return error(line, words[0], "write: data OFFSET HEX");
    const auto offset = number_of(words[1]);
    const std::string_view hex = words[2];
    if (!offset || *offset < 0 || hex.size() % 2 != 0 ||
        static_cast<uint64_t>(*offset) + hex.size() / 2 > constant_->bytes)
      return error(line, words[1],
                   fmt::format("the bytes do not fit the {} of the constant", constant_->bytes));
    constant_->data.resize(constant_->bytes, 0);
    for (size_t i = 0; i < hex.size(); i += 2) {
      uint8_t byte = 0;
      const auto [end, bad] = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
      if (bad != std::errc() || end != hex.data() + i + 2)
        return error(line, hex.substr(i), "not a hexadecimal byte");
      constant_->data[static_cast<size_t>(*offset) + i / 2] = byte;
    }
    return {};
  }

  Status slots(std::string_view line, const std::vector<std::string_view>& words) {
    std::vector<float> values;
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string text(words[i]);
      char* end = nullptr;
      const float value = std::strtof(text.c_str(), &end);
      if (end != text.c_str() + text.size())
        return error(line, words[i], fmt::format("'{}' is not a number", text));
      values.push_back(value);
    }
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->name = "fp constants";
    buffer->role = wire::BufferRole::Constant;
    buffer->memory = "fpsram";
    for (const float value : values) {
      const uint16_t half = half_of(value);
      buffer->data.push_back(static_cast<uint8_t>(half));
      buffer->data.push_back(static_cast<uint8_t>(half >> 8));
    }
    buffer->bytes = buffer->data.size();
    program_.buffers.push_back(std::move(buffer));
    return {};
  }

  const Problem& problem_;
  std::string_view name_;
  wire::ProgramT& program_;
  wire::BufferT* constant_ = nullptr;
  size_t line_ = 0;
  int64_t instructions_ = 0;
};

}  // namespace

Result<wire::ProgramT> parse_program(const Problem& problem, const Machine& machine,
                                     const std::string& spec_hash, std::string_view name,
                                     std::string_view text) {
  wire::ProgramT program;
  program.target = "plena";
  program.spec_hash = spec_hash;
  program.workload = problem.workload;
  program.format = kProgramFormat;
  ZB_TRY(DirectiveParser(problem, name, program).run(text));
  ZB_ASSIGN(const std::vector<uint32_t> words, assemble(text, name));
  for (const uint32_t word : words) {
    for (int shift = 0; shift < 32; shift += 8) program.code.push_back(static_cast<uint8_t>(word >> shift));
  }
  // What the text does not place lies where Candidate-0 has it.
  ZB_ASSIGN(const Lowered lowered, lower_problem(problem, machine, Choices{}));
  ZB_ASSIGN(const wire::ProgramT usual, make_program(problem, lowered, MachineCode{}, spec_hash));
  const auto stated = [&](const wire::BufferT& buffer) {
    return std::any_of(program.buffers.begin(), program.buffers.end(), [&](const auto& each) {
      return each->role == buffer.role && each->index == buffer.index && each->name == buffer.name;
    });
  };
  bool any_output = false;
  for (const auto& each : program.buffers) any_output = any_output || each->role == wire::BufferRole::Output;
  if (!any_output)
    return invalid_argument(fmt::format(
        "{}:1:1: error: the program does not say where its outputs are; add a line like ';@ output 0 vram=0 "
        "panel={}' (rows, tiles, pitch)",
        name,
        fmt::format("{},{},{}", lowered.outputs[0].rows, lowered.outputs[0].tiles,
                    lowered.outputs[0].pitch)));
  for (const auto& buffer : usual.buffers) {
    if (buffer->role == wire::BufferRole::Input && !stated(*buffer))
      program.buffers.push_back(std::make_unique<wire::BufferT>(*buffer));
    if (buffer->role != wire::BufferRole::Output) continue;
    for (const auto& each : program.buffers) {  // dims and order are the workload's unless stated
      if (each->role != wire::BufferRole::Output || each->index != buffer->index) continue;
      for (const auto& attribute : buffer->layout) {
        const bool has = std::any_of(each->layout.begin(), each->layout.end(),
                                     [&](const auto& own) { return own->key == attribute->key; });
        if (!has) each->layout.push_back(std::make_unique<wire::AttributeT>(*attribute));
      }
    }
  }
  std::stable_sort(program.buffers.begin(), program.buffers.end(), [](const auto& a, const auto& b) {
    const auto rank = [](const auto& each) {
      return each->role == wire::BufferRole::Output ? each->index + 1 : 0;
    };
    return rank(a) < rank(b);
  });
  ZB_TRY(read_program(program, machine).status());
  return program;
}

namespace {

std::string joined(const std::vector<int64_t>& numbers) {
  return fmt::format("{}", fmt::join(numbers, ","));
}

// A name without blanks, which the directives need.
std::string word(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }, '_');
  return name;
}

void print_data(const wire::BufferT& buffer, std::string& text) {
  constexpr size_t kLine = 64;
  for (size_t at = 0; at < buffer.data.size(); at += kLine) {
    const size_t end = std::min(at + kLine, buffer.data.size());
    if (std::all_of(buffer.data.begin() + static_cast<std::ptrdiff_t>(at),
                    buffer.data.begin() + static_cast<std::ptrdiff_t>(end),
                    [](uint8_t byte) { return byte == 0; }))
      continue;
    text += fmt::format(";@ data {} ", at);
    for (size_t i = at; i < end; ++i) text += fmt::format("{:02x}", buffer.data[i]);
    text += '\n';
  }
}

void print_buffer(const wire::BufferT& buffer, std::string& text) {
  if (buffer.memory == "fpsram") {
    text += ";@ fp";
    for (size_t i = 0; i + 1 < buffer.data.size(); i += 2)
      text += fmt::format(
          " {}", kit::half_to_float(static_cast<uint16_t>(buffer.data[i] | buffer.data[i + 1] << 8)));
    text += '\n';
    return;
  }
  switch (buffer.role) {
    case wire::BufferRole::Input:
      text += fmt::format(";@ input {}", buffer.index);
      break;
    case wire::BufferRole::Output:
      text += fmt::format(";@ output {}", buffer.index);
      break;
    case wire::BufferRole::Constant:
      text += fmt::format(";@ constant {}", word(buffer.name));
      break;
    case wire::BufferRole::Scratch:
      text += fmt::format(";@ scratch {}", word(buffer.name));
      break;
  }
  text += fmt::format(" {}={}", buffer.memory, buffer.address);
  for (const auto& attribute : buffer.layout) {
    if (!attribute->ints.empty()) text += fmt::format(" {}={}", attribute->key, joined(attribute->ints));
  }
  text += '\n';
  if (buffer.role == wire::BufferRole::Constant) print_data(buffer, text);
}

}  // namespace

Result<std::string> print_program(const wire::ProgramT& program, const Machine& machine) {
  ZB_ASSIGN(const LoadedProgram loaded, read_program(program, machine));
  std::string text =
      fmt::format("; {} on PLENA. Lines that begin with ;@ say where tensors are.\n", program.workload);
  for (const auto& buffer : program.buffers) print_buffer(*buffer, text);
  size_t region = 0;
  for (size_t pc = 0; pc < loaded.words.size(); ++pc) {
    while (region < loaded.regions.size() && loaded.regions[region].second == pc)
      text += fmt::format(";@ region {}\n", word(loaded.regions[region++].first));
    text += disassemble(loaded.words[pc]);
    text += '\n';
  }
  return text;
}

}  // namespace zomboss::plena
