// The semantics block of each path through the branches is parsed and typed as HLO for concrete values of the
// names in its dimensions, and compared with the slices and states that it feeds.
// Long, because the state of one traversal (path, assignment, known types) belongs to all of it.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "core/base/text.h"
#include "core/hlo/parser.h"
#include "core/taidl/check_context.h"
#include "core/taidl/parser.h"

namespace zomboss::taidl {
namespace {

constexpr uint64_t kLimit = 256;
constexpr int64_t kMaxElements = int64_t{1} << 40;

using hlo::DType;
using hlo::Shape;

// The names of an instruction's values as numbers: the check looks types up for every assignment it tries.
class Names {
 public:
  size_t id(std::string_view name) {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    names_.emplace_back(name);
    return ids_.emplace(name, names_.size() - 1).first->second;
  }
  const std::string& text(size_t id) const { return names_[id]; }
  size_t size() const { return names_.size(); }

 private:
  std::map<std::string, size_t, std::less<>> ids_;
  std::deque<std::string> names_;
};

// Types of the values of one path, by number; null for a name that has none. The shapes live in the check.
class Values {
 public:
  const Shape* find(size_t id) const { return id < shapes_.size() ? shapes_[id] : nullptr; }
  // False when there is one already.
  bool add(size_t id, const Shape* shape) {
    if (id >= shapes_.size()) shapes_.resize(id + 1);
    if (shapes_[id] != nullptr) return false;
    shapes_[id] = shape;
    return true;
  }
  void clear() { shapes_.assign(shapes_.size(), nullptr); }

 private:
  std::vector<const Shape*> shapes_;
};

// What is known of one semantics block.
struct Statement {
  Name name;
  size_t id = 0;
  Shape shape;
};
using Typed = std::vector<Statement>;
using Key = std::vector<int64_t>;
struct Block {
  std::vector<size_t> words;                          // identifiers that may name values
  std::vector<std::string> integers;                  // in its dimensions, attributes and constants
  std::map<Key, Typed> typed;                         // by the types and numbers that it depends on
  const std::pair<const Key, Typed>* last = nullptr;  // of `typed`: neighbouring assignments often agree
};

bool moves_data_only(std::string_view opcode) {
  constexpr std::string_view kMoves[] = {"parameter",
                                         "constant",
                                         "iota",
                                         "reshape",
                                         "bitcast",
                                         "bitcast-convert",
                                         "convert",
                                         "copy",
                                         "transpose",
                                         "broadcast",
                                         "slice",
                                         "dynamic-slice",
                                         "dynamic-update-slice",
                                         "concatenate",
                                         "pad",
                                         "reverse",
                                         "tuple",
                                         "get-tuple-element",
                                         "select",
                                         "compare"};
  return std::find(std::begin(kMoves), std::end(kMoves), opcode) != std::end(kMoves);
}

class SemanticsCheck {
 public:
  explicit SemanticsCheck(InstrContext& context) : c_(context), source_(context.diagnostics.source()) {
    for (const Param& param : c_.model.params) params_[param.name] = param.value;
    scalars_and_states();
    collect_sources(c_.instr.clauses);
  }

  void run() {
    const auto paths = expand_paths(c_.instr.clauses);
    if (!paths)
      return c_.error(c_.instr.where, fmt::format("more than {} combinations of branches", kMaxPaths),
                      "split the instruction into several");
    for (const Path& path : *paths) {
      check(path);
      if (failed_) return;
    }
    std::set<const Clause*> warned;
    for (const Path& path : *paths)
      for (const Clause* branch : path.branches)
        if (reached_.count(branch) == 0 && warned.insert(branch).second)
          c_.warning(branch->where,
                     "none of the values that were tried reaches this branch, so it is not type-checked");
  }

 private:
  void check(const Path& path) {
    path_ = &path;
    names_.clear();
    for (const Clause* clause : path.clauses)
      for (const Expr& count : clause->slice.counts) collect_value_names(count, names_);
    for (const Condition& condition : path.conditions)
      if (is_branch(condition)) collect_value_names(*condition.expr, names_);
    // The names in a semantics block are known once it was read; each round learns at least one.
    do {
      names_grew_ = false;
      try_assignments(path);
    } while (names_grew_);
  }

