// The dispatch loop, integer and control instructions.
#include <fmt/format.h>

#include <algorithm>

#include "plugins/targets/plena/sim/simulator.h"

namespace zomboss::plena {
namespace {

// The machine has no limit; well-formed programs nest as deep as there are registers.
constexpr size_t kMaxLoopDepth = 4096;

}  // namespace

// One flat switch: the cheap instructions here, the others by unit.
inline bool Simulator::dispatch(const Instruction& in) {
  switch (in.opcode) {
    case Opcode::kSAddInt:
      gp_[in.rd] = gp_[in.rs1] + gp_[in.rs2];
      return true;
    case Opcode::kSAddiInt:
      gp_[in.rd] = gp_[in.rs1] + in.immediate;
      return true;
    case Opcode::kSSubInt:
      gp_[in.rd] = gp_[in.rs1] - gp_[in.rs2];
      return true;
    case Opcode::kSMulInt:
      gp_[in.rd] = gp_[in.rs1] * gp_[in.rs2];
      return true;
    case Opcode::kSLuiInt:
      gp_[in.rd] = in.immediate << 12;
      return true;
    case Opcode::kCLoopEnd:
      return loop_end(in.rd);
    case Opcode::kSLdInt:
    case Opcode::kSStInt:
    case Opcode::kSLdFp:
    case Opcode::kSStFp:
    case Opcode::kSMapVFp:
      return run_scalar_memory(in);
    case Opcode::kSAddFp:
    case Opcode::kSSubFp:
    case Opcode::kSMaxFp:
    case Opcode::kSMulFp:
    case Opcode::kSExpFp:
    case Opcode::kSReciFp:
    case Opcode::kSSqrtFp:
      return run_scalar(in);
    case Opcode::kMMm:
    case Opcode::kMTmm:
    case Opcode::kMBmm:
    case Opcode::kMBtmm:
    case Opcode::kMBmmWo:
    case Opcode::kMMmWo:
    case Opcode::kMMv:
    case Opcode::kMTmv:
    case Opcode::kMBmv:
    case Opcode::kMBtmv:
    case Opcode::kMMvWo:
    case Opcode::kMBmvWo:
      return run_matrix(in);
    case Opcode::kHPrefetchM:
    case Opcode::kHPrefetchV:
    case Opcode::kHStoreV:
      return run_memory(in);
    case Opcode::kCSetAddrReg:
    case Opcode::kCSetScaleReg:
    case Opcode::kCSetStrideReg:
    case Opcode::kCSetVMaskReg:
    case Opcode::kCLoopStart:
    case Opcode::kCBreak:
    case Opcode::kInvalid:
      return run_control(in);
    default:
      return run_vector(in);
  }
}

template <bool kTrace>
bool Simulator::execute(TraceSink* trace) {
  const size_t length = code_.size();
  while (pc_ < length) {
    const Instruction& in = code_[pc_];
    if (executed_ >= stop_at_ && !check_limits()) return false;
    ++executed_;
    ++count_by_pc_[pc_];
    const size_t at = pc_;
    if (!dispatch(in)) {
      --executed_;
      --count_by_pc_[at];
      return false;
    }
    now_ += in.cost;
    ++pc_;
    if constexpr (kTrace) trace->executed(at, now_);
  }
  return true;
}

template bool Simulator::execute<false>(TraceSink* trace);
template bool Simulator::execute<true>(TraceSink* trace);

bool Simulator::run_control(const Instruction& in) {
  switch (in.opcode) {
    case Opcode::kCSetAddrReg:
      address_[in.rd] = uint64_t{gp_[in.rs1]} << 32 | gp_[in.rs2];
      return true;
    case Opcode::kCSetScaleReg:
      scale_register_ = gp_[in.rd];
      return true;
    case Opcode::kCSetStrideReg:
      stride_register_ = gp_[in.rd];
      return true;
    case Opcode::kCSetVMaskReg:
      mask_register_ = gp_[in.rd];
      return true;
    case Opcode::kCBreak:
      return loop_break();
    case Opcode::kCLoopStart:
      if (in.immediate == 0) return fail("the trip count is 0 and must be at least 1");
      if (loops_.size() == kMaxLoopDepth) {
        failure_code_ = Code::kResourceExhausted;
        return fail(fmt::format("{} loops are open; end some", kMaxLoopDepth));
      }
      gp_[in.rd] = in.immediate;
      loops_.push_back({pc_, executed_, in.rd});
      update_stop();
      return true;
    default:
      return fail("there is no such instruction");
  }
}

bool Simulator::loop_end(uint8_t reg) {
  const auto found =
      std::find_if(loops_.rbegin(), loops_.rend(), [reg](const Loop& loop) { return loop.reg == reg; });
  if (found == loops_.rend()) return fail(fmt::format("no open loop uses gp{}; C_LOOP_START it first", reg));
  if (gp_[reg] > 1) {
    gp_[reg] -= 1;
    pc_ = found->start_pc;
    found->start_count = executed_;
  } else {
    gp_[reg] = 0;
    loops_.erase(std::next(found).base());
  }
  update_stop();
  return true;
}

bool Simulator::loop_break() {
  if (loops_.empty()) return fail("no loop is open to break out of");
  gp_[loops_.back().reg] = 0;
  loops_.pop_back();
  update_stop();
  return true;
}

// The next count of executed instructions at which some limit is reached.
void Simulator::update_stop() {
  stop_at_ = instruction_limit_;
  for (const Loop& loop : loops_) {
    const uint64_t room = ~uint64_t{0} - loop.start_count;
    stop_at_ = std::min(stop_at_, loop.start_count + std::min(room, settings_.max_loop_instructions));
  }
}

bool Simulator::check_limits() {
  if (executed_ >= instruction_limit_) {
    failure_code_ = Code::kResourceExhausted;
    return fail(fmt::format("{} instructions have run, the limit of this simulation", executed_));
  }
  for (const Loop& loop : loops_) {
    if (executed_ - loop.start_count < settings_.max_loop_instructions) continue;
    return fail(fmt::format("the loop at pc {} runs more than MAX_LOOP_INSTRUCTIONS, {}, in one trip",
                            loop.start_pc, settings_.max_loop_instructions));
  }
  return true;
}

}  // namespace zomboss::plena
