#include "plugins/targets/plena/code/assign.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace zomboss::plena {
namespace {

constexpr uint32_t kGpCount = 16;
constexpr uint32_t kFpCount = 8;
constexpr uint32_t kAddressCount = 8;
constexpr int64_t kImmediateLimit = int64_t{1} << 18;
constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
constexpr uint32_t kSlotLimit = 1024;
constexpr uint32_t kTemporaries = 3;  // the most numbers that one instruction needs

using Terms = std::vector<AffineTerm>;

// A number: how it moves with the rolled loops around it, and its value on their first trip.
struct Number {
  uint32_t motion = 0;  // index of its terms; 0 = it does not move
  int64_t base = 0;
  bool operator==(const Number&) const = default;
  auto operator<=>(const Number&) const = default;
};

struct GpPage {
  bool filled = false;
  bool pinned = false;
  Number number;
  uint32_t next_use = kNever;
};

struct FpPage {
  ScalarId scalar = kNoScalar;
  bool pinned = false;
  uint32_t next_use = kNever;
};

// A register that follows a rolled loop: its terms up to that loop, from `base` on.
struct Pointer {
  Terms terms;
  int64_t base = 0;
  int64_t step = 0;  // per trip
  uint32_t reg = 0;
  bool carried = false;  // the register is a pointer of the loop outside, which nobody else uses
  int64_t moved = 0;     // by loops inside that carry it on, each trip
};

// A loop that is open while those inside it are assigned.
struct Frame {
  uint32_t begin = 0;
  std::vector<Pointer> pointers;
};

uint32_t word_of(Opcode opcode, uint32_t rd, uint32_t rs1, uint32_t rs2 = 0, uint32_t rs3 = 0,
                 uint32_t function = 0) {
  return static_cast<uint32_t>(opcode) | rd << 6 | rs1 << 10 | rs2 << 14 | rs3 << 18 | function << 22;
}
uint32_t word_imm18(Opcode opcode, uint32_t rd, uint32_t rs1, uint32_t immediate) {
  return static_cast<uint32_t>(opcode) | rd << 6 | rs1 << 10 | immediate << 14;
}
uint32_t word_imm22(Opcode opcode, uint32_t rd, uint32_t immediate) {
  return static_cast<uint32_t>(opcode) | rd << 6 | immediate << 10;
}

bool is_write_out(Opcode opcode) {
  return opcode == Opcode::kMMmWo || opcode == Opcode::kMMvWo || opcode == Opcode::kMBmmWo ||
         opcode == Opcode::kMBmvWo;
}
bool is_transfer(Opcode opcode) {
  return opcode == Opcode::kHPrefetchM || opcode == Opcode::kHPrefetchV || opcode == Opcode::kHStoreV;
}

class Assigner {
 public:
  Assigner(const Tape& tape, const AssignOptions& options)
      : tape_(tape), items_(tape.items()), options_(options) {}

  Result<MachineCode> run() {
    intern(Terms{});
    number_operands();
    find_lifetimes();
    address_pages_[0] = 0;  // all address registers start at 0; a0 stays
    range(0, static_cast<uint32_t>(items_.size()));
    if (!status_.ok()) return status_;
    return std::move(code_);
  }

 private:
  // ---- preparation
  uint32_t intern(const Terms& terms) {
    const auto [at, inserted] = motions_.try_emplace(terms, static_cast<uint32_t>(motions_.size()));
    if (inserted) terms_of_.push_back(&at->first);
    return at->second;
  }

  void number_operands() {
    numbers_.resize(items_.size());
    for (size_t i = 0; i < items_.size(); ++i) {
      for (size_t k = 0; k < items_[i].gp_count; ++k) {
        const Affine& affine = items_[i].gp[k];
        if (affine.base < 0 || affine.base > std::numeric_limits<uint32_t>::max())
          fail(invalid_argument(fmt::format("an address of {} does not fit a register", affine.base)));
        numbers_[i][k] = {intern(affine.terms), affine.base};
      }
    }
  }

