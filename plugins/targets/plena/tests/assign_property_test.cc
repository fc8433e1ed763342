// Random loop nests: what the instruction words do, step by step, is what the tape says. The tape is run with
// the plain values of its numbers, the words with registers and state alone; both leave the same trace.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include "plugins/targets/plena/code/assign.h"

namespace zomboss::plena {
namespace {

// splitmix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t end) { return static_cast<int64_t>(next() % static_cast<uint64_t>(end)); }
  bool one_in(int64_t n) { return below(n) == 0; }
  template <typename Pool>
  const auto& pick(const Pool& pool) {
    return pool[static_cast<size_t>(below(static_cast<int64_t>(pool.size())))];
  }

 private:
  uint64_t state_;
};

// ---- traces

// What an instruction does: its operands' numbers, a history of its scalars, and the state it depends on.
struct Event {
  Opcode opcode = Opcode::kInvalid;
  std::array<uint64_t, 3> gp{};
  std::array<uint64_t, 3> fp{};
  int64_t mask = -1;
  bool reverse = false;
  uint64_t address = 0, scale = 0, stride = 0;
  bool operator==(const Event&) const = default;
};

void PrintTo(const Event& event, std::ostream* out) {
  *out << fmt::format("{} gp {} {} {} fp {:x} {:x} {:x} mask {} reverse {} place {} {} {}",
                      instruction_info(static_cast<uint32_t>(event.opcode)).mnemonic, event.gp[0],
                      event.gp[1], event.gp[2], event.fp[0], event.fp[1], event.fp[2], event.mask,
                      event.reverse, event.address, event.scale, event.stride);
}

// The history of a scalar as one number: where it came from and through which instructions.
uint64_t history(uint64_t a, uint64_t b, uint64_t c = 0, uint64_t d = 0) {
  uint64_t result = 0;
  for (const uint64_t each : {a, b, c, d}) result = Random(result * 31 + each).next();
  return result;
}
uint64_t constant_history(float value) {
  return history(1, std::bit_cast<uint32_t>(value));
}

bool is_transfer(Opcode opcode) {
  return opcode == Opcode::kHPrefetchM || opcode == Opcode::kHPrefetchV || opcode == Opcode::kHStoreV;
}
bool is_reduction(Opcode opcode) {
  return opcode == Opcode::kVRedSum || opcode == Opcode::kVRedMax;
}
bool is_scalar_operation(Opcode opcode) {
  return opcode >= Opcode::kSAddFp && opcode <= Opcode::kSSqrtFp;
}

// Runs the tape as it is written.
class TapeRunner {
 public:
  explicit TapeRunner(const Tape& tape) : tape_(tape), trip_(tape.loop_count()), fp_(tape.scalars().size()) {
    for (size_t i = 0; i < fp_.size(); ++i) {
      if (tape.scalars()[i].is_constant) fp_[i] = constant_history(tape.scalars()[i].value);
    }
  }
  std::vector<Event> run() {
    range(0, tape_.items().size());
    return std::move(events_);
  }
  size_t depth() const { return depth_; }

 private:
  void range(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Item& item = tape_.items()[i];
      if (item.kind == ItemKind::kInstruction) {
        step(item);
        continue;
      }
      depth_ = std::max(depth_, ++open_);
      for (uint32_t trip = 0; trip < item.trips; ++trip) {
        trip_[item.loop] = trip;
        range(i + 1, item.match);
      }
      --open_;
      i = item.match;
    }
  }

  uint64_t number(const Affine& affine) const {
    int64_t value = affine.base;
    for (const AffineTerm& term : affine.terms) value += term.step * trip_[term.loop];
    EXPECT_GE(value, 0) << "the test made a bad number";
    return static_cast<uint64_t>(value);
  }
  uint64_t& scalar(ScalarId id) { return fp_[static_cast<size_t>(id)]; }