  void try_assignments(const Path& path) {
    std::vector<Condition> conditions = path.conditions;
    for (const Clause* clause : path.clauses) {
      for (const Expr& count : clause->slice.counts) conditions.push_back({&count, std::nullopt});
      if (clause->kind != ClauseKind::kSem) continue;
      const auto end = exprs_.lower_bound({clause->sem_offset + clause->sem_length, 0});
      for (auto it = exprs_.lower_bound({clause->sem_offset, 0}); it != end; ++it)
        conditions.push_back({&it->second, std::nullopt});
    }
    const Assignments assignments(c_.model, c_.instr, names_, conditions, kLimit);
    bool reached = false;
    assignments.for_each([&](const Env& env) {
      first_ = !reached;
      reached = true;
      return check_once(env);
    });
    if (reached || assignments.exhaustive()) reached_.insert(path.branches.begin(), path.branches.end());
  }

  bool is_branch(const Condition& condition) const {
    return std::none_of(path_->clauses.begin(), path_->clauses.end(), [&](const Clause* clause) {
      return clause->kind == ClauseKind::kRequires && &*clause->expr == condition.expr;
    });
  }

  // ---- one assignment

  bool check_once(const Env& env) {
    env_ = &env;
    Values& values = values_;
    values.clear();
    slices_.clear();
    for (const Clause* clause : path_->clauses)
      if (clause->kind == ClauseKind::kRead && !read(*clause, values)) return false;
    for (const Clause* clause : path_->clauses)
      if (clause->kind == ClauseKind::kSem && !sem(*clause, values)) return false;
    for (const Clause* clause : path_->clauses)
      if (!results(*clause, values)) return false;
    return true;
  }

  bool error(Location where, std::string message, std::string hint = {}) {
    const std::string example = show_assignment(*env_, names_);
    if (!example.empty()) message += fmt::format(" (for {})", example);
    c_.error(where, std::move(message), std::move(hint));
    failed_ = true;
    return false;
  }

  static Shape scalar(DType dtype) { return Shape{dtype, {}, {}, {}, {}}; }

  // What semantics may name besides the values read: integers as scalars, and tensor states.
  void scalars_and_states() {
    const auto give = [this](const std::string& name, Shape shape) {
      given_.add(ids_.id(name), &given_shapes_.emplace_back(std::move(shape)));
    };
    for (const Operand& operand : c_.instr.operands) {
      if (operand.kind == OperandKind::kInteger) give(operand.name, scalar(integer_type(operand.domain)));
      if (operand.kind != OperandKind::kImmediate) continue;
      const DType type = operand.bits > 32   ? DType::U64
                         : operand.bits > 16 ? DType::U32
                         : operand.bits > 8  ? DType::U16
                                             : DType::U8;
      give(operand.name, scalar(type));
    }
    for (const State& state : c_.model.states)
      give(state.name, state.shape ? *state.shape : scalar(integer_type(state.domain)));
  }

  const Shape* find_value(size_t id, const Values& values) const {
    const Shape* found = values.find(id);
    return found != nullptr ? found : given_.find(id);
  }

  static DType integer_type(const Domain& domain) {
    const bool fits = domain.low >= std::numeric_limits<int32_t>::min() &&
                      domain.high <= std::numeric_limits<int32_t>::max();
    return fits ? DType::S32 : DType::S64;
  }

