#include "plugins/targets/plena/sim/assembler.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "plugins/targets/plena/sim/isa.h"

namespace zomboss::plena {
namespace {

constexpr std::string_view kSpace = " \t\r\f\v";

// A piece of a line and the column (from 1) where it starts.
struct Piece {
  std::string_view text;
  size_t column = 1;
};

Piece trimmed(Piece piece) {
  const size_t first = piece.text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {{}, piece.column};
  const size_t last = piece.text.find_last_not_of(kSpace);
  return {piece.text.substr(first, last - first + 1), piece.column + first};
}

struct Operand {
  bool is_register = false;
  uint32_t value = 0;
  size_t column = 1;
};

// Assembles one line; knows where it is for messages.
class LineAssembler {
 public:
  LineAssembler(std::string_view name, size_t line) : name_(name), line_(line) {}

  // Nothing when the line holds no instruction.
  Result<std::optional<uint32_t>> assemble(std::string_view line) const;

 private:
  Status error(size_t column, std::string_view message) const {
    return invalid_argument(fmt::format("{}:{}:{}: error: {}", name_, line_, column, message));
  }
  Result<Operand> operand(Piece piece) const;
  Result<std::vector<Operand>> operands(Piece rest) const;
  Result<uint32_t> raw_word(Piece rest) const;
  Result<uint32_t> encode(const InstructionInfo& info, const std::vector<Operand>& operands,
                          size_t column) const;
  Result<uint32_t> encode_operand(const InstructionInfo& info, size_t index, const Operand& operand) const;

  std::string_view name_;
  size_t line_;
};

Result<std::optional<uint32_t>> LineAssembler::assemble(std::string_view line) const {
  line = line.substr(0, std::min(line.find(';'), line.find("//")));
  const Piece all = trimmed({line, 1});
  if (all.text.empty()) return std::optional<uint32_t>();
  const size_t end = std::min(all.text.find_first_of(kSpace), all.text.size());
  const std::string_view mnemonic = all.text.substr(0, end);
  const Piece rest = trimmed({all.text.substr(end), all.column + end});
  if (mnemonic == ".word") {
    ZB_ASSIGN(const uint32_t word, raw_word(rest));
    return std::optional<uint32_t>(word);
  }
  const InstructionInfo* info = find_mnemonic(mnemonic);
  if (info == nullptr) {
    return error(all.column, fmt::format("unknown instruction '{}'; mnemonics are upper case, as in V_ADD_VV",
                                         mnemonic.substr(0, 40)));
  }
  ZB_ASSIGN(const auto list, operands(rest));
  ZB_ASSIGN(const uint32_t word, encode(*info, list, rest.column));
  return std::optional<uint32_t>(word);
}

Result<uint32_t> LineAssembler::raw_word(Piece rest) const {
  std::string_view digits = rest.text;
  if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
  uint32_t word = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), word, 16);
  if (digits.empty() || code != std::errc() || end != digits.data() + digits.size()) {
    return error(rest.column,
                 ".word takes one hexadecimal number of at most 32 bits, as in .word 0x0000000D");
  }
  return word;
}

Result<std::vector<Operand>> LineAssembler::operands(Piece rest) const {
  std::vector<Operand> list;
  if (rest.text.empty()) return list;
  for (;;) {
    const size_t comma = rest.text.find(',');
    ZB_ASSIGN(const Operand one, operand(trimmed({rest.text.substr(0, comma), rest.column})));
    list.push_back(one);
    if (comma == std::string_view::npos) return list;
    rest = {rest.text.substr(comma + 1), rest.column + comma + 1};
  }
}

Result<Operand> LineAssembler::operand(Piece piece) const {
  std::string_view digits = piece.text;
  Operand result{false, 0, piece.column};
  for (const std::string_view prefix : {"gp", "f", "a"}) {
    if (!digits.starts_with(prefix)) continue;
    digits.remove_prefix(prefix.size());
    result.is_register = true;
    break;
  }
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), result.value);
  if (digits.empty() || code != std::errc() || end != digits.data() + digits.size()) {
    return error(piece.column, fmt::format("'{}' is not an operand; write gpN, fN, aN or a decimal number of "
                                           "at most 32 bits",
                                           piece.text.substr(0, 40)));
  }
  if (result.is_register && result.value > 15) {
    return error(piece.column, fmt::format("there is no register {}; numbers go from 0 to 15", piece.text));
  }
  return result;
}

