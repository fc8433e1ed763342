#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "core/base/text.h"
#include "core/mapping/term.h"
#include "core/mapping/term_lexer.h"

namespace zomboss::mapping {
namespace {

constexpr size_t kDistinctLimit = 64;       // operands; it expands to all pairs
constexpr uint32_t kNodeDepthLimit = 1024;  // of the shared graph, which `let` can make deeper than the text

enum class Rule {
  kFoldInt,
  kMinus,
  kLeftInt,
  kAbs,
  kCompare,
  kEqual,
  kDistinct,
  kNot,
  kFoldBool,
  kXor,
  kImplies,
  kIf
};

struct Operator {
  std::string_view name;
  Rule rule;
  size_t least, most;  // operands; most 0: any number
  Op op = Op::kConstant;
  bool swapped = false;
};

constexpr Operator kOperators[] = {
    {"+", Rule::kFoldInt, 1, 0, Op::kAdd},
    {"*", Rule::kFoldInt, 1, 0, Op::kMultiply},
    {"-", Rule::kMinus, 1, 0, Op::kSubtract},
    {"div", Rule::kLeftInt, 2, 0, Op::kDivide},
    {"mod", Rule::kLeftInt, 2, 2, Op::kModulo},
    {"abs", Rule::kAbs, 1, 1, Op::kAbs},
    {"<", Rule::kCompare, 2, 0, Op::kLess},
    {"<=", Rule::kCompare, 2, 0, Op::kLessEqual},
    {">", Rule::kCompare, 2, 0, Op::kLess, true},
    {">=", Rule::kCompare, 2, 0, Op::kLessEqual, true},
    {"=", Rule::kEqual, 2, 0},
    {"distinct", Rule::kDistinct, 2, kDistinctLimit},
    {"and", Rule::kFoldBool, 1, 0, Op::kAnd},
    {"or", Rule::kFoldBool, 1, 0, Op::kOr},
    {"not", Rule::kNot, 1, 1},
    {"=>", Rule::kImplies, 2, 0},
    {"xor", Rule::kXor, 2, 0},
    {"ite", Rule::kIf, 3, 3},
};
constexpr std::string_view kOperatorHint =
    "operators are + - * div mod abs < <= > >= = distinct and or not => xor ite let";

using NodeId = uint32_t;
using Parsed = std::optional<NodeId>;  // nothing: an error was reported

class Parser {
 public:
  Parser(const std::vector<std::string>& knobs, Diagnostics& diagnostics)
      : knobs_(knobs), diagnostics_(diagnostics), lexer_(diagnostics.source().text()) {
    for (size_t i = 0; i < knobs.size(); ++i) numbers_.emplace(knobs[i], static_cast<uint32_t>(i));
  }

  Result<Term> parse(Sort expected) {
    const Parsed root = parse_root(expected);
    if (!root) return diagnostics_.status();
    // A root that `let` or sharing made an earlier node moves to the end by cutting what follows it: nodes
    // after it are not its operands.
    nodes_.resize(*root + 1);
    Term term;
    for (const TermNode& node : nodes_) {
      if (node.op == Op::kKnob) term.knobs.push_back(static_cast<uint32_t>(node.value));
    }
    std::sort(term.knobs.begin(), term.knobs.end());
    term.nodes = std::move(nodes_);
    return term;
  }

 private:
  Parsed parse_root(Sort expected) {
    if (diagnostics_.source().text().size() > kTermTextLimit) {
      return fail(0, fmt::format("the term has {} bytes, the limit is {}",
                                 diagnostics_.source().text().size(), kTermTextLimit));
    }
    const Parsed root = parse_term(0);
    if (!root) return root;
    const TermToken rest = lexer_.next();
    if (rest.kind != TermToken::Kind::kEnd) {
      return fail(rest.offset, "text after the end of the term", "join conditions with (and ...)");
    }
    return expect_sort(*root, expected, 0, "the term");
  }