  // The value type of a slice, or nothing after an error.
  std::optional<Shape> slice_shape(const Slice& slice) {
    if (const Regfile* file = c_.model.find_regfile(slice.base.text))
      return scalar(file->format.value_dtype());
    if (const State* state = c_.model.find_state(slice.base.text)) return *state->shape;
    const Memory& memory = *c_.model.find_memory(slice.base.text);
    Shape shape = scalar(memory.format.value_dtype());
    int64_t units = 1;
    for (const Expr& count : slice.counts) {
      const Value value = evaluate(count, *env_);
      if (!value.known()) {
        error(value.failed() ? value.where : count.where,
              value.failed() ? value.message : "the size of a slice depends on the content of a register");
        return std::nullopt;
      }
      if (value.number < 1 || units > kMaxElements / value.number) {
        error(count.where, value.number < 1 ? fmt::format("the count of the slice is {}, expected at least 1",
                                                          value.number)
                                            : "the slice is too large");
        return std::nullopt;
      }
      units *= value.number;
      shape.dims.push_back(value.number);
    }
    if (memory.rows != 0 && units > memory.rows) {
      error(slice.counts[0].where,
            fmt::format("the slice takes {} units, {} has {}", units, memory.name, memory.rows));
      return std::nullopt;
    }
    shape.dims.insert(shape.dims.end(), memory.unit_dims.begin(), memory.unit_dims.end());
    if (slice.transposed) {
      if (shape.dims.size() < 2) {
        error(slice.base.where,
              fmt::format("cannot transpose {}: it has fewer than two dimensions", shape.text()));
        return std::nullopt;
      }
      std::swap(shape.dims[shape.dims.size() - 2], shape.dims.back());
    }
    return shape;
  }

  bool read(const Clause& clause, Values& values) {
    auto shape = slice_shape(clause.slice);
    if (!shape) return false;
    slices_.push_back(*std::move(shape));
    if (!values.add(ids_.id(clause.name.text), &slices_.back()))
      return error(clause.name.where, fmt::format("the value '{}' is defined twice", clause.name.text));
    if (first_) c_.flow.reads.insert(clause.slice.base.text);
    return true;
  }

  // Value of the HLO dimension or number source_.text()[begin, end). Parsed and resolved once.
  std::optional<int64_t> number(size_t begin, size_t end, Block& block, Diagnostics& diagnostics) {
    const std::pair range(begin, end);
    auto found = exprs_.find(range);
    if (found == exprs_.end()) {
      auto expr = parse_expression(source_, begin, end, diagnostics);
      if (expr && !require_type(*expr, ExprType::kInteger, "a number in semantics", c_.scope, diagnostics))
        expr.reset();
      if (!expr) return std::nullopt;
      c_.use_names(*expr);
      found = exprs_.emplace(range, fold(*expr, params_)).first;
      collect_value_names(found->second, block.integers);
    }
    const Value value = evaluate(found->second, *env_);
    if (value.known()) return value.number;
    const size_t known_names = names_.size();
    collect_value_names(found->second, names_);
    names_grew_ |= names_.size() != known_names;
    diagnostics.error(value.failed() ? value.where : found->second.where,
                      value.failed() ? value.message : "this depends on the content of a register");
    return std::nullopt;
  }

  Result<hlo::Module> parse(const Clause& clause, const std::vector<std::pair<std::string, Shape>>& tensors,
                            Diagnostics& diagnostics) {
    hlo::StatementScope scope;
    scope.tensors = tensors;
    scope.evaluate = [&](size_t begin, size_t end) {
      return number(begin, end, blocks_.at(clause.sem_offset), diagnostics);
    };
    return hlo::parse_statements(source_, clause.sem_offset, clause.sem_offset + clause.sem_length, scope,
                                 diagnostics);
  }

  // Types the block and adds its values. Many paths and assignments see the same block with the same inputs:
  // those are typed once.
  bool sem(const Clause& clause, Values& values) {
    const auto [entry, is_new] = blocks_.try_emplace(clause.sem_offset);
    Block& block = entry->second;
    if (is_new) block.words = words_of(clause);
    make_key(block, values);
    if (block.last == nullptr || block.last->first != key_) {
      auto typed = block.typed.find(key_);
      if (typed == block.typed.end()) {
        auto results = type_block(clause, block, values);
        if (!results) return false;
        typed = block.typed.emplace(key_, *std::move(results)).first;
      }
      block.last = &*typed;
    }
    for (const Statement& statement : block.last->second)
      if (!values.add(statement.id, &statement.shape))
        return error(statement.name.where,
                     fmt::format("the name '{}' is already taken", statement.name.text));
    return true;
  }

