// Decisions read back: what a plan says is what its program does, by the program's notes and the counters of
// its run.
#include <gtest/gtest.h>

#include <set>

#include "plugins/targets/plena/tests/plena_case.h"

namespace zomboss::plena {
namespace {

struct Done {
  wire::ProgramT program;
  wire::SimulationT simulation;
  int64_t executed(const std::string& mnemonic) const { return note(program, "executed." + mnemonic); }
  int64_t count(const std::string& name) const { return counter(simulation, name); }
};

// Lowers and runs the plan; its result must be right.
Done run(PlenaCase& workload, const std::string& intent) {
  Done done;
  SCOPED_TRACE(intent);
  const auto plan = workload.plan(intent);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return done;
  EXPECT_TRUE(plan->relaxations.empty());
  evaluate::Evaluation evaluation = workload.evaluate(*plan);
  EXPECT_EQ(evaluation.outcome, wire::Outcome::Valid) << evaluation.reason;
  done.simulation = std::move(evaluation.simulation);
  auto program = workload.lower(intent);
  EXPECT_TRUE(program.ok());
  if (program.ok()) done.program = *std::move(program);
  // The notes are the counts of the run.
  EXPECT_EQ(note(done.program, "executed"), done.count("executed"));
  EXPECT_EQ(done.executed("M_MM"), done.count("executed.M_MM"));
  EXPECT_EQ(done.executed("M_BMM"), done.count("executed.M_BMM"));
  EXPECT_EQ(done.executed("H_PREFETCH_M"), done.count("executed.H_PREFETCH_M"));
  return done;
}

// x[8,128] times w[128,192]: 2 inner tiles, 3 columns, 2 groups of 4 rows of 16 parts.
std::unique_ptr<PlenaCase> natural() {
  return PlenaCase::of_text("natural", gemm_text(8, 128, 192), "gemm");
}

// x[8,128] times w[192,128] transposed.
std::unique_ptr<PlenaCase> transposed() {
  return PlenaCase::of_text(
      "transposed",
      hlo_module("  x = f32[8,128] parameter(0)\n  w = f32[192,128] parameter(1)\n"
                 "  ROOT d = f32[8,192] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"),
      "linear");
}

TEST(Decisions, FormsAreTheInstructionsThatMultiply) {
  const auto workload = natural();
  ASSERT_NE(workload, nullptr);
  const Done array = run(*workload, "matmul_form=array");
  EXPECT_EQ(array.executed("M_MM"), 2 * 3 * 2 * 16);
  EXPECT_EQ(array.executed("M_MM_WO"), 3 * 2 * 16);
  EXPECT_EQ(array.executed("M_BMM") + array.executed("M_BTMM") + array.executed("M_BTMV"), 0);
  const Done spread = run(*workload, "matmul_form=spread");
  EXPECT_EQ(spread.executed("M_MM"), 0);
  EXPECT_EQ(spread.executed("M_BMM"), 2 * 3 * 4);
  EXPECT_EQ(spread.executed("M_BTMM"), 2);  // copies of 2 tiles of x
  EXPECT_EQ(spread.executed("M_BMM_WO"), 2 + 3);
  EXPECT_EQ(spread.executed("H_PREFETCH_M"), 2 * 3 + 1);  // and the constant tile
}

TEST(Decisions, ShiftedCopiesAreMadeInTheVectorEngine) {
  const auto workload = PlenaCase::of_text("narrow", gemm_text(8, 128, 64), "gemm");
  ASSERT_NE(workload, nullptr);
  const Done shift = run(*workload, "matmul_form=shift");
  EXPECT_EQ(shift.executed("M_MM") + shift.executed("M_BTMM"), 0);
  EXPECT_EQ(shift.executed("M_BMM"), 2 * 4);
  EXPECT_EQ(shift.executed("V_SHFT_V"), 8 * 2 * 3);
}

TEST(Decisions, FormsOfTransposedMatricesAreTheirInstructions) {
  const auto workload = transposed();
  ASSERT_NE(workload, nullptr);
  const Done array = run(*workload, "matmul_form=array");
  EXPECT_EQ(array.executed("M_TMM"), 2 * 3 * 2 * 16);
  const Done spread = run(*workload, "matmul_form=spread");
  EXPECT_EQ(spread.executed("M_BTMM"), 2 * 3 * 4 + 2);
  const Done pack = run(*workload, "matmul_form=row_pack");
  EXPECT_EQ(pack.executed("M_BTMM") + pack.executed("M_TMM"), 0);
  EXPECT_EQ(pack.executed("M_BTMV"), 2 * (2 * 4 + 3 * 2 * 4));  // 2 groups of 4 rows: copies, products
  EXPECT_EQ(pack.executed("V_SHFT_V"), 0);
  const Done shift = run(*workload, "matmul_form=row_shift");
  EXPECT_EQ(shift.executed("M_BTMV"), 8 * 3 * 2 * 4);
  EXPECT_EQ(shift.executed("V_SHFT_V"), 8 * 2 * 3);
}

TEST(Decisions, ColumnBlocksAndWorkingTilesAreTilesInUse) {
  const auto workload = natural();
  ASSERT_NE(workload, nullptr);
  const auto tiles = [&](const std::string& intent) {
    const Done done = run(*workload, intent);
    EXPECT_EQ(done.executed("H_PREFETCH_M"), 6) << intent;
    EXPECT_EQ(done.count("hbm.read.w"), 6 * 64 * (64 + 64)) << intent;
    EXPECT_EQ(done.count("mram.tiles"), note(done.program, "matrix_tiles")) << intent;
    return done.count("mram.tiles");
  };
  EXPECT_EQ(tiles("working_tiles=8 column_block=1"), 2);
  EXPECT_EQ(tiles("working_tiles=8 column_block=2"), 4);
  EXPECT_EQ(tiles("working_tiles=1 column_block=1"), 1);
}

TEST(Decisions, AProductWithoutRoomForItsInnerTilesAddsInTheVectorEngine) {
  const auto workload = natural();
  ASSERT_NE(workload, nullptr);
  EXPECT_EQ(run(*workload, "working_tiles=2").executed("V_ADD_VV"), 0);
  EXPECT_EQ(run(*workload, "working_tiles=1").executed("V_ADD_VV"), 8 * 3);
}

TEST(Decisions, LanesThatRowsShareReloadNoMatrix) {
  const auto workload = PlenaCase::of_text("tall", gemm_text(256, 128, 64), "gemm");
  ASSERT_NE(workload, nullptr);
  // Without room for both inner tiles each group of row blocks loads them again.
  const auto loads = [&](const std::string& lanes) {
    return run(*workload, "matmul_form=spread working_tiles=1 lanes=" + lanes).executed("H_PREFETCH_M");
  };
  EXPECT_EQ(loads("1"), 4 * 2 + 1);
  EXPECT_EQ(loads("2"), 2 * 2 + 1);
  EXPECT_EQ(loads("4"), 1 * 2 + 1);
}

TEST(Decisions, UnrollingTakesLoopsAway) {
  const auto workload = natural();
  ASSERT_NE(workload, nullptr);
  const auto depth = [&](const std::string& intent) {
    return note(run(*workload, intent).program, "loop_depth");
  };
  EXPECT_EQ(depth("unroll_product=1 unroll_column=1"), 4);  // columns, row groups, parts, inner tiles
  EXPECT_EQ(depth("unroll_product=4 unroll_column=1"), 3);
  EXPECT_EQ(depth("unroll_product=64 unroll_column=1"), 1);
  EXPECT_EQ(depth("unroll_product=64 unroll_column=4 unroll_load=4"), 0);
  const Done rolled = run(*workload, "unroll_product=1 unroll_column=1 unroll_load=1");
  const Done unrolled = run(*workload, "unroll_product=64 unroll_column=4 unroll_load=4");
  EXPECT_LT(note(rolled.program, "instructions") * 4, note(unrolled.program, "instructions"));
  EXPECT_GT(rolled.count("ns.control") + rolled.count("ns.scalar"),
            unrolled.count("ns.control") + unrolled.count("ns.scalar"));
  EXPECT_EQ(rolled.count("ns.matrix"), unrolled.count("ns.matrix"));
}

TEST(Decisions, ReloadedInputsAreReadForEachStage) {
  const auto workload = PlenaCase::of_file("swiglu_c1");
  ASSERT_NE(workload, nullptr);
  const int64_t resident = run(*workload, "input_residency=resident").count("hbm.read.x");
  const int64_t reloaded = run(*workload, "input_residency=reload").count("hbm.read.x");
  EXPECT_GT(resident, 0);
  EXPECT_EQ(reloaded, 2 * resident);  // the gate and the up projection
}

TEST(Decisions, InputsUpFrontAreLoadedInTheFirstRegion) {
  const auto workload = PlenaCase::of_file("layernorm_c1");
  ASSERT_NE(workload, nullptr);
  EXPECT_EQ(run(*workload, "input_loads=on_demand").count("ns.region.load"), 0);
  const Done first = run(*workload, "input_loads=up_front");
  EXPECT_GT(first.count("ns.region.load"), 0);
}

TEST(Decisions, ComputedKeysAndValuesAreStoredOnce) {
  const auto workload = PlenaCase::of_text("gqa", heads_text(12, 384, 6, 2, 0.125), "gqa");
  ASSERT_NE(workload, nullptr);
  const Done rows = run(*workload, "kv_layout=row_major");
  const Done heads = run(*workload, "kv_layout=per_head");
  for (const Done* each : {&rows, &heads}) {
    EXPECT_EQ(each->executed("H_STORE_V"), 2 * 2 * 3);  // keys and values, 2 heads, 3 groups of 4 rows
    EXPECT_GT(each->count("hbm.written"), 0);
  }
  // Row-major: the two heads of a row are neighbours, so transfers have a stride; head by head they do not.
  const auto scratch_columns = [](const Done& done) {
    std::set<int64_t> result;
    for (const auto& buffer : done.program.buffers)
      if (buffer->role == wire::BufferRole::Scratch) result.insert(buffer->layout.at(0)->ints.at(4));
    return result;
  };
  EXPECT_EQ(scratch_columns(rows), std::set<int64_t>{128});
  EXPECT_EQ(scratch_columns(heads), std::set<int64_t>{64});
}

TEST(Decisions, StackedHeadsShareAProduct) {
  const auto workload = PlenaCase::of_text("gqa", heads_text(4, 384, 6, 2, 0.125), "gqa");
  ASSERT_NE(workload, nullptr);
  // Projections: q and out 6x6 tiles, k and v 6x2, 16 parts of one group of rows each.
  constexpr int64_t kProjections = (36 + 36 + 12 + 12) * 16;
  const Done separate = run(*workload, "head_group=separate");
  const Done stacked = run(*workload, "head_group=stacked");
  // Scores M_TMM, weighted M_MM, of 6 heads or of 2 x 3 groups of rows: the same array work ...
  EXPECT_EQ(separate.executed("M_MM"), kProjections + 6 * 16);
  EXPECT_EQ(stacked.executed("M_MM"), kProjections + 6 * 16);
  // ... but a key head's matrices are loaded once.
  EXPECT_EQ(separate.executed("H_PREFETCH_M") - stacked.executed("H_PREFETCH_M"), 2 * (6 - 2));
}

TEST(Decisions, OnesColumnSumsInTheProduct) {
  const auto workload = PlenaCase::of_file("scaleddotproduct_c1");
  ASSERT_NE(workload, nullptr);
  const Done vector = run(*workload, "weighted_form=spread row_sum=per_vector");
  const Done ones = run(*workload, "weighted_form=spread row_sum=ones_column");
  EXPECT_EQ(vector.executed("V_RED_SUM"), 32);
  EXPECT_EQ(ones.executed("V_RED_SUM"), 0);
  EXPECT_EQ(ones.executed("V_RECI_V"), 32);
  EXPECT_EQ(ones.executed("M_BMM") - vector.executed("M_BMM"), 4);
}

TEST(Decisions, TheScaleIsAppliedWhereItSays) {
  const auto workload = PlenaCase::of_file("scaleddotproduct_c1");
  ASSERT_NE(workload, nullptr);
  const auto products = [&](const std::string& intent) {
    return run(*workload, intent).executed("V_MUL_VF");
  };
  const int64_t scores = products("scores_form=spread score_scale=scores");
  EXPECT_EQ(products("scores_form=spread score_scale=query"), scores);  // 32 rows of one vector either way
  EXPECT_EQ(products("scores_form=spread score_scale=copies"), scores - 32);
}

TEST(Decisions, WideNormsSumOnce) {
  const auto workload = PlenaCase::of_text("wide", layer_norm_text(3, 256), "layernorm");
  ASSERT_NE(workload, nullptr);
  const auto sums = [&](const std::string& intent) {
    const auto program = workload->lower(intent);
    EXPECT_TRUE(program.ok()) << program.status().message();
    return program.ok() ? note(*program, "executed.V_RED_SUM") : -1;
  };
  const std::string form = workload->known_part("layer_norm_form=moments norm_rounding=each_step ");
  EXPECT_EQ(sums(form + " norm_sums=per_vector"), 3 * 4 * 2);
  EXPECT_EQ(sums(form + " norm_sums=add_first"), 3 * 2);
}

TEST(Decisions, AddressesOfWriteOutsGoThroughTheImmediate) {
  const auto workload = natural();
  ASSERT_NE(workload, nullptr);
  const std::string unrolled = "unroll_product=64 unroll_column=4 unroll_load=4 ";
  const Done made = run(*workload, unrolled + "write_address=register");
  const Done immediate = run(*workload, unrolled + "write_address=immediate");
  EXPECT_LT(immediate.executed("S_ADDI_INT"), made.executed("S_ADDI_INT"));
}

TEST(Decisions, HoistedNumbersAreMadeOnce) {
  const auto workload = PlenaCase::of_file("gemm_c3");
  ASSERT_NE(workload, nullptr);
  EXPECT_LT(run(*workload, "hoist=yes").count("executed"), run(*workload, "hoist=no").count("executed"));
}

}  // namespace
}  // namespace zomboss::plena