  Parsed parse_term(uint32_t depth) {
    const TermToken token = lexer_.next();
    if (depth > kTermDepthLimit) {
      return fail(token.offset, fmt::format("parentheses nest deeper than {}", kTermDepthLimit));
    }
    switch (token.kind) {
      case TermToken::Kind::kOpen:
        return parse_application(token, depth);
      case TermToken::Kind::kAtom:
        return parse_atom(token);
      case TermToken::Kind::kQuoted:
        return parse_symbol(token);
      case TermToken::Kind::kClose:
        return fail(token.offset, "a term is missing before ')'");
      case TermToken::Kind::kEnd:
        return fail(token.offset, "the term ends too early", "a ')' or an operand is missing");
      case TermToken::Kind::kBad:
        break;
    }
    return fail(token.offset,
                token.text == "|" ? "unterminated '|' symbol" : "strings are not allowed in terms");
  }

  Parsed parse_atom(const TermToken& token) {
    const char first = token.text[0];
    if (first >= '0' && first <= '9') return parse_number(token);
    if (token.text == "true" || token.text == "false") {
      return add({Op::kConstant, Sort::kBool, 0, 0, 0, token.text == "true" ? 1 : 0}, token.offset);
    }
    if (first == '-' && token.text.size() > 1) {
      return fail(token.offset, fmt::format("'{}' is not an SMT-LIB number", shown(token.text)),
                  fmt::format("write (- {})", shown(token.text.substr(1))));
    }
    return parse_symbol(token);
  }

  Parsed parse_number(const TermToken& token) {
    int64_t value = 0;
    const char* end = token.text.data() + token.text.size();
    const auto [stop, error] = std::from_chars(token.text.data(), end, value);
    if (error == std::errc::result_out_of_range) {
      return fail(token.offset, fmt::format("'{}' does not fit 64 bits", shown(token.text)));
    }
    if (error != std::errc() || stop != end) {
      return fail(token.offset, fmt::format("'{}' is not an integer", shown(token.text)));
    }
    return add({Op::kConstant, Sort::kInt, 0, 0, 0, value}, token.offset);
  }

  Parsed parse_symbol(const TermToken& token) {
    const auto bound = bound_.find(token.text);
    if (bound != bound_.end() && !bound->second.empty()) return bound->second.back();
    const auto number = numbers_.find(token.text);
    if (number == numbers_.end()) {
      const std::string nearest = nearest_name(token.text, knobs_);
      return fail(token.offset, fmt::format("unknown knob '{}'", shown(token.text)),
                  nearest.empty() ? "a term names the knobs of its surface"
                                  : fmt::format("did you mean '{}'?", nearest));
    }
    const auto [known, added] = knob_nodes_.emplace(number->second, 0);
    if (added) {
      const Parsed node = add({Op::kKnob, Sort::kInt, 0, 0, 0, number->second}, token.offset);
      if (!node) return node;
      known->second = *node;
    }
    return known->second;
  }

  Parsed parse_application(const TermToken& open, uint32_t depth) {
    const TermToken head = lexer_.next();
    if (head.kind != TermToken::Kind::kAtom)
      return fail(head.offset, "an operator must follow '('", kOperatorHint);
    if (head.text == "let") return parse_let(depth);
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                     [&](const Operator& candidate) { return candidate.name == head.text; });
    if (found == std::end(kOperators)) {
      return fail(head.offset, fmt::format("unknown operator '{}'", shown(head.text)), kOperatorHint);
    }
    std::vector<NodeId> operands;
    while (lexer_.peek().kind != TermToken::Kind::kClose) {
      const Parsed operand = parse_term(depth + 1);
      if (!operand) return operand;
      operands.push_back(*operand);
    }
    lexer_.next();
    if (operands.size() < found->least || (found->most != 0 && operands.size() > found->most)) {
      return fail(open.offset,
                  fmt::format("'{}' takes {} operand{}, not {}", found->name, arity(*found),
                              found->least == 1 && found->most == 1 ? "" : "s", operands.size()));
    }
    return build(*found, operands, head.offset);
  }