  void step(const Item& item) {
    Event event;
    event.opcode = item.opcode;
    for (size_t k = 0; k < item.gp_count; ++k) event.gp[k] = number(item.gp[k]);
    if (item.opcode == Opcode::kMMmWo && item.gp_count == 1) event.gp[1] = 1;
    if (item.opcode == Opcode::kSLdFp) {
      scalar(item.fp[0]) = item.gp_count == 0 ? scalar(item.fp[1]) : slots_[event.gp[0]];
      return;
    }
    if (item.opcode == Opcode::kSStFp) slots_[event.gp[0]] = scalar(item.fp[1]);
    for (size_t k = 1; k < 3; ++k) {
      if (item.fp[k] != kNoScalar) event.fp[k] = scalar(item.fp[k]);
    }
    if (is_reduction(item.opcode) || is_scalar_operation(item.opcode)) {
      uint64_t& to = scalar(item.fp[0]);
      to = is_reduction(item.opcode) ? history(static_cast<uint64_t>(item.opcode), to, event.gp[0])
                                     : history(static_cast<uint64_t>(item.opcode), event.fp[1], event.fp[2]);
      event.fp[0] = to;
    }
    event.mask = item.mask;
    event.reverse = item.reverse;
    if (is_transfer(item.opcode)) {
      event.address = item.place.address;
      event.scale = item.place.scale_distance;
      event.stride = item.place.stride;
    }
    events_.push_back(event);
  }

  const Tape& tape_;
  std::vector<int64_t> trip_;
  std::vector<uint64_t> fp_;
  std::map<uint64_t, uint64_t> slots_;
  std::vector<Event> events_;
  size_t open_ = 0, depth_ = 0;
};

// Runs instruction words: scalar registers, loops and state as the machine has them; the rest is traced.
class WordRunner {
 public:
  explicit WordRunner(const MachineCode& code) : code_(code), times_(code.words.size(), 0) {
    fp_.fill(constant_history(0.0f));
    for (size_t i = 0; i < code.fp_slots.size(); ++i) slots_[i] = constant_history(code.fp_slots[i]);
  }
  std::vector<Event> run() {
    for (size_t pc = 0; pc < code_.words.size() && ok_; ++pc) {
      ++times_[pc];
      step(split_fields(code_.words[pc]), pc);
    }
    EXPECT_TRUE(loops_.empty());
    return std::move(events_);
  }
  const std::vector<uint64_t>& times() const { return times_; }

 private:
  struct Loop {
    size_t start = 0;
    uint32_t reg = 0;
  };

  void step(const Fields& f, size_t& pc) {
    const auto opcode = static_cast<Opcode>(f.opcode);
    switch (opcode) {
      case Opcode::kSAddInt:
        return set(f.rd, gp_[f.rs1] + gp_[f.rs2]);
      case Opcode::kSSubInt:
        return set(f.rd, gp_[f.rs1] - gp_[f.rs2]);
      case Opcode::kSAddiInt:
        return set(f.rd, gp_[f.rs1] + f.imm18);
      case Opcode::kSLuiInt:
        return set(f.rd, f.imm22 << 12);
      case Opcode::kCSetAddrReg:
        address_[f.rd] = uint64_t{gp_[f.rs1]} << 32 | gp_[f.rs2];
        return;
      case Opcode::kCSetScaleReg:
        scale_ = gp_[f.rd];
        return;
      case Opcode::kCSetStrideReg:
        stride_ = gp_[f.rd];
        return;
      case Opcode::kCSetVMaskReg:
        mask_ = gp_[f.rd];
        return;
      case Opcode::kCLoopStart:
        loops_.push_back({pc, f.rd});
        return set(f.rd, f.imm22);
      case Opcode::kCLoopEnd:
        return loop_end(f.rd, pc);
      case Opcode::kSLdFp:
        fp_[f.rd] = slots_[gp_[f.rs1] + f.imm18];
        EXPECT_NE(f.rd, 0) << "f0 must stay zero";
        return;
      default:
        return trace(opcode, f);
    }
  }

