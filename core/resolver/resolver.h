// The resolver: completes an intent to the legal plan that the default policy orders first, and explains what
// stands in the way. docs/mapping.md has the rules. Verdicts and plans depend on surface and intent alone,
// never on which engine answered or on a solver's choice of model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/mapping/intent.h"
#include "core/mapping/plan.h"
#include "core/mapping/surface.h"

namespace zomboss::resolver {

// Assignments and rules that cannot hold together, none of which could be left out.
struct Conflict {
  std::vector<mapping::Assignment>
      assignments;                       // of the intent (Hard, or Preferred when kept before); may be empty
  std::vector<std::string> constraints;  // names, in surface order
  bool catalog = false;                  // the list of complete mappings is one of the rules
  std::string text;                      // for people, with numbers
};

// Exactly one of the two is there.
struct Completion {
  std::optional<mapping::Plan> plan;
  std::optional<Conflict> conflict;  // why the hard assignments cannot hold
};

enum class Engine : uint8_t {
  kAuto,      // the compiled search first, Z3 when its budget is spent
  kCompiled,  // the compiled search alone, however long it takes
  kSolver     // Z3 alone
};

struct Options {
  Engine engine = Engine::kAuto;
  uint64_t search_steps = 5'000'000;  // term nodes that the compiled search may evaluate before Z3 is asked
  unsigned solver_resources = 1'000'000;  // Z3's rlimit per question: deterministic, unlike a time
  // false: conflicts and relaxations carry no reasons (and cost less): for samples that may be thrown away.
  bool explain = true;
};

// One thread at a time; make one per thread. Borrows the surface, which outlives it.
class Resolver {
 public:
  explicit Resolver(const mapping::Surface& surface, Options options = {});
  ~Resolver();
  Resolver(Resolver&&) noexcept;
  Resolver& operator=(Resolver&&) noexcept;

  const mapping::Surface& surface() const;

  // Hard assignments together, the rest by default policy, then the preferences one at a time in resolution
  // order. An intent that cannot hold is a Completion with a conflict. Resource exhausted: neither engine
  // could decide.
  Result<Completion> complete(const mapping::Intent& intent);
  // The same, without reasons whatever the options say.
  Result<Completion> complete_quietly(const mapping::Intent& intent);
  // The plan alone; failed precondition with the conflict's text when there is none.
  Result<mapping::Plan> plan(const mapping::Intent& intent);

  // Ok when these values (one per knob) or this plan (of a file, say) are legal, else why not.
  Status check(std::span<const int64_t> values);
  Status check(const mapping::Plan& plan);

  // Calls `visit` with each legal assignment (one value per knob), in default order, until it returns false
  // or all are done. Resource exhausted when the search budget ends first.
  Status enumerate(const std::function<bool(std::span<const int64_t>)>& visit);

  struct Count {
    uint64_t legal = 0;
    bool complete = false;  // false: there are more
  };
  // Counts legal assignments up to `limit`, or until the search budget is spent.
  Count count_legal(uint64_t limit);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The surface without the values that no legal plan has, each remembered in dropped() with the reason. Knobs
// with one value left stay (they belong to plans); Surface::free_knobs() leaves them out. Failed precondition
// when the surface has no legal plan at all.
Result<mapping::Surface> derive_domains(const mapping::Surface& surface, Options options = {});

}  // namespace zomboss::resolver
