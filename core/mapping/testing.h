// For tests and benchmarks: short ways to write surfaces, and random terms with an evaluator of their own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/mapping/convert.h"
#include "zomboss/sdk/random.h"

namespace zomboss::mapping::testing {

class SurfaceBuilder {
 public:
  SurfaceBuilder() {
    message.target = "toy";
    message.workload = "test";
  }

  SurfaceBuilder& knob(const std::string& name, std::vector<int64_t> values,
                       Category category = Category::MatrixDecomposition,
                       DefaultPolicy policy = DefaultPolicy::Listed) {
    auto knob = std::make_unique<wire::KnobT>();
    knob->name = name;
    knob->category = category;
    knob->values = std::move(values);
    knob->default_policy = policy;
    message.knobs.push_back(std::move(knob));
    return *this;
  }
  SurfaceBuilder& choice(const std::string& name, std::vector<std::string> labels,
                         Category category = Category::MemoryPipeline) {
    std::vector<int64_t> values;
    for (size_t i = 0; i < labels.size(); ++i) values.push_back(static_cast<int64_t>(i));
    knob(name, std::move(values), category);
    message.knobs.back()->type = KnobType::Choice;
    message.knobs.back()->labels = std::move(labels);
    return *this;
  }
  SurfaceBuilder& boolean(const std::string& name, Category category = Category::LoopStructure) {
    knob(name, {0, 1}, category);
    message.knobs.back()->type = KnobType::Boolean;
    return *this;
  }
  SurfaceBuilder& rule(const std::string& name, const std::string& assertion, const std::string& text,
                       ConstraintKind kind = ConstraintKind::Shape) {
    auto constraint = std::make_unique<wire::ConstraintT>();
    constraint->name = name;
    constraint->kind = kind;
    constraint->assertion = assertion;
    constraint->message = text;
    message.constraints.push_back(std::move(constraint));
    return *this;
  }
  // needs <= available.
  SurfaceBuilder& capacity(const std::string& name, const std::string& needs, const std::string& available,
                           const std::string& text) {
    rule(name, "(<= " + needs + " " + available + ")", text, ConstraintKind::Capacity);
    message.constraints.back()->needs = needs;
    message.constraints.back()->available = available;
    return *this;
  }
  SurfaceBuilder& row(const std::vector<int64_t>& values) {  // in the order in which the knobs were added
    message.kind = SurfaceKind::Catalog;
    message.catalog.insert(message.catalog.end(), values.begin(), values.end());
    return *this;
  }

  SurfaceBuilder& reference(const std::string& name, const std::vector<int64_t>& values,  // likewise
                            const std::string& doc = "") {
    auto reference = std::make_unique<wire::ReferenceT>();
    reference->name = name;
    reference->values = values;
    reference->doc = doc;
    message.references.push_back(std::move(reference));
    return *this;
  }

  Result<Surface> build() const { return from_wire(message); }

  wire::SurfaceT message;
};

// A term as text, and its value by an evaluator that shares nothing with the library. Nothing = undefined.
struct RandomTerm {
  std::string text;
  std::function<std::optional<int64_t>(const std::vector<int64_t>&)> value;
};

inline int64_t reference_mod(int64_t a, int64_t b) {
  const int64_t size = b < 0 ? -b : b;
  return ((a % size) + size) % size;
}

inline std::optional<int64_t> reference_int(char op, std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a || !b) return std::nullopt;
  if (op == '+') return *a + *b;
  if (op == '-') return *a - *b;
  if (op == '*') return *a * *b;
  if (*b == 0) return std::nullopt;
  if (op == '%') return reference_mod(*a, *b);
  return (*a - reference_mod(*a, *b)) / *b;
}

inline RandomTerm random_bool(Random& random, const std::vector<std::string>& knobs, int depth);

inline RandomTerm random_int(Random& random, const std::vector<std::string>& knobs, int depth) {
  const uint64_t kind = random.below(depth <= 0 ? 2 : 9);
  if (kind == 0) {
    const int64_t number = random.between(-3, 6);
    const std::string text = number < 0 ? "(- " + std::to_string(-number) + ")" : std::to_string(number);
    return {text, [number](const auto&) { return std::optional(number); }};
  }
  if (kind <= 2) {
    const size_t knob = random.below(knobs.size());
    return {knobs[knob], [knob](const auto& values) { return std::optional(values[knob]); }};
  }
  const RandomTerm a = random_int(random, knobs, depth - 1);
  const RandomTerm b = random_int(random, knobs, depth - 1);
  if (kind == 8) {
    const RandomTerm c = random_bool(random, knobs, depth - 1);
    return {"(ite " + c.text + " " + a.text + " " + b.text + ")",
            [=](const auto& values) -> std::optional<int64_t> {
              const auto condition = c.value(values);
              if (!condition) return std::nullopt;
              return *condition ? a.value(values) : b.value(values);
            }};
  }
  constexpr std::pair<const char*, char> kOps[] = {
      {"+", '+'}, {"-", '-'}, {"*", '*'}, {"div", '/'}, {"mod", '%'}};
  const char* name = kOps[kind - 3].first;
  const char op = kOps[kind - 3].second;
  return {std::string("(") + name + " " + a.text + " " + b.text + ")",
          [=](const auto& values) { return reference_int(op, a.value(values), b.value(values)); }};
}

inline RandomTerm random_comparison(Random& random, const std::vector<std::string>& knobs, int depth) {
  const RandomTerm a = random_int(random, knobs, depth - 1);
  const RandomTerm b = random_int(random, knobs, depth - 1);
  constexpr const char* kOps[] = {"<", "<=", ">", ">=", "=", "distinct"};
  const uint64_t op = random.below(6);
  return {std::string("(") + kOps[op] + " " + a.text + " " + b.text + ")",
          [=](const auto& values) -> std::optional<int64_t> {
            const auto x = a.value(values), y = b.value(values);
            if (!x || !y) return std::nullopt;
            const bool answers[] = {*x<*y, *x <= *y, *x> * y, *x >= *y, *x == *y, *x != *y};
            return answers[op] ? 1 : 0;
          }};
}

inline RandomTerm random_bool(Random& random, const std::vector<std::string>& knobs, int depth) {
  const uint64_t kind = random.below(depth <= 0 ? 4 : 8);
  if (kind < 4) return random_comparison(random, knobs, depth);
  const RandomTerm a = random_bool(random, knobs, depth - 1);
  if (kind == 4) {
    return {"(not " + a.text + ")", [=](const auto& values) -> std::optional<int64_t> {
              const auto x = a.value(values);
              return x ? std::optional<int64_t>(1 - *x) : std::nullopt;
            }};
  }
  const RandomTerm b = random_bool(random, knobs, depth - 1);
  constexpr const char* kOps[] = {"and", "or", "=>"};
  return {std::string("(") + kOps[kind - 5] + " " + a.text + " " + b.text + ")",
          [=](const auto& values) -> std::optional<int64_t> {
            auto x = a.value(values);
            const auto y = b.value(values);
            if (kind == 7 && x) x = 1 - *x;
            const int64_t decisive = kind == 5 ? 0 : 1;
            if ((x && *x == decisive) || (y && *y == decisive)) return decisive;
            return x && y ? std::optional<int64_t>(1 - decisive) : std::nullopt;
          }};
}

}  // namespace zomboss::mapping::testing