  void set(uint32_t reg, uint32_t value) {
    EXPECT_NE(reg, 0u) << "gp0 must stay zero";
    gp_[reg] = value;
  }

  void loop_end(uint32_t reg, size_t& pc) {
    ok_ = ok_ && !loops_.empty() && loops_.back().reg == reg;
    ASSERT_TRUE(ok_) << "loops are not nested";
    ok_ = gp_[reg] != 0;
    ASSERT_TRUE(ok_) << "a counter was overwritten";
    if (--gp_[reg] != 0)
      pc = loops_.back().start;
    else
      loops_.pop_back();
  }

  void trace(Opcode opcode, const Fields& f) {
    Event event;
    event.opcode = opcode;
    switch (opcode) {
      case Opcode::kMMm:
      case Opcode::kMTmm:
      case Opcode::kMBmm:
      case Opcode::kMBtmm:
      case Opcode::kMMv:
        event.gp = {gp_[f.rs1], gp_[f.rs2], 0};
        break;
      case Opcode::kMMmWo:
        event.gp = {gp_[f.rd] + f.imm18, f.rs1 == 0 ? 1 : gp_[f.rs1], 0};
        break;
      case Opcode::kMMvWo:
      case Opcode::kMBmmWo:
      case Opcode::kMBmvWo:
        event.gp = {gp_[f.rd] + f.imm18, 0, 0};
        break;
      case Opcode::kVAddVv:
      case Opcode::kVSubVv:
      case Opcode::kVMulVv:
        event.gp = {gp_[f.rd], gp_[f.rs1], gp_[f.rs2]};
        event.mask = f.rs3 == 1 ? int64_t{mask_} : -1;
        break;
      case Opcode::kVAddVf:
      case Opcode::kVSubVf:
      case Opcode::kVMulVf:
        event.gp = {gp_[f.rd], gp_[f.rs1], 0};
        event.fp[2] = fp_[f.rs2];
        event.mask = f.rs3 == 1 ? int64_t{mask_} : -1;
        event.reverse = f.function != 0;
        break;
      case Opcode::kVRedSum:
      case Opcode::kVRedMax:
        event.gp = {gp_[f.rs1], 0, 0};
        fp_[f.rd] = event.fp[0] = history(f.opcode, fp_[f.rd], event.gp[0]);
        break;
      case Opcode::kVExpV:
      case Opcode::kVReciV:
        event.gp = {gp_[f.rd], gp_[f.rs1], 0};
        break;
      case Opcode::kVShftV:
      case Opcode::kMBtmv:
        event.gp = {gp_[f.rd], gp_[f.rs1], gp_[f.rs2]};
        break;
      case Opcode::kSStFp:
        event.gp = {gp_[f.rs1] + f.imm18, 0, 0};
        event.fp[1] = slots_[event.gp[0]] = fp_[f.rd];
        break;
      case Opcode::kSAddFp:
      case Opcode::kSMulFp:
      case Opcode::kSMaxFp:
      case Opcode::kSSubFp:
        event.fp = {0, fp_[f.rs1], fp_[f.rs2]};
        break;
      case Opcode::kSReciFp:
      case Opcode::kSExpFp:
      case Opcode::kSSqrtFp:
        event.fp = {0, fp_[f.rs1], 0};
        break;
      case Opcode::kHPrefetchM:
      case Opcode::kHPrefetchV:
      case Opcode::kHStoreV:
        event.gp = {gp_[f.rd], gp_[f.rs1], 0};
        event.address = address_[f.rs2];
        event.scale = scale_;
        event.stride = f.rs3 == 1 ? stride_ : 0;
        break;
      default:
        ADD_FAILURE() << "opcode " << int{f.opcode} << " is not what the tape has";
    }
    if (is_scalar_operation(opcode)) fp_[f.rd] = event.fp[0] = history(f.opcode, event.fp[1], event.fp[2]);
    events_.push_back(event);
  }