  // A variable lives from its first item to its last; one that a loop uses and did not make lives to its end.
  void find_lifetimes() {
    const auto count = tape_.scalars().size();
    std::vector<uint32_t>& first = first_use_;
    first.assign(count, kNever);
    last_use_.assign(count, 0);
    for (uint32_t i = 0; i < items_.size(); ++i) {
      for (const ScalarId id : items_[i].fp) {
        if (id == kNoScalar) continue;
        const auto s = static_cast<size_t>(id);
        first[s] = std::min(first[s], i);
        last_use_[s] = i;
      }
    }
    for (uint32_t i = 0; i < items_.size(); ++i) {
      if (items_[i].kind != ItemKind::kLoopBegin) continue;
      for (size_t s = 0; s < count; ++s) {
        if (first[s] < i && last_use_[s] > i) last_use_[s] = std::max(last_use_[s], items_[i].match);
      }
    }
  }

  // ---- emission
  void emit(uint32_t word) {
    code_.words.push_back(word);
    code_.region_of.push_back(region_);
    code_.times.push_back(multiplicity_);
    code_.executed[word & 0x3Fu] += multiplicity_;
  }
  void fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  // Whether the operand is an address that the write-out's immediate can make from another number.
  bool through_immediate(const Item& item, size_t k) const {
    if (item.opcode == Opcode::kSLdFp || item.opcode == Opcode::kSStFp) return true;
    return options_.write_immediates && is_write_out(item.opcode) && k == 0;
  }

  // Fills next_use_ for the straight-line items of [begin, end); nested loops end all knowledge.
  void find_next_uses(uint32_t begin, uint32_t end) {
    next_gp_.resize(items_.size());
    next_fp_.resize(items_.size());
    std::map<Number, uint32_t> gp_at;
    std::map<ScalarId, uint32_t> fp_at;
    for (uint32_t i = end; i-- > begin;) {
      const Item& item = items_[i];
      if (item.kind == ItemKind::kLoopEnd) {
        gp_at.clear();
        fp_at.clear();
        i = item.match;
        continue;
      }
      for (size_t k = 0; k < item.gp_count; ++k) {
        const auto at = gp_at.find(numbers_[i][k]);
        next_gp_[i][k] = at == gp_at.end() ? kNever : at->second;
      }
      for (size_t k = 0; k < item.fp.size(); ++k) {
        const auto at = fp_at.find(item.fp[k]);
        next_fp_[i][k] = at == fp_at.end() ? kNever : at->second;
      }
      for (size_t k = 0; k < item.gp_count; ++k) {
        if (!through_immediate(item, k)) gp_at[numbers_[i][k]] = i;
      }
      for (const ScalarId id : item.fp) {
        if (id != kNoScalar) fp_at[id] = i;
      }
    }
  }

  // ---- scalar registers
  std::optional<uint32_t> find_gp(const Number& number) const {
    if (number.motion == 0 && number.base == 0) return 0;
    for (uint32_t reg = 1; reg < kGpCount; ++reg) {
      if (gp_[reg].filled && gp_[reg].number == number) return reg;
    }
    return std::nullopt;
  }

  // The register whose number is the nearest one below within an immediate, gp0 included.
  std::optional<uint32_t> find_base(const Number& number) const {
    std::optional<uint32_t> best;
    int64_t distance = kImmediateLimit;
    if (number.motion == 0 && number.base < kImmediateLimit) {
      best = 0;
      distance = number.base;
    }
    for (uint32_t reg = 1; reg < kGpCount; ++reg) {
      const GpPage& page = gp_[reg];
      if (!page.filled || page.number.motion != number.motion) continue;
      const int64_t step = number.base - page.number.base;
      if (step >= 0 && step < distance) {
        best = reg;
        distance = step;
      }
    }
    return best;
  }

  // The register to give up: a free one, else the one whose number is needed last. Numbers that come and go
  // have a limited share of the registers; counters and pointers take any.
  uint32_t victim(uint32_t protect, bool cached) {
    uint32_t best = 0, free = 0, held = 0;
    for (uint32_t reg = 1; reg < kGpCount; ++reg) {
      const GpPage& page = gp_[reg];
      if (page.pinned) continue;
      if (!page.filled) {
        if (free == 0 && (protect >> reg & 1u) == 0) free = reg;
        continue;
      }
      ++held;
      if ((protect >> reg & 1u) != 0) continue;
      if (best == 0 || page.next_use > gp_[best].next_use) best = reg;
    }
    if (free != 0 && (!cached || best == 0 || held < options_.cached_numbers)) return free;
    if (best == 0) fail(resource_exhausted("the loop nest needs more scalar registers than there are"));
    return best == 0 ? 1 : best;
  }