  // The types and numbers that a block depends on, in key_.
  void make_key(const Block& block, const Values& values) {
    key_.clear();
    for (const size_t id : block.words) {
      const Shape* shape = find_value(id, values);
      key_.push_back(shape == nullptr ? -1 : static_cast<int64_t>(shape->dtype));
      if (shape == nullptr) continue;
      key_.push_back(static_cast<int64_t>(shape->dims.size()));
      key_.insert(key_.end(), shape->dims.begin(), shape->dims.end());
    }
    for (const std::string& name : block.integers) {
      const auto found = env_->find(name);
      if (found != env_->end()) key_.push_back(found->second);
    }
  }

  std::optional<Typed> type_block(const Clause& clause, const Block& block, const Values& values) {
    std::vector<std::pair<std::string, Shape>> tensors;
    for (const size_t id : block.words)
      if (const Shape* shape = find_value(id, values)) tensors.emplace_back(ids_.text(id), *shape);
    Diagnostics inner(source_);
    const auto module = parse(clause, tensors, inner);
    if (names_grew_) return std::nullopt;
    if (first_ || !module.ok()) copy_messages(inner);
    if (!module.ok()) {
      failed_ = true;
      return std::nullopt;
    }
    Typed results;
    const hlo::Computation& computation = module->entry_computation();
    note_uses(computation);
    for (const hlo::Instruction& instruction : computation.instructions) {
      if (instruction.opcode == "parameter") continue;
      if (!moves_data_only(instruction.opcode)) c_.flow.computes = true;
      if (instruction.name.empty()) continue;
      if (c_.scope.find(instruction.name) != nullptr) {
        error(instruction.where, fmt::format("the name '{}' is already taken", instruction.name));
        return std::nullopt;
      }
      results.push_back(
          {{instruction.name, instruction.where}, ids_.id(instruction.name), instruction.shape});
    }
    return results;
  }

  // The identifiers of a block that may be values, sorted by name: a superset of those that it uses. Values
  // come from operands, states, reads and statements of semantics blocks.
  std::vector<size_t> words_of(const Clause& clause) {
    std::vector<size_t> words;
    for (const std::string& word : identifiers(clause)) {
      const size_t id = ids_.id(word);
      if (given_.find(id) != nullptr || sources_.count(id) != 0) words.push_back(id);
    }
    return words;
  }

  // Names that clauses (and those inside of their branches) may give to values.
  void collect_sources(const std::vector<Clause>& clauses) {
    for (const Clause& clause : clauses) {
      if (clause.kind == ClauseKind::kRead) sources_.insert(ids_.id(clause.name.text));
      if (clause.kind == ClauseKind::kSem)
        for (const std::string& word : identifiers(clause, true)) sources_.insert(ids_.id(word));
      collect_sources(clause.body);
    }
  }

