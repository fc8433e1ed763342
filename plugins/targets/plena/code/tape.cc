#include "plugins/targets/plena/code/tape.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace zomboss::plena {

Tape::Tape() {
  scalars_.push_back({true, 0.0f});
  regions_.push_back("start");
}

void Tape::region(std::string_view name) {
  const auto at = std::find(regions_.begin(), regions_.end(), name);
  region_ = static_cast<uint16_t>(at - regions_.begin());
  if (at == regions_.end()) regions_.emplace_back(name);
}

ScalarId Tape::constant(float value) {
  for (size_t i = 0; i < scalars_.size(); ++i) {
    if (scalars_[i].is_constant &&
        std::bit_cast<uint32_t>(scalars_[i].value) == std::bit_cast<uint32_t>(value))
      return static_cast<ScalarId>(i);
  }
  scalars_.push_back({true, value});
  return static_cast<ScalarId>(scalars_.size() - 1);
}

ScalarId Tape::variable() {
  scalars_.push_back({});
  return static_cast<ScalarId>(scalars_.size() - 1);
}

void Tape::loop(int64_t count, int64_t unroll, const std::function<void(const Affine&)>& body) {
  const int64_t copies = std::clamp<int64_t>(unroll, 1, std::max<int64_t>(count, 1));
  const int64_t trips = count / copies;
  int64_t done = 0;
  if (trips > 1) {
    const LoopId loop = loops_++;
    const auto begin = static_cast<uint32_t>(items_.size());
    Item& start = add(Opcode::kCLoopStart, {});
    start.kind = ItemKind::kLoopBegin;
    start.loop = loop;
    start.trips = static_cast<uint32_t>(trips);
    for (int64_t copy = 0; copy < copies; ++copy) body(Affine::trip_of(loop) * copies + copy);
    const auto end_index = static_cast<uint32_t>(items_.size());
    Item& end = add(Opcode::kCLoopEnd, {});
    end.kind = ItemKind::kLoopEnd;
    end.loop = loop;
    end.match = begin;
    items_[begin].match = end_index;
    done = trips * copies;
  }
  for (; done < count; ++done) body(done);
}

Item& Tape::add(Opcode opcode, std::initializer_list<Affine> gp) {
  Item item;
  item.opcode = opcode;
  item.region = region_;
  for (const Affine& each : gp) item.gp[item.gp_count++] = each;
  items_.push_back(std::move(item));
  return items_.back();
}

void Tape::masked(Item& item, int32_t mask) {
  item.mask = mask;
}

void Tape::mm(Affine matrix, Affine vector) {
  add(Opcode::kMMm, {matrix, vector});
}
void Tape::tmm(Affine vector, Affine matrix) {
  add(Opcode::kMTmm, {vector, matrix});
}
void Tape::bmm(Affine matrix, Affine vector) {
  add(Opcode::kMBmm, {matrix, vector});
}
void Tape::btmm(Affine matrix, Affine vector) {
  add(Opcode::kMBtmm, {matrix, vector});
}
void Tape::mv(Affine matrix, Affine vector) {
  add(Opcode::kMMv, {matrix, vector});
}
void Tape::btmv(Affine matrix, Affine slice, Affine vector) {
  add(Opcode::kMBtmv, {slice, matrix, vector});
}

// The immediate of a write-out is the constant part of its address as far as it fits.
void Tape::mm_write(Affine to, int64_t row_stride) {
  if (row_stride == 1)
    add(Opcode::kMMmWo, {to});
  else
    add(Opcode::kMMmWo, {to, row_stride});
}
void Tape::mv_write(Affine to) {
  add(Opcode::kMMvWo, {to});
}
void Tape::bmm_write(Affine to) {
  add(Opcode::kMBmmWo, {to});
}
void Tape::bmv_write(Affine to) {
  add(Opcode::kMBmvWo, {to});
}

void Tape::vv(Opcode opcode, Affine to, Affine a, Affine b, int32_t mask) {
  masked(add(opcode, {to, a, b}), mask);
}
void Tape::vf(Opcode opcode, Affine to, Affine a, ScalarId f, int32_t mask) {
  Item& item = add(opcode, {to, a});
  item.fp[2] = f;
  masked(item, mask);
}
void Tape::v_sub_f(Affine to, Affine a, ScalarId f, bool reverse, int32_t mask) {
  Item& item = add(Opcode::kVSubVf, {to, a});
  item.fp[2] = f;
  item.reverse = reverse;
  masked(item, mask);
}
void Tape::v_exp(Affine to, Affine a) {
  add(Opcode::kVExpV, {to, a});
}
void Tape::v_reci(Affine to, Affine a) {
  add(Opcode::kVReciV, {to, a});
}
void Tape::v_shift(Affine to, Affine a, int64_t by) {
  add(Opcode::kVShftV, {to, a, by});
}
void Tape::red_sum(ScalarId to, Affine a) {
  add(Opcode::kVRedSum, {a}).fp[0] = to;
}
void Tape::red_max(ScalarId to, Affine a) {
  add(Opcode::kVRedMax, {a}).fp[0] = to;
}

void Tape::s_fp(Opcode opcode, ScalarId to, ScalarId a, ScalarId b) {
  Item& item = add(opcode, {});
  item.fp = {to, a, b};
}

void Tape::set(ScalarId to, float value) {
  const ScalarId from = constant(value);
  Item& item = add(Opcode::kSLdFp, {});
  item.fp = {to, from, kNoScalar};
}

void Tape::s_load(ScalarId to, Affine slot) {
  add(Opcode::kSLdFp, {slot}).fp[0] = to;
}
void Tape::s_store(ScalarId from, Affine slot) {
  add(Opcode::kSStFp, {slot}).fp[1] = from;
}

void Tape::prefetch_m(Affine to, HbmPlace place, Affine offset) {
  add(Opcode::kHPrefetchM, {to, offset}).place = place;
}
void Tape::prefetch_v(Affine to, HbmPlace place, Affine offset) {
  add(Opcode::kHPrefetchV, {to, offset}).place = place;
}
void Tape::store_v(Affine from, HbmPlace place, Affine offset) {
  add(Opcode::kHStoreV, {from, offset}).place = place;
}

}  // namespace zomboss::plena