  // A register with the number, made if need be. `protect`: registers that must keep theirs.
  uint32_t get(const Number& number, uint32_t next_use, uint32_t protect) {
    if (const auto reg = find_gp(number)) {
      gp_[*reg].next_use = next_use;
      return *reg;
    }
    const uint32_t reg = victim(protect, true);
    make(reg, number);
    gp_[reg] = {true, false, number, next_use};
    return reg;
  }

  void make(uint32_t reg, const Number& number) {
    if (const auto base = find_base(number)) {
      const int64_t from = *base == 0 ? 0 : gp_[*base].number.base;
      emit(word_imm18(Opcode::kSAddiInt, reg, *base, static_cast<uint32_t>(number.base - from)));
      return;
    }
    if (number.motion != 0) {
      make_far(reg, number);
      return;
    }
    const auto value = static_cast<uint32_t>(number.base);
    emit(word_imm22(Opcode::kSLuiInt, reg, value >> 12));
    if ((value & 0xFFFu) != 0) emit(word_imm18(Opcode::kSAddiInt, reg, reg, value & 0xFFFu));
  }

  // From a pointer that is farther away than an immediate reaches.
  void make_far(uint32_t reg, const Number& number) {
    for (uint32_t from = 1; from < kGpCount; ++from) {
      const GpPage& page = gp_[from];
      if (!page.filled || page.number.motion != number.motion || page.number.base > number.base) continue;
      const auto distance = static_cast<uint32_t>(number.base - page.number.base);
      if (from == reg) continue;
      emit(word_imm22(Opcode::kSLuiInt, reg, distance >> 12));
      emit(word_of(Opcode::kSAddInt, reg, reg, from));
      if ((distance & 0xFFFu) != 0) emit(word_imm18(Opcode::kSAddiInt, reg, reg, distance & 0xFFFu));
      return;
    }
    fail(internal_error("an address moves with a loop that has no pointer for it"));
  }

  // ---- floating-point registers
  uint32_t slot_of(ScalarId id) {
    const auto [at, inserted] = slots_.try_emplace(id, static_cast<uint32_t>(code_.fp_slots.size()));
    if (inserted) {
      code_.fp_slots.push_back(tape_.scalars()[static_cast<size_t>(id)].value);
      if (code_.fp_slots.size() > kSlotLimit)
        fail(resource_exhausted(fmt::format("the program needs more than {} constants", kSlotLimit)));
    }
    return at->second;
  }

  uint32_t fp_victim(uint32_t protect) {
    uint32_t best = 0;
    for (uint32_t reg = 1; reg < kFpCount; ++reg) {
      const FpPage& page = fp_[reg];
      if (page.scalar == kNoScalar) return reg;
      if (page.pinned || (protect >> reg & 1u) != 0 ||
          !tape_.scalars()[static_cast<size_t>(page.scalar)].is_constant)
        continue;
      if (best == 0 || page.next_use > fp_[best].next_use) best = reg;
    }
    if (best == 0) fail(resource_exhausted("too many scalars live at one time for the FP registers"));
    return best == 0 ? 1 : best;
  }

  uint32_t get_fp(ScalarId id, uint32_t next_use, uint32_t protect, bool is_written) {
    if (id == tape_.zero()) return 0;
    for (uint32_t reg = 1; reg < kFpCount; ++reg) {
      if (fp_[reg].scalar != id) continue;
      fp_[reg].next_use = next_use;
      return reg;
    }
    const uint32_t reg = fp_victim(protect);
    const bool is_constant = tape_.scalars()[static_cast<size_t>(id)].is_constant;
    if (is_constant)
      emit(word_imm18(Opcode::kSLdFp, reg, 0, slot_of(id)));
    else if (!is_written)
      fail(internal_error("a scalar is read before it is written"));
    fp_[reg] = {id, false, next_use};
    return reg;
  }

  void release_scalars(uint32_t at) {
    for (FpPage& page : fp_) {
      if (page.scalar == kNoScalar || tape_.scalars()[static_cast<size_t>(page.scalar)].is_constant) continue;
      if (last_use_[static_cast<size_t>(page.scalar)] <= at) page = {};
    }
  }