  // Words of a block; with `assigned` only those before a '='.
  std::set<std::string, std::less<>> identifiers(const Clause& clause, bool assigned = false) const {
    std::set<std::string, std::less<>> words;
    const std::string_view text = source_.text().substr(clause.sem_offset, clause.sem_length);
    const auto in_word = [&](size_t at) {
      return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
    };
    for (size_t begin = 0; begin < text.size();) {
      size_t end = begin;
      while (in_word(end)) ++end;
      const size_t next = assigned ? text.find_first_not_of(" \t\r\n", end) : end;
      const bool wanted = !assigned || (next != std::string_view::npos && text[next] == '=');
      if (end > begin && wanted) words.emplace(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return words;
  }

  void copy_messages(const Diagnostics& inner) {
    const std::string example = show_assignment(*env_, names_);
    for (const Diagnostic& diagnostic : inner.all()) {
      if (diagnostic.severity == Severity::kWarning) {
        c_.warning(diagnostic.where, diagnostic.message, diagnostic.hint);
      } else {
        c_.error(
            diagnostic.where,
            example.empty() ? diagnostic.message : fmt::format("{} (for {})", diagnostic.message, example),
            diagnostic.hint);
      }
    }
  }

  // States among the parameters that some statement uses.
  void note_uses(const hlo::Computation& block) {
    for (const hlo::Instruction& instruction : block.instructions)
      for (const uint32_t operand : instruction.operands) {
        const hlo::Instruction& used = block.instructions[operand];
        if (used.opcode == "parameter") use_state(used.name, instruction.where);
      }
  }

  void use_state(const std::string& name, Location where) {
    const State* state = c_.model.find_state(name);
    if (state == nullptr) return;
    c_.flow.state_uses.insert(name);
    c_.flow.first_use.emplace(name, where);
    if (state->shape) c_.flow.reads.insert(name);
  }

  const Shape* value_of(const Name& name, const Values& values) {
    if (const Shape* shape = find_value(ids_.id(name.text), values)) return shape;
    std::vector<std::string> names;
    for (size_t id = 0; id < ids_.size(); ++id)
      if (find_value(id, values) != nullptr) names.push_back(ids_.text(id));
    std::sort(names.begin(), names.end());
    const std::string near = nearest_name(name.text, names);
    error(name.where, fmt::format("no value '{}' on this path", name.text),
          near.empty() ? "values are read by 'read' or computed in 'sem'"
                       : fmt::format("did you mean '{}'?", near));
    return nullptr;
  }

  // write, update and sets against the values.
  bool results(const Clause& clause, const Values& values) {
    if (clause.kind == ClauseKind::kSets) return sets(clause, values);
    if (clause.kind != ClauseKind::kWrite && clause.kind != ClauseKind::kUpdate) return true;
    const auto wanted = slice_shape(clause.slice);
    if (!wanted) return false;
    const Shape* found = value_of(clause.name, values);
    if (found == nullptr || !same(*wanted, *found, clause.slice.base.text, clause.name)) return false;
    if (clause.slice.mask && !mask(*clause.slice.mask, *wanted, values)) return false;
    if (first_) {
      use_state(clause.name.text, clause.name.where);
      c_.flow.writes.insert(clause.slice.base.text);
      if (c_.model.find_state(clause.slice.base.text) != nullptr)
        c_.flow.state_changes.insert(clause.slice.base.text);
    }
    return true;
  }

  bool same(const Shape& wanted, const Shape& found, std::string_view target, const Name& name) {
    if (wanted.same_type(found)) return true;
    return error(name.where,
                 fmt::format("{} takes {} here, '{}' is {}", target, wanted.text(), name.text, found.text()));
  }

  bool mask(const Name& name, const Shape& wanted, const Values& values) {
    const Shape* found = value_of(name, values);
    if (found == nullptr) return false;
    if (first_) use_state(name.text, name.where);
    Shape bits = wanted;
    bits.dtype = DType::Pred;
    return same(bits, *found, "the mask", name);
  }

  bool sets(const Clause& clause, const Values& values) {
    const State& state = *c_.model.find_state(clause.name.text);
    if (!state.shape) return true;
    if (clause.expr->op == Op::kInt) return true;  // every element
    const Name name{clause.expr->name, clause.expr->where};
    const Shape* found = value_of(name, values);
    if (found == nullptr || !same(*state.shape, *found, state.name, name)) return false;
    if (first_) {
      use_state(name.text, name.where);
      c_.flow.writes.insert(state.name);
    }
    return true;
  }

  InstrContext& c_;
  const Source& source_;
  Env params_;
  Names ids_;
  std::set<size_t> sources_;        // names of reads and statements
  std::deque<Shape> given_shapes_;  // operands as scalars, and states
  Values given_;
  Values values_;             // of the current assignment
  std::deque<Shape> slices_;  // of the current assignment
  std::map<std::pair<size_t, size_t>, Expr> exprs_;
  std::map<size_t, Block> blocks_;  // by offset
  Key key_;                         // of the block at hand
  const Path* path_ = nullptr;
  const Env* env_ = nullptr;
  std::vector<std::string> names_;   // integer names that the types of the path may depend on
  std::set<const Clause*> reached_;  // branches; looked up only, never walked
  bool first_ = false, failed_ = false, names_grew_ = false;
};

}  // namespace

void check_semantics(InstrContext& context) {
  SemanticsCheck(context).run();
}

}  // namespace zomboss::taidl