Result<uint32_t> LineAssembler::encode(const InstructionInfo& info, const std::vector<Operand>& operands,
                                       size_t column) const {
  if (operands.size() < info.required || operands.size() > info.operands.size()) {
    const std::string wanted = info.required == info.operands.size()
                                   ? fmt::format("{}", info.required)
                                   : fmt::format("{} or {}", info.required, info.operands.size());
    return error(column, fmt::format("{} takes {} operands, not {}", info.mnemonic, wanted, operands.size()));
  }
  auto word = static_cast<uint32_t>(info.opcode);
  for (size_t index = 0; index < operands.size(); ++index) {
    ZB_ASSIGN(const uint32_t bits, encode_operand(info, index, operands[index]));
    word |= bits;
  }
  return word;
}

Result<uint32_t> LineAssembler::encode_operand(const InstructionInfo& info, size_t index,
                                               const Operand& operand) const {
  const char kind = info.operands[index];
  const bool wants_register = kind == 'g' || kind == 'f' || kind == 'a';
  if (operand.is_register != wants_register) {
    return error(operand.column, fmt::format("operand {} of {} must be {}", index + 1, info.mnemonic,
                                             wants_register ? "a register" : "a decimal number"));
  }
  constexpr int kFieldBits[] = {6, 10, 14, 18, 22};
  int low = kFieldBits[index];
  int bits = 4;
  if (kind == 'i') {
    low = info.layout == Layout::kImm18 ? 14 : 10;
    bits = 32 - low;
  }
  if (operand.value >> bits != 0) {
    return error(
        operand.column,
        fmt::format("{} does not fit operand {} of {}, which has {} bits{}", operand.value, index + 1,
                    info.mnemonic, bits,
                    info.opcode == Opcode::kSAddiInt ? "; load the upper part with S_LUI_INT first" : ""));
  }
  return operand.value << low;
}

std::string operand_text(char kind, uint32_t value) {
  switch (kind) {
    case 'g':
      return fmt::format("gp{}", value);
    case 'f':
      return fmt::format("f{}", value);
    case 'a':
      return fmt::format("a{}", value);
    default:
      return fmt::format("{}", value);
  }
}

}  // namespace

Result<std::vector<uint32_t>> assemble(std::string_view text, std::string_view name) {
  std::vector<uint32_t> words;
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    ZB_ASSIGN(const auto word, LineAssembler(name, line).assemble(text.substr(0, end)));
    if (word.has_value()) words.push_back(*word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string disassemble(uint32_t word) {
  const Fields fields = split_fields(word);
  const InstructionInfo& info = instruction_info(fields.opcode);
  const std::string raw = fmt::format(".word 0x{:08X}", word);
  if (info.mnemonic.empty()) return raw;
  const uint32_t values[] = {fields.rd, fields.rs1, fields.rs2, fields.rs3, fields.function};
  std::string text(info.mnemonic);
  for (size_t index = 0; index < info.operands.size(); ++index) {
    uint32_t value = values[index];
    if (info.operands[index] == 'i') value = info.layout == Layout::kImm18 ? fields.imm18 : fields.imm22;
    text += (index == 0 ? " " : ", ") + operand_text(info.operands[index], value);
  }
  const auto again = LineAssembler({}, 1).assemble(text);
  return again.ok() && *again == word ? text : raw;
}

std::string disassemble_program(std::span<const uint32_t> words) {
  std::string text;
  for (const uint32_t word : words) text += disassemble(word) + "\n";
  return text;
}

Result<std::vector<uint32_t>> parse_mem(std::string_view text, std::string_view name) {
  std::vector<uint32_t> words;
  size_t line = 1;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      ++line;
      start = at + 1;
    }
    if (text[at] == '\n' || kSpace.find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    const size_t end = std::min(text.find_first_of(" \t\r\n\f\v", at), text.size());
    std::string_view digits = text.substr(at, end - at);
    if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
    uint32_t word = 0;
    const auto [stop, code] = std::from_chars(digits.data(), digits.data() + digits.size(), word, 16);
    if (digits.empty() || code != std::errc() || stop != digits.data() + digits.size()) {
      return invalid_argument(
          fmt::format("{}:{}:{}: error: '{}' is not a hexadecimal word of at most 32 bits", name, line,
                      at - start + 1, text.substr(at, std::min<size_t>(end - at, 40))));
    }
    words.push_back(word);
    at = end;
  }
  return words;
}

std::string print_mem(std::span<const uint32_t> words) {
  std::string text;
  for (const uint32_t word : words) text += fmt::format("0x{:08X}\n", word);
  return text;
}

}  // namespace zomboss::plena