  // ---- state of transfers and masks
  void set_state(Opcode opcode, std::optional<uint32_t>& state, uint32_t value, uint32_t protect) {
    if (state == value) return;
    const uint32_t reg = get({0, value}, kNever, protect);
    emit(word_of(opcode, reg, 0));
    state = value;
  }

  uint32_t address_register(uint64_t address, uint32_t protect) {
    for (uint32_t reg = 0; reg < kAddressCount; ++reg) {
      if (address_pages_[reg] == address) {
        address_used_[reg] = ++address_clock_;
        return reg;
      }
    }
    uint32_t best = 1;
    for (uint32_t reg = 1; reg < kAddressCount; ++reg) {
      if (!address_pages_[reg]) {
        best = reg;
        break;
      }
      if (address_used_[reg] < address_used_[best]) best = reg;
    }
    const uint32_t low = get({0, static_cast<int64_t>(address & 0xFFFFFFFFu)}, kNever, protect);
    const uint32_t high = get({0, static_cast<int64_t>(address >> 32)}, kNever, protect | 1u << low);
    emit(word_of(Opcode::kCSetAddrReg, best, high, low));
    address_pages_[best] = address;
    address_used_[best] = ++address_clock_;
    return best;
  }

  // ---- code
  void range(uint32_t begin, uint32_t end) {
    find_next_uses(begin, end);
    for (uint32_t i = begin; i < end && status_.ok(); ++i) {
      region_ = items_[i].region;
      if (items_[i].kind == ItemKind::kLoopBegin) {
        loop(i);
        i = items_[i].match;
      } else {
        instruction(i);
      }
      release_scalars(i);
    }
  }

  void instruction(uint32_t i) {
    const Item& item = items_[i];
    uint32_t protect = 0;
    std::array<uint32_t, 3> gp{};
    std::array<uint32_t, 3> fp{};
    uint32_t immediate = 0;
    for (size_t k = 0; k < item.gp_count; ++k) {
      if (through_immediate(item, k)) {
        if (const auto base = find_base(numbers_[i][k])) {
          gp[k] = *base;
          const int64_t from = *base == 0 ? 0 : gp_[*base].number.base;
          immediate = static_cast<uint32_t>(numbers_[i][k].base - from);
          protect |= 1u << gp[k];
          continue;
        }
      }
      gp[k] = get(numbers_[i][k], next_gp_[i][k], protect);
      protect |= 1u << gp[k];
    }
    uint32_t fp_protect = 0;
    const bool is_load = item.opcode == Opcode::kSLdFp;
    for (const size_t k : {size_t{1}, size_t{2}, size_t{0}}) {  // operands before the result
      if (item.fp[k] == kNoScalar || (is_load && k == 1)) continue;
      fp[k] = get_fp(item.fp[k], next_fp_[i][k], fp_protect, k == 0);
      fp_protect |= 1u << fp[k];
    }
    if (item.mask >= 0) set_state(Opcode::kCSetVMaskReg, mask_, static_cast<uint32_t>(item.mask), protect);
    if (is_transfer(item.opcode)) {
      transfer(item, gp, protect);
      return;
    }
    emit(encode(item, gp, fp, immediate));
  }

  void transfer(const Item& item, const std::array<uint32_t, 3>& gp, uint32_t protect) {
    set_state(Opcode::kCSetScaleReg, scale_, item.place.scale_distance, protect);
    if (item.place.stride != 0) set_state(Opcode::kCSetStrideReg, stride_, item.place.stride, protect);
    const uint32_t address = address_register(item.place.address, protect);
    emit(word_of(item.opcode, gp[0], gp[1], address, item.place.stride != 0 ? 1 : 0));
  }

