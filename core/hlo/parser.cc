#include "core/hlo/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/hlo/parser_internal.h"

namespace zomboss::hlo {
namespace {

constexpr std::string_view kModuleAttributes[] = {
    "is_scheduled",
    "replica_count",
    "num_partitions",
    "input_output_alias",
    "buffer_donor",
    "alias_passthrough_params",
    "entry_computation_layout",
    "frontend_attributes",
    "allow_spmd_sharding_propagation_to_parameters",
    "allow_spmd_sharding_propagation_to_output",
    "origin_recovery_table",
    "debug_attributes",
};

constexpr std::string_view kStackFrameTables[] = {"FileNames", "FunctionNames", "FileLocations",
                                                  "StackFrames"};

}  // namespace

Parser::Parser(const Source& source, size_t begin, size_t end, const StatementScope* scope,
               Diagnostics& diagnostics)
    : source_(source),
      diagnostics_(diagnostics),
      errors_before_(diagnostics.errors()),
      scope_(scope),
      lexer_(source.text(), begin, end, scope != nullptr) {}

bool Parser::fail(size_t offset, std::string message, std::string hint) {
  error_offset_ = std::max(offset, token().begin);
  if (stopped()) return false;
  diagnostics_.error(source_.location(offset), std::move(message), std::move(hint));
  return false;
}

bool Parser::fail_here(std::string message, std::string hint) {
  if (token().kind != TokenKind::kInvalid) return fail(token().begin, std::move(message), std::move(hint));
  const auto byte = static_cast<unsigned char>(token().text.front());
  std::string problem(lexer_.problem());
  const bool endless = token().end == lexer_.end() && problem.starts_with("this");
  if (!endless)
    problem += byte > 0x20 && byte < 0x7f ? fmt::format(" '{}'", token().text)
                                          : fmt::format(" (byte 0x{:02x})", byte);
  fail(token().begin, std::move(problem));
  if (endless) fatal_ = true;
  return false;
}

void Parser::warn(size_t offset, std::string message, std::string hint) {
  if (warnings_ == kMaxWarnings) return;
  ++warnings_;
  diagnostics_.warning(source_.location(offset), std::move(message), std::move(hint));
}

std::string Parser::describe_token() const {
  if (token().kind == TokenKind::kEnd)
    return scope_ != nullptr ? "the end of the block" : "the end of the text";
  constexpr size_t kShown = 40;
  const std::string_view text = lexer_.text(token().begin, token().end);
  return text.size() <= kShown ? fmt::format("'{}'", text) : fmt::format("'{}...'", text.substr(0, kShown));
}

bool Parser::expect(char punct, std::string_view after) {
  if (accept(punct)) return true;
  return fail_here(fmt::format("expected '{}' {}, found {}", punct, after, describe_token()));
}

bool Parser::accept(char punct) {
  if (!token().is(punct)) return false;
  lexer_.next();
  return true;
}

Result<Module> Parser::module() {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (source_.text().starts_with(kByteOrderMark)) lexer_.seek(kByteOrderMark.size());
  if (token().kind == TokenKind::kEnd) {
    fail_here("the text holds no HLO module", "expected 'HloModule name' and computations");
  } else if (!token().is_name("HloModule") || module_header()) {
    computations();
  }
  if (clean()) finish_module();
  if (!clean()) return diagnostics_.status();
  return std::move(module_);
}

bool Parser::module_header() {
  lexer_.next();
  if (token().kind != TokenKind::kName)
    return fail_here(fmt::format("expected the module's name after 'HloModule', found {}", describe_token()));
  module_.name = token().text;
  lexer_.next();
  accept(':');
  while (accept(','))
    if (!module_attribute()) return false;
  for (;;) {
    const bool is_table = std::ranges::find(kStackFrameTables, token().text) != std::end(kStackFrameTables);
    if (token().kind != TokenKind::kName || !is_table || !is_digit(lexer_.peek())) return true;
    if (!stack_frame_table()) return false;
  }
}

bool Parser::module_attribute() {
  const Token key = token();
  if (key.kind != TokenKind::kName)
    return fail_here(fmt::format("expected a module attribute after ',', found {}", describe_token()));
  lexer_.next();
  if (!expect('=', fmt::format("after the module attribute '{}'", key.text))) return false;
  if (std::ranges::find(kModuleAttributes, key.text) == std::end(kModuleAttributes) &&
      warned_.insert("module " + std::string(key.text)).second)
    warn(key.begin, fmt::format("unknown module attribute '{}' is kept but has no effect", key.text));
  if (module_.attributes.size() == kMaxAttributes)
    return fail(key.begin, fmt::format("more than {} module attributes", kMaxAttributes));
  for (const auto& [name, value] : module_.attributes)
    if (name == key.text) return fail(key.begin, fmt::format("module attribute '{}' stands twice", key.text));
  std::string value;
  if (!raw_value(value)) return false;
  module_.attributes.emplace_back(key.text, std::move(value));
  return true;
}

// Rows of a number and a string or a braced record; only metadata refers to them, so they are passed over.
bool Parser::stack_frame_table() {
  lexer_.next();
  while (token().kind == TokenKind::kInteger) {
    lexer_.next();
    std::string row;
    if (token().kind == TokenKind::kString) {
      lexer_.next();
    } else if (!token().is('{')) {
      return fail_here(
          fmt::format("expected a string or '{{' in a stack frame table, found {}", describe_token()));
    } else if (!raw_value(row)) {
      return false;
    }
  }
  return true;
}

void Parser::computations() {
  while (!stopped() && token().kind != TokenKind::kEnd) {
    if (token().is_name("HloModule") && lexer_.peek() != '{') {
      fail_here("a second module starts here", "one file holds one module: split it at the '// -----' lines");
      return;
    }
    if (!computation()) return;
  }
  if (module_.computations.empty() && clean())
    fail_here("the module has no computation", "expected 'ENTRY name { ... }'");
}

void Parser::finish_module() {
  module_.entry = entry_.value_or(static_cast<uint32_t>(module_.computations.size()) - 1);
  if (module_.name.empty()) module_.name = module_.entry_computation().name;
}

Result<Module> Parser::statements() {
  body_.computation.name = "block";
  body_.computation.where = source_.location(token().begin);
  module_.name = "block";
  for (size_t i = 0; i < scope_->tensors.size(); ++i) {
    const auto& [name, shape] = scope_->tensors[i];
    Instruction in;
    in.name = name;
    in.opcode = "parameter";
    in.shape = shape;
    in.parameter_number = static_cast<int64_t>(i);
    in.where = body_.computation.where;
    body_.names.emplace(name, static_cast<uint32_t>(body_.computation.instructions.size()));
    add(std::move(in));
  }
  const size_t inputs = body_.computation.instructions.size();
  body_instructions();
  if (!stopped() && token().kind != TokenKind::kEnd)
    fail_here(fmt::format("expected a statement, found {}", describe_token()));
  if (clean() && body_.computation.instructions.size() == inputs)
    fail_here("the block has no statement", "expected 'name = type[dims] opcode(operands)'");
  if (!clean()) return diagnostics_.status();
  finish_computation(std::nullopt);
  if (!clean()) return diagnostics_.status();
  module_.entry = static_cast<uint32_t>(module_.computations.size()) - 1;
  return std::move(module_);
}

Result<Module> parse_module(const Source& source, Diagnostics& diagnostics) {
  return Parser(source, 0, source.text().size(), nullptr, diagnostics).module();
}

Result<Module> parse_statements(const Source& source, size_t begin, size_t end, const StatementScope& scope,
                                Diagnostics& diagnostics) {
  return Parser(source, begin, end, &scope, diagnostics).statements();
}

std::optional<uint32_t> find_instruction(const Computation& computation, std::string_view name) {
  for (size_t i = 0; i < computation.instructions.size(); ++i)
    if (computation.instructions[i].name == name) return static_cast<uint32_t>(i);
  return std::nullopt;
}

}  // namespace zomboss::hlo
