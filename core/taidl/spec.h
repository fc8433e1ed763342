// A parsed `.taidl` file as plain values, names not yet resolved. docs/taidl.md is the language reference.
// Equality ignores positions, so parse(print(spec)) == spec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/source.h"

namespace zomboss::taidl {

// A position that takes no part in equality.
struct Where : Location {
  Where() = default;
  Where(Location location) : Location(location) {}  // NOLINT: implicit by design
  bool operator==(const Where&) const { return true; }
};

struct Name {
  std::string text;
  Where where;
  bool operator==(const Name&) const = default;
};

enum class Op : uint8_t {
  kInt,    // value
  kName,   // name
  kIndex,  // name[args[0]]: content of a register
  kCall,   // name(args...)
  kNegate,
  kNot,
  kMultiply,
  kDivide,
  kRemainder,
  kAdd,
  kSubtract,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kImplies,
};

// An integer expression or a condition.
struct Expr {
  Op op = Op::kInt;
  uint16_t depth = 1;  // height of the tree; the parser bounds it, so recursion over a tree is safe
  int64_t value = 0;
  std::string name;
  std::vector<Expr> args;
  Where where;  // first token
  bool operator==(const Expr&) const = default;
};

// dtype[units][unit dim]... ; `*` units = unbounded; no dims = scalar.
struct TypeExpr {
  Name dtype;
  bool unbounded = false;
  std::vector<Expr> dims;  // without the unbounded one
  bool operator==(const TypeExpr&) const = default;
};

// low..high step s, or the values of a list, or every integer (`int`).
struct DomainExpr {
  enum class Kind : uint8_t { kAny, kRange, kList } kind = Kind::kAny;
  std::vector<Expr> values;  // range: low, high, [step]; list: the values
  Where where;
  bool operator==(const DomainExpr&) const = default;
};

struct ParamDecl {
  Name name;
  Expr value;
  std::optional<DomainExpr> domain;
  bool operator==(const ParamDecl&) const = default;
};

// What every machine must hold: a condition over the parameters.
struct ConstraintDecl {
  Expr condition;
  std::string message;
  Where message_where;
  bool operator==(const ConstraintDecl&) const = default;
};

struct Setting {
  Name param;
  Expr value;
  bool operator==(const Setting&) const = default;
};

// Other values of some parameters, under a name.
struct ProfileDecl {
  Name name;
  std::vector<Setting> settings;
  bool operator==(const ProfileDecl&) const = default;
};

// Block-scaled format: `block` elements of type `elem` share one scale of type `scale`.
struct DtypeDecl {
  Name name, elem, scale;
  Expr block;
  bool operator==(const DtypeDecl&) const = default;
};

struct MemoryDecl {
  Name name;
  TypeExpr type;
  std::optional<Expr> banks, align;
  bool offchip = false;
  bool operator==(const MemoryDecl&) const = default;
};

enum class StateRole : uint8_t { kPlain, kConfig, kHidden };

struct StateDecl {
  Name name;
  std::optional<TypeExpr> type;  // of a tensor state
  DomainExpr domain;             // of an integer state
  std::optional<Expr> initial;   // integer
  double initial_float = 0;      // when `initial` is empty
  Where initial_where;
  StateRole role = StateRole::kPlain;
  std::optional<Expr> condition;  // over parameters: whether the machine has the state
  bool operator==(const StateDecl&) const = default;
};

struct RegfileDecl {
  Name name, dtype;
  Expr count;
  std::optional<Expr> zero;
  bool operator==(const RegfileDecl&) const = default;
};

enum class OperandKind : uint8_t { kAddress, kInteger, kRegister, kImmediate };

struct OperandDecl {
  Name name;
  OperandKind kind = OperandKind::kInteger;
  Name base;                  // memory of an address, register file of a register
  std::optional<Expr> align;  // of an address
  DomainExpr domain;          // of an integer
  std::optional<Expr> bits;   // of an immediate
  bool operator==(const OperandDecl&) const = default;
};

// memory[start +: counts] [stride e] [transposed] [mask m], register_file[index], or a tensor state.
struct Slice {
  Name base;
  std::optional<Expr> start;
  std::vector<Expr> counts;
  std::optional<Expr> stride;
  bool transposed = false;
  std::optional<Name> mask;
  bool operator==(const Slice&) const = default;
};

// word[high:low] = value
struct Field {
  Name word;
  Expr high, low, value;
  bool operator==(const Field&) const = default;
};

enum class ClauseKind : uint8_t {
  kRead,      // name = slice
  kWrite,     // slice = name
  kUpdate,    // slice += name, or max= when `maximum`
  kRequires,  // expr, text = message
  kSets,      // name = expr
  kWhen,      // expr, body
  kElse,      // body
  kSem,       // text = HLO statements
  kCost,      // name = expr
  kEmit,      // text
  kEncode,    // fields
  kClobbers,  // name
};

struct Clause {
  ClauseKind kind = ClauseKind::kEmit;
  Name name;
  Slice slice;
  std::optional<Expr> expr;
  bool maximum = false;
  std::string text;  // string value; of a sem block: its lines without indentation and blank lines
  Where text_where;  // of the string token, or the first byte of the sem block after its brace
  std::vector<Clause> body;
  std::vector<Field> fields;
  Where where;
  size_t sem_offset = 0, sem_length = 0;  // of the raw text in the Source; no part of equality

  bool operator==(const Clause& other) const;
};

struct InstrDecl {
  Name name;
  std::vector<OperandDecl> operands;
  std::optional<Name> engine;
  std::optional<Expr> condition;  // over parameters: whether the machine has the instruction
  std::vector<Clause> clauses;
  bool operator==(const InstrDecl&) const = default;
};

struct RuleDecl {
  Name name;
  Expr condition;
  std::string message;
  Where message_where;
  bool operator==(const RuleDecl&) const = default;
};

struct HwloopDecl {
  Name name;
  std::string begin, end;
  Expr depth;
  std::optional<Name> counter;  // register file
  std::optional<Expr> body;     // most instructions that one trip executes
  DomainExpr count;
  bool operator==(const HwloopDecl&) const = default;
};

struct Spec {
  Name target;
  std::string title;
  std::vector<ParamDecl> params;
  std::vector<ConstraintDecl> constraints;
  std::vector<ProfileDecl> profiles;
  std::optional<Name> profile;  // the one that holds
  std::vector<DtypeDecl> dtypes;
  std::optional<Name> storage;  // format in which tensors lie off-chip
  std::vector<Name> engines;
  std::vector<MemoryDecl> memories;
  std::vector<RegfileDecl> regfiles;
  std::vector<StateDecl> states;
  std::vector<InstrDecl> instrs;
  std::vector<HwloopDecl> hwloops;
  std::vector<RuleDecl> rules;
  bool operator==(const Spec&) const = default;
};

}  // namespace zomboss::taidl