  uint32_t encode(const Item& item, const std::array<uint32_t, 3>& gp, const std::array<uint32_t, 3>& fp,
                  uint32_t immediate) {
    const uint32_t mask = item.mask >= 0 ? 1 : 0;
    switch (item.opcode) {
      case Opcode::kMMm:
      case Opcode::kMTmm:
      case Opcode::kMBmm:
      case Opcode::kMBtmm:
      case Opcode::kMMv:
      case Opcode::kMTmv:
        return word_of(item.opcode, 0, gp[0], gp[1]);
      case Opcode::kMMmWo:
        return word_imm18(item.opcode, gp[0], item.gp_count > 1 ? gp[1] : 0, immediate);
      case Opcode::kMMvWo:
      case Opcode::kMBmmWo:
      case Opcode::kMBmvWo:
        return word_imm18(item.opcode, gp[0], 0, immediate);
      case Opcode::kVAddVv:
      case Opcode::kVSubVv:
      case Opcode::kVMulVv:
        return word_of(item.opcode, gp[0], gp[1], gp[2], mask);
      case Opcode::kVSubVf:
        return word_of(item.opcode, gp[0], gp[1], fp[2], mask, item.reverse ? 1 : 0);
      case Opcode::kVAddVf:
      case Opcode::kVMulVf:
      case Opcode::kVMaxVf:
      case Opcode::kVMinVf:
        return word_of(item.opcode, gp[0], gp[1], fp[2], mask);
      case Opcode::kVRedSum:
      case Opcode::kVRedMax:
        return word_of(item.opcode, fp[0], gp[0]);
      case Opcode::kSLdFp:
        return item.gp_count != 0 ? word_imm18(item.opcode, fp[0], gp[0], immediate)
                                  : word_imm18(item.opcode, fp[0], 0, slot_of(item.fp[1]));
      case Opcode::kSStFp:
        return word_imm18(item.opcode, fp[1], gp[0], immediate);
      case Opcode::kSAddFp:
      case Opcode::kSSubFp:
      case Opcode::kSMaxFp:
      case Opcode::kSMulFp:
      case Opcode::kSExpFp:
      case Opcode::kSReciFp:
      case Opcode::kSSqrtFp:
        return word_of(item.opcode, fp[0], fp[1], fp[2]);
      default:  // M_BTMV, V_EXP_V, V_RECI_V, V_SHFT_V: operands in field order
        return word_of(item.opcode, gp[0], gp[1], gp[2]);
    }
  }

  // ---- rolled loops
  // The terms that belong to loops that are open, up to and including the innermost one.
  Terms open_part(const Terms& terms) const {
    Terms part;
    for (const AffineTerm& term : terms) {
      if (std::find(open_.begin(), open_.end(), term.loop) != open_.end()) part.push_back(term);
    }
    return part;
  }

  // The pointers that the loop at `begin` needs, when it is the innermost open one.
  std::vector<Pointer> pointers_of(uint32_t begin) const {
    std::map<Terms, std::vector<int64_t>> bases;
    const LoopId loop = items_[begin].loop;
    for (uint32_t i = begin + 1; i < items_[begin].match; ++i) {
      for (size_t k = 0; k < items_[i].gp_count; ++k) {
        Terms part = open_part(*terms_of_[numbers_[i][k].motion]);
        if (!part.empty() && part.back().loop == loop) bases[std::move(part)].push_back(numbers_[i][k].base);
      }
    }
    std::vector<Pointer> pointers;
    for (auto& [terms, list] : bases) {
      std::sort(list.begin(), list.end());
      int64_t last = 0;
      bool any = false;
      for (const int64_t base : list) {
        if (any && base - last < kImmediateLimit) continue;
        pointers.push_back({terms, base, terms.back().step, 0});
        last = base;
        any = true;
      }
    }
    return pointers;
  }

  // Whether the loop at `inner` is the only user of a pointer of the innermost open loop, at `outer`. Then it
  // moves that register on itself.
  bool only_user(uint32_t outer, const Pointer& pointer, uint32_t inner) const {
    const LoopId loop = items_[inner].loop;
    for (uint32_t i = outer + 1; i < items_[outer].match; ++i) {
      for (size_t k = 0; k < items_[i].gp_count; ++k) {
        const Terms& terms = *terms_of_[numbers_[i][k].motion];
        if (open_part(terms) != pointer.terms) continue;
        const bool inside = std::any_of(terms.begin(), terms.end(),
                                        [loop](const AffineTerm& term) { return term.loop == loop; });
        if (!inside) return false;
      }
    }
    return true;
  }