  // (let ((name term) ...) body): all terms are read in the outer scope.
  Parsed parse_let(uint32_t depth) {
    TermToken token = lexer_.next();
    if (token.kind != TermToken::Kind::kOpen) return fail(token.offset, "'let' needs a list of (name term)");
    std::vector<std::pair<std::string_view, NodeId>> bindings;
    while ((token = lexer_.next()).kind == TermToken::Kind::kOpen) {
      const TermToken name = lexer_.next();
      if (name.kind != TermToken::Kind::kAtom && name.kind != TermToken::Kind::kQuoted) {
        return fail(name.offset, "a name must follow '(' in the list of 'let'");
      }
      const Parsed value = parse_term(depth + 1);
      if (!value) return value;
      const TermToken close = lexer_.next();
      if (close.kind != TermToken::Kind::kClose) return fail(close.offset, "')' must end a binding of 'let'");
      bindings.emplace_back(name.text, *value);
    }
    if (token.kind != TermToken::Kind::kClose) return fail(token.offset, "')' must end the list of 'let'");
    for (const auto& [name, node] : bindings) bound_[name].push_back(node);
    const Parsed body = parse_term(depth + 1);
    for (const auto& [name, node] : bindings) bound_[name].pop_back();
    if (!body) return body;
    const TermToken close = lexer_.next();
    if (close.kind != TermToken::Kind::kClose) return fail(close.offset, "')' must follow the body of 'let'");
    return body;
  }

  Parsed build(const Operator& op, const std::vector<NodeId>& operands, size_t offset) {
    switch (op.rule) {
      case Rule::kFoldInt:
        return fold_sorted(op, operands, Sort::kInt, offset);
      case Rule::kFoldBool:
        return fold_sorted(op, operands, Sort::kBool, offset);
      case Rule::kMinus:
      case Rule::kLeftInt:
        return build_left(op, operands, offset);
      case Rule::kAbs:
      case Rule::kNot: {
        const Sort sort = op.rule == Rule::kAbs ? Sort::kInt : Sort::kBool;
        if (!expect_sort(operands[0], sort, offset, op.name)) return std::nullopt;
        return add({op.rule == Rule::kAbs ? Op::kAbs : Op::kNot, sort, operands[0]}, offset);
      }
      case Rule::kCompare:
      case Rule::kEqual:
      case Rule::kDistinct:
        return build_relation(op, operands, offset);
      case Rule::kXor:
      case Rule::kImplies:
        return build_logic(op, operands, offset);
      case Rule::kIf:
        break;
    }
    if (!expect_sort(operands[0], Sort::kBool, offset, "the condition of ite")) return std::nullopt;
    const Sort sort = nodes_[operands[1]].sort;
    if (!expect_sort(operands[2], sort, offset, "the last operand of ite")) return std::nullopt;
    return add({Op::kIf, sort, operands[0], operands[1], operands[2]}, offset);
  }

  Parsed fold_sorted(const Operator& op, const std::vector<NodeId>& operands, Sort sort, size_t offset) {
    for (NodeId operand : operands) {
      if (!expect_sort(operand, sort, offset, op.name)) return std::nullopt;
    }
    return fold(op.op, sort, operands, offset);
  }

  // Balanced, so that a list of many operands does not become a deep graph. The operator is associative.
  Parsed fold(Op op, Sort sort, std::vector<NodeId> level, size_t offset) {
    while (level.size() > 1) {
      std::vector<NodeId> next;
      for (size_t i = 0; i + 1 < level.size(); i += 2) {
        const Parsed pair = add({op, sort, level[i], level[i + 1]}, offset);
        if (!pair) return pair;
        next.push_back(*pair);
      }
      if (level.size() % 2 == 1) next.push_back(level.back());
      level = std::move(next);
    }
    return level[0];
  }

  Parsed build_left(const Operator& op, const std::vector<NodeId>& operands, size_t offset) {
    for (NodeId operand : operands) {
      if (!expect_sort(operand, Sort::kInt, offset, op.name)) return std::nullopt;
    }
    if (operands.size() == 1) {
      const Parsed zero = add({Op::kConstant, Sort::kInt}, offset);
      if (!zero) return zero;
      return add({Op::kSubtract, Sort::kInt, *zero, operands[0]}, offset);
    }
    Parsed result = operands[0];
    for (size_t i = 1; result && i < operands.size(); ++i) {
      result = add({op.op, Sort::kInt, *result, operands[i]}, offset);
    }
    return result;
  }

