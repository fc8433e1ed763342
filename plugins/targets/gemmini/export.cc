#include "plugins/targets/gemmini/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <vector>

#include "plugins/targets/gemmini/c_command.h"
#include "plugins/targets/gemmini/program.h"
#include "plugins/targets/gemmini/trace.h"

namespace zomboss::gemmini {
namespace {

// Longer programs are issued from a table.
constexpr size_t kUnrolledCommands = 4096;

constexpr std::string_view kPreamble = R"(
#include <stdint.h>
#include <stdio.h>

#ifndef GEMMINI_H
#define GEMMINI_H "include/gemmini.h"
#endif
#include GEMMINI_H

#ifndef DIM
#error "gemmini.h must define DIM"
#endif
)";

// The vendor's macros do not tell the compiler that the accelerator writes memory.
constexpr std::string_view kEnd = R"(  gemmini_fence();
  __asm__ volatile("" : : : "memory"); /* what the accelerator wrote is read anew */
}
)";

constexpr std::string_view kMain = R"(
int main(void) {
  gemmini_flush(0);
  run_kernel();
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
    if (OUTPUT[i] != expected[i]) {
      printf("FAIL: element %d is %d, expected %d\n", (int)i, (int)OUTPUT[i], (int)expected[i]);
      return 1;
    }
  }
  printf("PASS: %d elements\n", (int)(sizeof expected / sizeof expected[0]));
  return 0;
}
)";

uint32_t element_bytes(const wire::BufferT& buffer) {
  const bool wide = buffer.type && buffer.type->dtype == wire::DType::S32 && buffer.bytes % 4 == 0;
  return wide ? 4 : 1;
}

int32_t element(const std::vector<uint8_t>& data, size_t index, uint32_t bytes) {
  if (bytes == 1) return static_cast<int8_t>(data[index]);
  uint32_t value = 0;
  for (uint32_t i = 4; i-- > 0;) value = value << 8 | data[index * 4 + i];
  return static_cast<int32_t>(value);
}

void write_values(std::string& text, const std::vector<uint8_t>& data, uint32_t bytes) {
  auto out = std::back_inserter(text);
  for (size_t i = 0; i < data.size() / bytes; ++i) {
    const int32_t value = element(data, i, bytes);
    // The lowest int32 is no literal in C.
    if (value == INT32_MIN)
      fmt::format_to(out, "{}(-2147483647 - 1),", i % 24 == 0 ? "\n  " : " ");
    else
      fmt::format_to(out, "{}{},", i % 24 == 0 ? "\n  " : " ", value);
  }
}

Status write_array(std::string& text, std::string_view declaration, const std::vector<uint8_t>& data,
                   const wire::BufferT& buffer) {
  if (data.size() != buffer.bytes)
    return invalid_argument(fmt::format("gemmini: '{}' has {} bytes in the program, {} in the data",
                                        buffer.name, buffer.bytes, data.size()));
  text += declaration;
  text += " = {";
  write_values(text, data, element_bytes(buffer));
  text += "\n};\n";
  return {};
}

class CWriter {
 public:
  CWriter(const wire::ProgramT& program, std::string_view workload, const Machine& machine)
      : program_(program), workload_(workload), machine_(machine) {}

  Result<std::string> run(const wire::TensorsT& inputs, const wire::TensorsT& expected) {
    ZB_ASSIGN(commands_, unpack(program_.code));
    text_ = fmt::format(
        "/* Gemmini kernel of workload {} ({}) for target description {}: {} commands.\n"
        " * Compile against the vendor's gemmini.h of a {} x {} int8 build; prints PASS or FAIL. */\n",
        comment_safe(workload_), comment_safe(program_.workload), comment_safe(program_.spec_hash),
        commands_.size(), machine_.dim, machine_.dim);
    text_ += kPreamble;
    text_ += fmt::format("#if DIM != {0}\n#error \"this kernel is for DIM {0}\"\n#endif\n\n", machine_.dim);
    ZB_TRY(write_buffers(inputs, expected));
    ZB_TRY(commands_.size() <= kUnrolledCommands ? write_unrolled() : write_table());
    text_ += kMain;
    return std::move(text_);
  }

 private:
  static std::string comment_safe(std::string_view text) {
    std::string result;
    for (char c : text) result += (c < ' ' || c == '*' || c == '\\') ? '_' : c;
    return result;
  }