  // Of the pointers of the loop at `begin`: those that go on with a pointer of the loop outside.
  void find_carried(uint32_t begin, std::vector<Pointer>& pointers, Frame* outer) {
    if (outer == nullptr) return;
    for (Pointer& pointer : pointers) {
      Terms above = pointer.terms;
      above.pop_back();
      size_t same = 0;
      for (const Pointer& other : pointers) {
        if (other.terms.size() == above.size() + 1 &&
            std::equal(above.begin(), above.end(), other.terms.begin()))
          ++same;
      }
      size_t parents = 0;
      Pointer* parent = nullptr;
      for (Pointer& each : outer->pointers) {
        if (each.terms != above) continue;
        ++parents;
        parent = &each;
      }
      if (same != 1 || parents != 1 || parent->base != pointer.base ||
          !only_user(outer->begin, *parent, begin))
        continue;
      pointer.carried = true;
      pointer.reg = parent->reg;
      parent->moved = pointer.step * items_[begin].trips;
    }
  }

  // Registers that the loop and those inside it hold on to.
  uint32_t registers_needed(uint32_t begin, Frame* outer) {
    open_.push_back(items_[begin].loop);
    std::vector<Pointer> pointers = pointers_of(begin);
    open_.pop_back();
    find_carried(begin, pointers, outer);
    open_.push_back(items_[begin].loop);
    uint32_t own = 1;
    for (const Pointer& pointer : pointers) own += pointer.carried ? 0 : 1;
    uint32_t inner = 0;
    for (uint32_t i = begin + 1; i < items_[begin].match; ++i) {
      if (items_[i].kind != ItemKind::kLoopBegin) continue;
      Frame copy{begin, pointers};
      inner = std::max(inner, registers_needed(i, &copy));
      i = items_[i].match;
    }
    open_.pop_back();
    return own + inner;
  }

  uint32_t pin(const Number& number, uint32_t protect) {
    const uint32_t reg = get(number, kNever, protect);
    gp_[reg].pinned = true;
    return reg;
  }

  void drop_unpinned() {
    for (GpPage& page : gp_) {
      if (!page.pinned) page = {};
    }
    for (FpPage& page : fp_) {
      if (page.scalar != kNoScalar && !page.pinned &&
          tape_.scalars()[static_cast<size_t>(page.scalar)].is_constant)
        page = {};
    }
  }

  uint32_t free_registers() const {
    uint32_t count = 0;
    for (uint32_t reg = 1; reg < kGpCount; ++reg) count += gp_[reg].pinned ? 0 : 1;
    return count;
  }

  // Numbers of the loop's body that do not move with it or with loops inside, most used first.
  std::vector<Number> unchanging(uint32_t begin) const {
    std::map<Number, uint64_t> uses;
    std::vector<uint64_t> weights{1};
    for (uint32_t i = begin + 1; i < items_[begin].match; ++i) {
      const Item& item = items_[i];
      if (item.kind == ItemKind::kLoopBegin) weights.push_back(weights.back() * item.trips);
      if (item.kind == ItemKind::kLoopEnd) weights.pop_back();
      for (size_t k = 0; k < item.gp_count; ++k) {
        const Number& number = numbers_[i][k];
        const Terms& terms = *terms_of_[number.motion];
        const bool moves = std::any_of(terms.begin(), terms.end(), [&](const AffineTerm& term) {
          return term.loop >= items_[begin].loop;
        });
        if (!moves && !through_immediate(item, k) && !(number == Number{})) uses[number] += weights.back();
      }
    }
    std::vector<std::pair<uint64_t, Number>> sorted;
    for (const auto& [number, count] : uses) sorted.emplace_back(count, number);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Number> result;
    for (const auto& each : sorted) result.push_back(each.second);
    return result;
  }

  // `inside`: registers that loops inside will hold on to.
  void hoist_numbers(uint32_t begin, uint32_t inside, std::vector<uint32_t>& pinned) {
    const uint32_t needed = inside + kTemporaries;
    for (const Number& number : unchanging(begin)) {
      if (free_registers() <= needed) return;
      if (const auto reg = find_gp(number); reg && (*reg == 0 || gp_[*reg].pinned)) continue;
      pinned.push_back(pin(number, 0));
    }
  }