  const MachineCode& code_;
  std::vector<uint64_t> times_;
  std::vector<Event> events_;
  std::vector<Loop> loops_;
  std::array<uint32_t, 16> gp_{};
  std::array<uint64_t, 16> fp_{};
  std::array<uint64_t, 16> address_{};
  uint32_t scale_ = 0, stride_ = 1, mask_ = 0;
  std::map<uint64_t, uint64_t> slots_;
  bool ok_ = true;
};

// ---- random tapes

struct Shape {
  int64_t depth = 3;            // of the loops at most
  int64_t motions = 3;          // ways in which addresses move with a loop
  int64_t constants = 4;        // FP constants
  int64_t places = 3;           // HBM tensors
  int64_t masks = 2;            // V_MASK values
  int64_t variables = 3;        // scalars that live at one time
  bool far = true;              // addresses beyond an immediate, also between copies of a body
  int64_t statements = 4;       // of a body at most
  bool transfers = false;       // mostly transfers with the HBM
  int64_t instructions = 4000;  // that the tape runs, about
};

class TapeMaker {
 public:
  TapeMaker(uint64_t seed, const Shape& shape) : random_(seed), shape_(shape) {
    for (int64_t i = 0; i < shape.constants; ++i) constants_.push_back(static_cast<float>(i + 1) * 0.25f);
    for (int64_t i = 0; i < shape.places; ++i)
      places_.push_back({static_cast<uint64_t>(random_.below(int64_t{1} << (shape.far ? 34 : 20)) / 64 * 64),
                         static_cast<uint32_t>(64 << random_.below(14)),
                         random_.one_in(3) ? 0u : static_cast<uint32_t>(64 * (2 + random_.below(5)))});
    for (int64_t i = 0; i < shape.masks; ++i) masks_.push_back(static_cast<int32_t>(random_.below(16)));
    for (int64_t i = 0; i < 4; ++i) bases_.push_back(any_base());
    for (int64_t level = 0; level < 8; ++level) {
      std::vector<int64_t> steps{0};
      for (int64_t i = 1; i < shape.motions; ++i) steps.push_back(any_step());
      steps_.push_back(std::move(steps));
    }
  }

  Tape make() {
    block(shape_.depth, shape_.instructions);
    return std::move(tape_);
  }

 private:
  struct Open {
    Affine trip;
    int64_t count = 0;
    size_t level = 0;
  };

  int64_t any_base() {
    const int64_t limit = shape_.far ? random_.pick(std::vector<int64_t>{64, 4096, 1 << 18, 1 << 20, 1 << 28})
                                     : int64_t{1} << 12;
    return random_.below(limit);
  }
  int64_t any_step() {
    const int64_t sign = random_.one_in(3) ? -1 : 1;
    const int64_t most = shape_.far && random_.one_in(3) ? 1 << 19 : 4096;
    return sign * (1 + random_.below(most));
  }

  // A number that is not negative on any trip.
  Affine number() {
    Affine result(random_.pick(bases_) + (random_.one_in(2) ? random_.below(256) : 0));
    if (random_.one_in(5)) return result;
    for (const Open& open : open_) {
      const int64_t step = random_.pick(steps_[open.level]);
      result += open.trip * step;
      if (step < 0) result += Affine(-step * (open.count - 1));
    }
    return result;
  }

  ScalarId readable() {
    if (!variables_.empty() && !random_.one_in(3)) return random_.pick(variables_);
    return random_.one_in(6) ? tape_.zero() : tape_.constant(random_.pick(constants_));
  }
  int32_t mask() { return random_.one_in(2) ? -1 : random_.pick(masks_); }

  void block(int64_t depth, int64_t budget) {
    const size_t known = variables_.size();
    const int64_t count = 1 + random_.below(shape_.statements);
    for (int64_t i = 0; i < count; ++i) {
      if (depth > 0 && budget > 4 && !random_.one_in(3))
        nest(depth, budget / count);
      else
        instruction();
    }
    variables_.resize(known);
  }