  Status write_buffers(const wire::TensorsT& inputs, const wire::TensorsT& expected) {
    bool has_output = false;
    std::string names;
    for (size_t i = 0; i < program_.buffers.size(); ++i) {
      const wire::BufferT& buffer = *program_.buffers[i];
      const char* type = element_bytes(buffer) == 4 ? "int32_t" : "int8_t";
      const auto count = std::max<uint64_t>(buffer.bytes / element_bytes(buffer), 1);
      const std::string name = c_buffer_name(program_, i);
      names += fmt::format("{}(void *){}", names.empty() ? "" : ", ", name);
      const std::string declaration =
          fmt::format("static {} {}[{}] __attribute__((aligned(64)))", type, name, count);
      text_ += fmt::format("/* {} */\n", comment_safe(buffer.name));
      if (buffer.role == wire::BufferRole::Input && buffer.bytes > 0) {
        if (buffer.index >= inputs.tensors.size())
          return invalid_argument(fmt::format("gemmini: input {} is not given", buffer.index));
        ZB_TRY(write_array(text_, declaration, inputs.tensors[buffer.index]->data, buffer));
      } else if (buffer.role == wire::BufferRole::Constant && buffer.bytes > 0) {
        ZB_TRY(write_array(text_, declaration, buffer.data, buffer));
      } else {
        text_ += declaration + ";\n";
      }
      if (buffer.role != wire::BufferRole::Output || has_output) continue;
      has_output = true;
      if (buffer.index >= expected.tensors.size())
        return invalid_argument(fmt::format("gemmini: expected output {} is not given", buffer.index));
      ZB_TRY(write_array(text_,
                         fmt::format("#define OUTPUT {}\nstatic const {} expected[{}]", name, type, count),
                         expected.tensors[buffer.index]->data, buffer));
    }
    if (!has_output) return invalid_argument("gemmini: the program has no output to check");
    buffer_names_ = std::move(names);
    return {};
  }

  Status write_unrolled() {
    text_ += "\nstatic void run_kernel(void) {\n";
    for (const Command& command : commands_) {
      ZB_ASSIGN(const std::string statement, c_statement(program_, command));
      text_ += "  " + statement + "\n";
    }
    text_ += kEnd;
    return {};
  }

  // A register that is an address is its offset into a buffer.
  Status write_table() {
    text_ += fmt::format("\nstatic void *const buffers[] = {{{}}};\n", buffer_names_);
    text_ += "struct command {\n  int16_t funct, buffer1, buffer2;\n  uint64_t rs1, rs2;\n};\n";
    text_ += "static const struct command commands[] = {\n";
    auto out = std::back_inserter(text_);
    std::set<uint32_t> functs;
    for (const Command& command : commands_) {
      ZB_ASSIGN(const CWords words, c_words(program_, command));
      fmt::format_to(out, "  {{{}, {}, {}, 0x{:x}u, 0x{:x}u}},\n", command.funct, words.rs1.buffer,
                     words.rs2.buffer, words.rs1.value, words.rs2.value);
      functs.insert(command.funct);
    }
    text_ += "};\n\n";
    text_ += "static uint64_t register_word(int16_t buffer, uint64_t value) {\n";
    text_ += "  return buffer < 0 ? value : (uint64_t)(uintptr_t)buffers[buffer] + value;\n}\n\n";
    // The funct is part of the instruction word.
    text_ += "static void issue(const struct command *c) {\n";
    text_ += "  const uint64_t rs1 = register_word(c->buffer1, c->rs1);\n";
    text_ += "  const uint64_t rs2 = register_word(c->buffer2, c->rs2);\n";
    text_ += "  switch (c->funct) {\n";
    for (const uint32_t funct : functs) {
      if (static_cast<Funct>(funct) == Funct::kFence) continue;
      fmt::format_to(out, "    case {0}: ROCC_INSTRUCTION_RS1_RS2(XCUSTOM_ACC, rs1, rs2, {0}); break;\n",
                     funct);
    }
    text_ += "    default: gemmini_fence(); break;\n  }\n}\n\nstatic void run_kernel(void) {\n";
    text_ += "  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) issue(&commands[i]);\n";
    text_ += kEnd;
    return {};
  }

  const wire::ProgramT& program_;
  std::string_view workload_;
  const Machine& machine_;
  std::vector<Command> commands_;
  std::string text_;
  std::string buffer_names_;
};

}  // namespace

Result<std::string> write_c(const wire::ProgramT& program, std::string_view workload, const Machine& machine,
                            const wire::TensorsT& inputs, const wire::TensorsT& expected) {
  return CWriter(program, workload, machine).run(inputs, expected);
}

Result<wire::FilesT> export_files(const wire::ProgramT& program, std::string_view workload,
                                  const Machine& machine, const wire::TensorsT& inputs,
                                  const wire::TensorsT& expected) {
  ZB_ASSIGN(const std::vector<Command> commands, unpack(program.code));
  ZB_ASSIGN(const std::string c, write_c(program, workload, machine, inputs, expected));
  wire::FilesT files;
  const auto add = [&](const char* path, const std::string& content, const char* purpose, bool importable) {
    auto file = std::make_unique<wire::FileT>();
    file->path = path;
    file->content.assign(content.begin(), content.end());
    file->purpose = purpose;
    file->importable = importable;
    files.files.push_back(std::move(file));
  };
  add("kernel.trace", write_trace(program, commands, workload, machine),
      "the RoCC commands, one a line; this program reads it back", true);
  add("kernel.c", c, "C with the vendor's intrinsics, its input data and a check of the result", false);
  return files;
}

}  // namespace zomboss::gemmini