  // Chains of < <= > >= =, and distinct as all pairs.
  Parsed build_relation(const Operator& op, const std::vector<NodeId>& operands, size_t offset) {
    const Sort sort = op.rule == Rule::kCompare ? Sort::kInt : nodes_[operands[0]].sort;
    for (NodeId operand : operands) {
      if (!expect_sort(operand, sort, offset, op.name)) return std::nullopt;
    }
    const Op equal = sort == Sort::kInt ? Op::kEqual : Op::kSame;
    std::vector<NodeId> parts;
    for (size_t i = 0; i + 1 < operands.size(); ++i) {
      const size_t last = op.rule == Rule::kDistinct ? operands.size() - 1 : i + 1;
      for (size_t j = i + 1; j <= last; ++j) {
        const Op relation = op.rule == Rule::kCompare ? op.op : equal;
        Parsed part =
            add({relation, Sort::kBool, operands[op.swapped ? j : i], operands[op.swapped ? i : j]}, offset);
        if (part && op.rule == Rule::kDistinct) part = add({Op::kNot, Sort::kBool, *part}, offset);
        if (!part) return part;
        parts.push_back(*part);
      }
    }
    return fold(Op::kAnd, Sort::kBool, std::move(parts), offset);
  }

  Parsed build_logic(const Operator& op, const std::vector<NodeId>& operands, size_t offset) {
    for (NodeId operand : operands) {
      if (!expect_sort(operand, Sort::kBool, offset, op.name)) return std::nullopt;
    }
    if (op.rule == Rule::kXor) {
      Parsed result = operands[0];
      for (size_t i = 1; result && i < operands.size(); ++i) {
        result = add({Op::kSame, Sort::kBool, *result, operands[i]}, offset);
        if (result) result = add({Op::kNot, Sort::kBool, *result}, offset);
      }
      return result;
    }
    // a => b => c is (not a) or (not b) or c.
    std::vector<NodeId> parts;
    for (size_t i = 0; i + 1 < operands.size(); ++i) {
      const Parsed negated = add({Op::kNot, Sort::kBool, operands[i]}, offset);
      if (!negated) return negated;
      parts.push_back(*negated);
    }
    parts.push_back(operands.back());
    return fold(Op::kOr, Sort::kBool, std::move(parts), offset);
  }

  Parsed expect_sort(NodeId node, Sort sort, size_t offset, std::string_view what) {
    if (nodes_[node].sort == sort) return node;
    return fail(offset,
                fmt::format("{} needs {}, got {}", what, sort == Sort::kInt ? "an Int" : "a Bool",
                            sort == Sort::kInt ? "a Bool" : "an Int"),
                sort == Sort::kBool ? "compare an Int knob, e.g. (= knob 1)" : "");
  }

  Parsed add(TermNode node, size_t offset) {
    uint32_t depth = 1;
    if (node.op != Op::kConstant && node.op != Op::kKnob) {
      depth += std::max({depths_[node.a], depths_[node.b], depths_[node.c]});
    }
    if (nodes_.size() >= kTermNodeLimit || depth > kNodeDepthLimit) {
      return fail(offset,
                  fmt::format("the term is too large: at most {} operators and {} levels", kTermNodeLimit,
                              kNodeDepthLimit),
                  "split the constraint");
    }
    nodes_.push_back(node);
    depths_.push_back(depth);
    return static_cast<NodeId>(nodes_.size() - 1);
  }

  Parsed fail(size_t offset, std::string message, std::string_view hint = {}) {
    diagnostics_.error(diagnostics_.source().location(offset), std::move(message), std::string(hint));
    return std::nullopt;
  }

  static std::string arity(const Operator& op) {
    if (op.most == 0) return fmt::format("at least {}", op.least);
    return op.least == op.most ? std::to_string(op.least) : fmt::format("{} to {}", op.least, op.most);
  }
  static std::string shown(std::string_view text) {
    constexpr size_t kLongest = 40;
    return text.size() <= kLongest ? std::string(text) : std::string(text.substr(0, kLongest)) + "...";
  }

  const std::vector<std::string>& knobs_;
  Diagnostics& diagnostics_;
  TermLexer lexer_;
  std::map<std::string_view, uint32_t> numbers_;
  std::map<std::string_view, std::vector<NodeId>> bound_;
  std::map<uint32_t, NodeId> knob_nodes_;
  std::vector<TermNode> nodes_;
  std::vector<uint32_t> depths_;
};

}  // namespace

Result<Term> parse_term(const std::vector<std::string>& knobs, Sort expected, Diagnostics& diagnostics) {
  return Parser(knobs, diagnostics).parse(expected);
}

Result<Term> parse_term(const std::string& name, const std::string& text,
                        const std::vector<std::string>& knobs, Sort expected) {
  const Source source(name, text);
  Diagnostics diagnostics(source);
  return parse_term(knobs, expected, diagnostics);
}

}  // namespace zomboss::mapping