  void nest(int64_t depth, int64_t budget) {
    const int64_t trips = 1 + random_.below(std::clamp<int64_t>(budget / 3, 1, 9));
    const int64_t unroll = random_.pick(std::vector<int64_t>{1, 1, 2, 3, 4, 64});
    const uint64_t seed = random_.next();
    tape_.loop(trips, unroll, [&](const Affine& trip) {
      // Copies of a body do the same on other numbers.
      const Random outer = std::exchange(random_, Random(seed));
      open_.push_back({trip, trips, open_.size()});
      block(depth - 1, budget / trips);
      open_.pop_back();
      random_ = outer;
    });
  }

  void instruction() {
    tape_.region(fmt::format("r{}", random_.below(3)));
    switch (shape_.transfers && !random_.one_in(4) ? 9 + random_.below(3) : random_.below(16)) {
      case 0:
        return tape_.mm(number(), number());
      case 1:
        return tape_.btmv(number(), number(), number());
      case 2:
        return tape_.mm_write(number(), random_.one_in(2) ? 1 : 1 + random_.below(8));
      case 3:
        return tape_.bmm_write(number());
      case 4:
        return tape_.vv(Opcode::kVAddVv, number(), number(), number(), mask());
      case 5:
        return tape_.vf(Opcode::kVMulVf, number(), number(), readable(), mask());
      case 6:
        return tape_.v_sub_f(number(), number(), readable(), random_.one_in(2), mask());
      case 7:
        return random_.one_in(2) ? tape_.v_exp(number(), number()) : tape_.v_reci(number(), number());
      case 8:
        return tape_.v_shift(number(), number(), random_.below(64));
      case 9:
        return tape_.prefetch_m(number(), random_.pick(places_), number());
      case 10:
        return tape_.prefetch_v(number(), random_.pick(places_), number());
      case 11:
        return tape_.store_v(number(), random_.pick(places_), number());
      default:
        return scalars();
    }
  }

  void scalars() {
    const bool room = static_cast<int64_t>(variables_.size()) < shape_.variables;
    if (variables_.empty() || (room && random_.one_in(2))) {
      if (!room) return tape_.v_exp(number(), number());
      const ScalarId made = tape_.variable();
      if (random_.one_in(3))
        tape_.s_fp(Opcode::kSMulFp, made, readable(), readable());
      else
        tape_.set(made, random_.pick(constants_));
      variables_.push_back(made);
      return;
    }
    const ScalarId to = random_.pick(variables_);
    switch (random_.below(6)) {
      case 0:
        return tape_.red_sum(to, number());
      case 1:
        return tape_.red_max(to, number());
      case 2:
        return tape_.s_fp(Opcode::kSAddFp, to, readable(), readable());
      case 3:
        return tape_.s_fp(Opcode::kSReciFp, to, readable());
      case 4:
        return tape_.s_store(to, 512 + random_.below(8));
      default:
        return tape_.set(to, random_.pick(constants_));
    }
  }

  Random random_;
  const Shape shape_;
  Tape tape_;
  std::vector<float> constants_;
  std::vector<HbmPlace> places_;
  std::vector<int32_t> masks_;
  std::vector<int64_t> bases_;
  std::vector<std::vector<int64_t>> steps_;  // by level of the loop
  std::vector<Open> open_;
  std::vector<ScalarId> variables_;
};

// ---- the property

struct Tally {
  int assigned = 0, refused = 0;
};

