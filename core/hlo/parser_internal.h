// The recursive descent parser behind parser.h. Internal to core/hlo.
// Every parsing function starts at the current token, leaves the token behind what it read, and returns false
// after it has recorded an error.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/hlo/lexer.h"
#include "core/hlo/module.h"
#include "core/hlo/parser.h"

namespace zomboss::hlo {

inline constexpr int kMaxDepth = 200;                   // nested operands, tuple shapes, literals
inline constexpr size_t kMaxRank = 64;                  // dimensions of an array
inline constexpr size_t kMaxErrors = 20;                // then parsing stops
inline constexpr size_t kMaxWarnings = 50;              // then warnings are dropped
inline constexpr size_t kMaxAttributes = 200;           // of one instruction or of the module
inline constexpr size_t kMaxShapeNodes = 100'000;       // of one inferred tuple shape
inline constexpr size_t kMaxShapeWork = 16'000'000;     // parts of tuple types compared in one module
inline constexpr size_t kMaxInferredNodes = 1'000'000;  // parts of all inferred tuple types together

struct AttributeRule;

class Parser {
 public:
  Parser(const Source& source, size_t begin, size_t end, const StatementScope* scope,
         Diagnostics& diagnostics);

  Result<Module> module();
  Result<Module> statements();

 private:
  // What is known about the computation that is being read.
  struct Body {
    Computation computation;
    std::unordered_map<std::string_view, uint32_t> names;  // views into the source; looked up, never iterated
    std::vector<uint32_t> anonymous;                       // instructions that still need a name
    std::vector<uint32_t> shape_nodes;                     // per instruction
    std::optional<uint32_t> root;
    bool broken = false;  // has errors: its shapes are not trusted
  };
  struct Signature {
    std::vector<Shape> parameters;
    Shape result;
    size_t offset = 0;
  };

  // parser.cc: errors, tokens, module level
  const Token& token() const { return lexer_.token(); }
  bool fail(size_t offset, std::string message, std::string hint = {});
  bool fail_here(std::string message, std::string hint = {});  // or what is wrong with the token itself
  void warn(size_t offset, std::string message, std::string hint = {});
  bool expect(char punct, std::string_view after);
  bool accept(char punct);
  std::string describe_token() const;  // "'foo'", "the end of the text"
  bool clean() const { return diagnostics_.errors() == errors_before_; }
  bool stopped() const { return fatal_ || diagnostics_.errors() - errors_before_ >= kMaxErrors; }
  bool module_header();
  bool module_attribute();
  bool stack_frame_table();
  void computations();
  void finish_module();

  // parse_computation.cc
  bool computation();
  bool signature(Signature& out);
  void body_instructions();
  bool computation_attributes();
  void finish_computation(const std::optional<Signature>& signature);
  void check_parameters();
  void check_signature(const Signature& signature);
  void name_anonymous();
  void resynchronize();
  bool at_statement_start(size_t offset) const;

  // parse_instruction.cc
  bool instruction();
  bool right_hand_side(Instruction& in, const std::optional<Shape>& stated);
  bool opcode(Instruction& in);
  bool arguments(Instruction& in, const std::optional<Shape>& stated);
  bool operands(Instruction& in);
  bool operand(Instruction& in);
  bool named_operand(uint32_t& index);
  bool parameter_argument(Instruction& in);
  bool constant_argument(Instruction& in, const std::optional<Shape>& stated);
  bool finish_instruction(Instruction& in, std::optional<Shape> stated);
  bool spend_shape_work(const Instruction& in);
  uint32_t add(Instruction&& in);
  uint32_t add_anonymous(Instruction&& in);
  bool is_poisoned(const Instruction& in) const;

  // parse_attributes.cc
  bool attributes(Instruction& in, bool nested);
  bool attribute(Instruction& in);
  bool attribute_value(Instruction& in, std::string_view key, const AttributeRule& rule);
  bool integer_list(std::vector<int64_t>& out);
  bool slice_list(std::vector<SliceDim>& out);
  bool computation_names(Instruction& in, std::vector<uint32_t>& out);
  bool computation_name(Instruction& in, uint32_t& out);
  bool builtin_reducer(const Instruction& in, std::string_view name, uint32_t& out);
  bool word_value(std::string& out);

  // parse_value.cc
  bool integer(int64_t& out);
  bool expression(int64_t& out);
  bool string_value(std::string& out);
  bool raw_value(std::string& out);
  size_t raw_group(size_t offset, std::string& out);

  // parse_shape.cc
  bool at_shape() const;
  bool shape(Shape& out);
  bool tuple_shape(Shape& out);
  bool array_shape(Shape& out);
  bool dimensions(Shape& out);
  bool at_layout() const;
  bool layout(Shape& out);
  bool bounded(const Shape& shape, size_t offset);

  // parse_literal.cc
  bool literal(const Shape& shape, Literal& out, bool& is_splat);
  bool tuple_literal(const Shape& shape, Literal& out);
  bool array_literal(const Shape& shape, size_t dim, Literal& out);
  bool element(DType dtype, std::string& bytes);
  bool complex_element(DType part, std::string& bytes);
  bool pred_element(std::string& bytes);
  bool integer_element(DType dtype, std::string& bytes);
  bool float_element(DType dtype, std::string& bytes);
  bool nan_element(DType dtype, bool negative, std::string& bytes);
  bool expression_element(DType dtype, std::string& bytes);

  const Source& source_;
  Diagnostics& diagnostics_;
  size_t errors_before_;         // the caller's Diagnostics may hold errors of its own
  const StatementScope* scope_;  // null when a module is read
  Lexer lexer_;
  Module module_;
  Body body_;
  std::unordered_map<std::string_view, uint32_t> computation_names_;
  std::vector<bool> broken_;  // per computation
  std::optional<uint32_t> entry_;
  std::set<std::string, std::less<>> warned_;
  int depth_ = 0;
  size_t warnings_ = 0;
  size_t shape_work_ = 0;
  size_t inferred_nodes_ = 0;
  size_t error_offset_ = 0;  // of the last error, where recovery starts
  bool fatal_ = false;
};

// Holds one level of nesting.
class DepthGuard {
 public:
  explicit DepthGuard(int& depth) : depth_(depth) { ++depth_; }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  bool too_deep() const { return depth_ > kMaxDepth; }

 private:
  int& depth_;
};

// What the parser shares with the checker and the printer.
// True if bytes and elements of an array fit in 62 bits.
bool shape_is_bounded(const Shape& shape);
size_t shape_nodes(const Shape& shape);
int shape_depth(const Shape& shape);
// The attribute that names Attributes::calls: "calls", "to_apply", "called_computations".
std::string_view calls_key(std::string_view opcode);
// "add" of "add-start"; the opcode itself when it is no asynchronous form of an opcode.
std::string_view synchronous_opcode(std::string_view opcode);
// A hint for a word that is no opcode; may be empty.
std::string opcode_hint(std::string_view word);

}  // namespace zomboss::hlo