  // The most variables that live at one time inside the loop and did not before it.
  size_t most_live(uint32_t begin) const {
    std::vector<std::pair<uint32_t, int>> events;
    for (size_t s = 0; s < first_use_.size(); ++s) {
      if (tape_.scalars()[s].is_constant || first_use_[s] < begin || first_use_[s] > items_[begin].match)
        continue;
      events.emplace_back(first_use_[s], 1);
      events.emplace_back(last_use_[s] + 1, -1);
    }
    std::sort(events.begin(), events.end());
    size_t live = 0, most = 0;
    for (const auto& [at, change] : events) {
      live = change > 0 ? live + 1 : live - 1;
      most = std::max(most, live);
    }
    return most;
  }

  void hoist_scalars(uint32_t begin, std::vector<uint32_t>& pinned) {
    std::map<ScalarId, uint32_t> uses;
    for (uint32_t i = begin + 1; i < items_[begin].match; ++i) {
      const Item& item = items_[i];
      for (size_t k = 0; k < item.fp.size(); ++k) {
        const ScalarId id = item.fp[k];
        if (id == kNoScalar || id == tape_.zero() || (item.opcode == Opcode::kSLdFp && k == 1)) continue;
        if (tape_.scalars()[static_cast<size_t>(id)].is_constant) ++uses[id];
      }
    }
    std::vector<std::pair<uint32_t, ScalarId>> sorted;
    for (const auto& [id, count] : uses) sorted.emplace_back(count, id);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    const size_t reserve = most_live(begin) + 1;  // for variables, and constants that do not fit
    for (const auto& each : sorted) {
      size_t free = 0;
      bool held = false;
      for (uint32_t reg = 1; reg < kFpCount; ++reg) {
        free += fp_[reg].scalar == kNoScalar ? 1 : 0;
        held = held || (fp_[reg].scalar == each.second && fp_[reg].pinned);
      }
      if (free <= reserve) return;
      if (held) continue;
      const uint32_t reg = get_fp(each.second, kNever, 0, false);
      fp_[reg].pinned = true;
      pinned.push_back(reg);
    }
  }

  // State that all of the loop's body agrees on is set before it; other state is not known inside.
  void settle_state(uint32_t begin) {
    std::vector<uint32_t> scales, strides, masks;
    std::vector<uint64_t> addresses;
    for (uint32_t i = begin + 1; i < items_[begin].match; ++i) {
      const Item& item = items_[i];
      if (item.mask >= 0) masks.push_back(static_cast<uint32_t>(item.mask));
      if (!is_transfer(item.opcode)) continue;
      scales.push_back(item.place.scale_distance);
      if (item.place.stride != 0) strides.push_back(item.place.stride);
      if (item.place.address != 0) addresses.push_back(item.place.address);
    }
    settle(Opcode::kCSetScaleReg, scale_, scales);
    settle(Opcode::kCSetStrideReg, stride_, strides);
    settle(Opcode::kCSetVMaskReg, mask_, masks);
    std::sort(addresses.begin(), addresses.end());
    addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
    if (addresses.size() < kAddressCount) {
      for (const uint64_t address : addresses) address_register(address, 0);
    } else {
      for (uint32_t reg = 1; reg < kAddressCount; ++reg) address_pages_[reg].reset();
    }
  }

  void settle(Opcode opcode, std::optional<uint32_t>& state, const std::vector<uint32_t>& values) {
    if (values.empty()) return;
    if (std::all_of(values.begin(), values.end(), [&](uint32_t value) { return value == values.front(); }))
      set_state(opcode, state, values.front(), 0);
    else
      state.reset();
  }