void expect_same(const Tape& tape, const AssignOptions& options, Tally& tally) {
  const auto code = assign_registers(tape, options);
  if (!code.ok()) {
    EXPECT_EQ(code.status().code(), Code::kResourceExhausted) << code.status().message();
    ++tally.refused;
    return;
  }
  ++tally.assigned;
  TapeRunner tape_runner(tape);
  const std::vector<Event> expected = tape_runner.run();
  WordRunner word_runner(*code);
  const std::vector<Event> got = word_runner.run();
  const size_t common = std::min(expected.size(), got.size());
  for (size_t i = 0; i < common; ++i) ASSERT_EQ(got[i], expected[i]) << "step " << i;
  ASSERT_EQ(got.size(), expected.size());
  // What it says about itself is what it did.
  EXPECT_EQ(word_runner.times(), code->times);
  std::array<uint64_t, kOpcodeCount> executed{};
  for (size_t i = 0; i < code->words.size(); ++i) executed[code->words[i] & 0x3Fu] += word_runner.times()[i];
  EXPECT_EQ(executed, code->executed);
  EXPECT_EQ(code->loop_depth, tape_runner.depth());
  EXPECT_EQ(code->region_of.size(), code->words.size());
}

void expect_same(uint64_t first_seed, int count, const Shape& shape, double most_refused) {
  Tally tally;
  for (int i = 0; i < count; ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    const Tape tape = TapeMaker(seed, shape).make();
    for (const bool hoist : {true, false}) {
      for (const bool write_immediates : {true, false}) {
        for (const uint32_t cached : {15u, 7u, 3u}) {
          SCOPED_TRACE(
              fmt::format("seed {} hoist {} immediates {} cached {}", seed, hoist, write_immediates, cached));
          AssignOptions options;
          options.hoist = hoist;
          options.write_immediates = write_immediates;
          options.cached_numbers = cached;
          expect_same(tape, options, tally);
          if (testing::Test::HasFatalFailure() || testing::Test::HasNonfatalFailure()) return;
        }
      }
    }
  }
  EXPECT_LE(tally.refused, most_refused * (tally.refused + tally.assigned));
}

TEST(AssignProperty, StraightCodeDoesWhatTheTapeSays) {
  expect_same(1000, 100, {.depth = 0, .statements = 60}, 0);
}

TEST(AssignProperty, RolledLoopsDoWhatTheTapeSays) {
  for (int64_t depth = 1; depth <= 5; ++depth) {
    SCOPED_TRACE(depth);
    expect_same(2000 + 100 * static_cast<uint64_t>(depth), 60, {.depth = depth, .motions = 2, .far = false},
                0.2);
  }
}

TEST(AssignProperty, AddressesBeyondAnImmediateDoWhatTheTapeSays) {
  for (int64_t depth = 1; depth <= 4; ++depth) {
    SCOPED_TRACE(depth);
    expect_same(3000 + 100 * static_cast<uint64_t>(depth), 60, {.depth = depth, .motions = 2}, 0.5);
  }
}

TEST(AssignProperty, MoreConstantsThanRegistersDoWhatTheTapeSays) {
  expect_same(4000, 80, {.depth = 2, .constants = 30, .variables = 4, .far = false, .statements = 8}, 0.3);
}

TEST(AssignProperty, ATripThatIsTooLongForTheMachineIsRefused) {
  Tape tape;
  tape.loop(3, 1, [&](const Affine& trip) {
    tape.loop(10, 1, [&](const Affine& inner) { tape.v_exp(trip * 640 + inner * 64, 64); });
  });
  AssignOptions options;
  const auto code = assign_registers(tape, options);
  ASSERT_TRUE(code.ok()) << code.status().message();
  options.max_loop = 20;
  const auto refused = assign_registers(tape, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_NE(refused.status().message().find("the machine allows 20"), std::string::npos)
      << refused.status().message();
}

TEST(AssignProperty, MoreTensorsThanAddressRegistersDoWhatTheTapeSays) {
  expect_same(5000, 40, {.depth = 2, .places = 16, .masks = 5, .far = false, .statements = 8}, 0.3);
  expect_same(5100, 15,
              {.depth = 2, .motions = 2, .places = 16, .far = false, .statements = 20, .transfers = true},
              0.3);
}

}  // namespace
}  // namespace zomboss::plena
