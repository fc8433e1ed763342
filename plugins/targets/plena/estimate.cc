#include "plugins/targets/plena/estimate.h"

#include <fmt/format.h>

#include <array>
#include <memory>

#include "plugins/targets/plena/sim/simulator.h"

namespace zomboss::plena {
namespace {

// Usual times in ns at the shipped sizes: a tile or vector group from open rows, a group stored.
constexpr double kPrefetchTile = 100, kPrefetchVectors = 22, kStoreVectors = 115;
// Reads of 64 bytes that the HBM can serve: 8 channels x 2 pseudochannels x 16 bytes every 2 ns.
constexpr double kReadsPerNanosecond = 2;
constexpr double kReadBytes = 64;

double cost_of(Opcode opcode, const Settings& settings) {
  switch (opcode) {
    case Opcode::kHPrefetchM:
      return kPrefetchTile;
    case Opcode::kHPrefetchV:
      return kPrefetchVectors;
    case Opcode::kHStoreV:
      return kStoreVectors;
    default:
      return instruction_cost(opcode, settings);
  }
}

}  // namespace

wire::ScheduleT engine_schedule(const MachineCode& code, const Tape& tape, const Machine& machine) {
  wire::ScheduleT schedule;
  const Settings settings = to_settings(machine);
  std::vector<std::array<double, kEngineCount>> cost(tape.regions().size());
  for (size_t i = 0; i < code.words.size(); ++i) {
    const uint32_t opcode = code.words[i] & 0x3Fu;
    cost[code.region_of[i]][static_cast<size_t>(instruction_info(opcode).engine)] +=
        static_cast<double>(code.times[i]) * cost_of(static_cast<Opcode>(opcode), settings);
  }
  for (size_t region = 0; region < cost.size(); ++region) {
    for (size_t engine = 0; engine < kEngineCount; ++engine) {
      if (cost[region][engine] == 0) continue;
      auto node = std::make_unique<wire::ScheduleNodeT>();
      node->engine = std::string(engine_name(static_cast<Engine>(engine)));
      node->label = tape.regions()[region];
      node->cost = cost[region][engine];
      if (!schedule.nodes.empty())
        node->predecessors.push_back(static_cast<uint32_t>(schedule.nodes.size() - 1));
      schedule.static_cost += node->cost;
      schedule.nodes.push_back(std::move(node));
    }
  }
  return schedule;
}

wire::BoundT latency_bound(const Problem& problem, const Machine& machine, bool broadcast_forms) {
  const auto value = [&](ValueId id) -> const Value& { return problem.values[static_cast<size_t>(id)]; };
  // Rows of 64 elements are read in one access and their scales in another.
  double reads = 0, products = 0, rows = 0, stores = 0;
  for (const Value& each : problem.values) {
    if (each.origin != Origin::kInput || (!each.as_rows && !each.as_matrix)) continue;
    const auto vectors =
        static_cast<double>(each.rows) * static_cast<double>((each.cols + machine.vlen - 1) / machine.vlen);
    reads += vectors * (static_cast<double>(machine.vlen) / kReadBytes + 1);
  }
  for (const Stage& stage : problem.stages) {
    if (stage.kind == StageKind::kMatmul)
      products += static_cast<double>(value(stage.a).rows) * static_cast<double>(value(stage.a).cols) *
                  static_cast<double>(value(stage.out).cols);
    if (stage.kind == StageKind::kAttention) {
      const auto keys = static_cast<double>(value(stage.b).rows);
      const auto scores = static_cast<double>(value(stage.a).rows) *
                          static_cast<double>(stage.heads_in_rows ? 1 : stage.heads) * keys /
                          static_cast<double>(stage.heads_in_rows ? stage.kv_heads : 1);
      products += scores * static_cast<double>(stage.head_dim + stage.value_dim);
      rows += scores / machine.vlen;  // each vector of scores: an exponential
      for (const ValueId id : {stage.b, stage.c}) {
        if (value(id).origin == Origin::kStage)
          stores += static_cast<double>(value(id).rows * value(id).cols) / machine.vlen;
      }
    }
    if (stage.kind == StageKind::kSoftmax || stage.kind == StageKind::kMap)
      rows += static_cast<double>(value(stage.a).rows) *
              static_cast<double>((value(stage.a).cols + machine.vlen - 1) / machine.vlen);
  }
  // Products per ns: a broadcast form does BROADCAST heads of MLEN vectors with HLEN x MLEN in MLEN ns.
  const double rate = broadcast_forms && machine.broadcast
                          ? static_cast<double>(machine.broadcast_amount) * machine.hlen * machine.mlen
                          : static_cast<double>(machine.blen) * machine.blen;
  reads += stores * 4;  // read, write and read again of elements and scales, at the least
  wire::BoundT bound;
  bound.latency = reads / kReadsPerNanosecond + products / rate + rows;
  bound.unit = "ns";
  bound.reason = fmt::format(
      "{:.0f} HBM accesses of 64 bytes at 128 bytes/ns, {:.0f} multiplications at {:.0f} per ns, {:.0f} "
      "vectors of "
      "exponentials at 1 ns, and nothing overlaps",
      reads, products, rate, rows);
  return bound;
}

}  // namespace zomboss::plena