  void loop(uint32_t begin) {
    const Item& mark = items_[begin];
    settle_state(begin);
    std::vector<uint32_t> fp_pinned;
    if (options_.hoist) hoist_scalars(begin, fp_pinned);
    Frame* outer = frames_.empty() ? nullptr : &frames_.back();
    const uint32_t total = registers_needed(begin, outer);
    open_.push_back(mark.loop);
    std::vector<Pointer> pointers = pointers_of(begin);
    open_.pop_back();
    find_carried(begin, pointers, outer);
    std::vector<uint32_t> pinned;
    for (Pointer& pointer : pointers) {
      if (!pointer.carried) start_pointer(pointer, pinned);
    }
    const auto own = static_cast<uint32_t>(pinned.size()) + 1;
    const uint32_t counter = victim(0, false);
    gp_[counter] = {true, true, {kNever, 0}, kNever};
    if (options_.hoist) hoist_numbers(begin, total - own, pinned);
    for (const Pointer& pointer : pointers) gp_[pointer.reg].number = {intern(pointer.terms), pointer.base};
    emit(word_imm22(Opcode::kCLoopStart, counter, mark.trips));
    multiplicity_ *= mark.trips;
    const size_t first_word = code_.words.size();
    open_.push_back(mark.loop);
    code_.loop_depth = std::max(code_.loop_depth, static_cast<uint32_t>(open_.size()));
    drop_unpinned();
    frames_.push_back({begin, std::move(pointers)});
    range(begin + 1, mark.match);
    region_ = mark.region;
    pointers = std::move(frames_.back().pointers);
    frames_.pop_back();
    for (const Pointer& pointer : pointers) advance(pointer);
    emit(word_of(Opcode::kCLoopEnd, counter, 0));
    check_trip(first_word);
    open_.pop_back();
    multiplicity_ /= mark.trips;
    gp_[counter] = {};
    for (const uint32_t reg : pinned) gp_[reg].pinned = false;
    for (const Pointer& pointer : pointers) gp_[pointer.reg] = {true, pointer.carried, {kNever, 1}, kNever};
    for (const uint32_t reg : fp_pinned) fp_[reg].pinned = false;
    drop_unpinned();
  }

  // The machine stops a program whose loop executes too many instructions in one trip.
  void check_trip(size_t first_word) {
    uint64_t executed = 0;
    for (size_t i = first_word; i < code_.words.size(); ++i) executed += code_.times[i] / multiplicity_;
    if (executed > options_.max_loop)
      fail(resource_exhausted(
          fmt::format("one trip of a loop executes {} instructions, the machine allows {}; unroll it",
                      executed, options_.max_loop)));
  }

  // Before its loop a pointer holds the number of the loop's first trip, which moves with the outer loops
  // only.
  void start_pointer(Pointer& pointer, std::vector<uint32_t>& pinned) {
    Terms outer = pointer.terms;
    outer.pop_back();
    const Number first{intern(outer), pointer.base};
    const uint32_t reg = victim(0, false);
    make(reg, first);
    gp_[reg] = {true, true, first, kNever};
    pointer.reg = reg;
    pinned.push_back(reg);
  }

  void advance(const Pointer& pointer) {
    const int64_t step = pointer.step - pointer.moved;
    if (step == 0) return;
    if (step > 0 && step < kImmediateLimit) {
      emit(word_imm18(Opcode::kSAddiInt, pointer.reg, pointer.reg, static_cast<uint32_t>(step)));
      return;
    }
    const uint32_t reg = get({0, step < 0 ? -step : step}, kNever, 1u << pointer.reg);
    emit(word_of(step < 0 ? Opcode::kSSubInt : Opcode::kSAddInt, pointer.reg, pointer.reg, reg));
  }

  const Tape& tape_;
  const std::vector<Item>& items_;
  const AssignOptions options_;
  Status status_;
  MachineCode code_;
  uint16_t region_ = 0;
  uint64_t multiplicity_ = 1;

  std::map<Terms, uint32_t> motions_;
  std::vector<const Terms*> terms_of_;
  std::vector<std::array<Number, 3>> numbers_;
  std::vector<std::array<uint32_t, 3>> next_gp_, next_fp_;
  std::vector<uint32_t> first_use_, last_use_;  // of scalars, by item
  std::map<ScalarId, uint32_t> slots_;

  std::array<GpPage, kGpCount> gp_{};
  std::array<FpPage, kFpCount> fp_{};
  std::optional<uint32_t> scale_ = 0, stride_ = 1, mask_ = 0;
  std::array<std::optional<uint64_t>, kAddressCount> address_pages_{};
  std::array<uint64_t, kAddressCount> address_used_{};
  uint64_t address_clock_ = 0;
  // The rolled loops around the code that is being written, from the outside in.
  std::vector<LoopId> open_;
  std::vector<Frame> frames_;
};

}  // namespace

Result<MachineCode> assign_registers(const Tape& tape, const AssignOptions& options) {
  if (options.cached_numbers < kTemporaries)
    return invalid_argument("an instruction needs up to three numbers in registers");
  return Assigner(tape, options).run();
}

}  // namespace zomboss::plena
