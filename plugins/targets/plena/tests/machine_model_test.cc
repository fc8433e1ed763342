#include "plugins/targets/plena/machine_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/taidl/model.h"
#include "core/taidl/wire.h"

namespace zomboss::plena {
namespace {

// The model that the host sends; its messages, where there is none, fail the test.
wire::ModelT model_of(std::string_view profile, const taidl::Overrides& overrides = {}) {
  const auto text = taidl_text(profile);
  EXPECT_TRUE(text.ok()) << text.status().message();
  if (!text.ok()) return {};
  const Source source("plena.taidl", *text);
  Diagnostics diagnostics(source);
  const auto model = taidl::load_model(source, overrides, diagnostics);
  EXPECT_EQ(diagnostics.render_all(), "");
  return model.ok() ? taidl::to_wire(*model) : wire::ModelT{};
}

Machine machine_of(std::string_view profile, const taidl::Overrides& overrides = {}) {
  const auto machine = read_machine(model_of(profile, overrides));
  EXPECT_TRUE(machine.ok()) << machine.status().message();
  return machine.ok() ? *machine : Machine{};
}

void set_param(wire::ModelT& model, std::string_view name, int64_t value) {
  for (auto& param : model.params)
    if (param->name == name) param->value = value;
}

std::string error_of(const wire::ModelT& model) {
  const auto machine = read_machine(model);
  EXPECT_FALSE(machine.ok());
  return machine.ok() ? "" : std::string(machine.status().message());
}

TEST(MachineModel, IsTheOfficialMachineInTheUpstreamProfile) {
  const Machine machine = machine_of("upstream");
  EXPECT_EQ(machine.mlen, 64u);
  EXPECT_EQ(machine.vlen, 64u);
  EXPECT_EQ(machine.blen, 4u);
  EXPECT_EQ(machine.hlen, 16u);
  EXPECT_EQ(machine.broadcast_amount, 4u);
  EXPECT_TRUE(machine.broadcast);
  EXPECT_TRUE(machine.broadcast_matrix);
  EXPECT_EQ(machine.mram_tiles, 64u);
  EXPECT_EQ(machine.vram_rows, 4194304u);
  EXPECT_EQ(machine.hbm_bytes, uint64_t{1} << 34);
  EXPECT_EQ(machine.prefetch_m_rows, 64u);
  EXPECT_EQ(machine.prefetch_tiles(), 1u);
  EXPECT_EQ(machine.prefetch_v_rows, 4u);
  EXPECT_EQ(machine.writeback_v_rows, 4u);
  EXPECT_EQ(machine.max_loop, 100000u);
  EXPECT_EQ(machine.fp_slots, 1024u);
  EXPECT_EQ(machine.int_slots, 1024u);
  EXPECT_EQ(machine.mx_block, 8u);
  EXPECT_EQ(machine.row_scale_bytes(), 8u);
  EXPECT_EQ(machine.hbm_block_bytes, 64u);
  EXPECT_EQ(machine.gp_registers, 16u);
  EXPECT_EQ(machine.fp_registers, 8u);
  EXPECT_EQ(machine.addr_registers, 8u);
}

// The simulator's defaults are the settings file that the official simulator ships.
TEST(MachineModel, GivesTheSimulatorItsDefaultSettings) {
  const Settings settings = to_settings(machine_of("upstream"));
  const Settings shipped;
  EXPECT_EQ(settings.mlen, shipped.mlen);
  EXPECT_EQ(settings.vlen, shipped.vlen);
  EXPECT_EQ(settings.blen, shipped.blen);
  EXPECT_EQ(settings.hlen, shipped.hlen);
  EXPECT_EQ(settings.broadcast, shipped.broadcast);
  EXPECT_EQ(settings.max_loop_instructions, shipped.max_loop_instructions);
  EXPECT_EQ(settings.hbm_bytes, shipped.hbm_bytes);
  EXPECT_EQ(settings.matrix_sram_rows, shipped.matrix_sram_rows);
  EXPECT_EQ(settings.vector_sram_rows, shipped.vector_sram_rows);
  EXPECT_EQ(settings.prefetch_m_rows, shipped.prefetch_m_rows);
  EXPECT_EQ(settings.prefetch_v_rows, shipped.prefetch_v_rows);
  EXPECT_EQ(settings.writeback_v_rows, shipped.writeback_v_rows);
  EXPECT_EQ(settings.weight_type.block, shipped.weight_type.block);
  const Latencies &ours = settings.latencies, &theirs = shipped.latencies;
  EXPECT_EQ(ours.systolic_overhead, theirs.systolic_overhead);
  EXPECT_EQ(ours.vector_add, theirs.vector_add);
  EXPECT_EQ(ours.vector_mul, theirs.vector_mul);
  EXPECT_EQ(ours.vector_exp, theirs.vector_exp);
  EXPECT_EQ(ours.vector_reci, theirs.vector_reci);
  EXPECT_EQ(ours.vector_max, theirs.vector_max);
  EXPECT_EQ(ours.vector_sum, theirs.vector_sum);
  EXPECT_EQ(ours.scalar_fp_basic, theirs.scalar_fp_basic);
  EXPECT_EQ(ours.scalar_fp_exp, theirs.scalar_fp_exp);
  EXPECT_EQ(ours.scalar_fp_sqrt, theirs.scalar_fp_sqrt);
  EXPECT_EQ(ours.scalar_fp_reci, theirs.scalar_fp_reci);
  EXPECT_EQ(ours.scalar_int_basic, theirs.scalar_int_basic);
}

TEST(MachineModel, SendsEachCostToItsOwnLatency) {
  const char* const names[] = {"SYSTOLIC_OVERHEAD", "VECTOR_ADD",  "VECTOR_MUL",  "VECTOR_EXP",
                               "VECTOR_RECI",       "VECTOR_MAX",  "VECTOR_SUM",  "SCALAR_FP",
                               "SCALAR_EXP",        "SCALAR_SQRT", "SCALAR_RECI", "SCALAR_INT"};
  taidl::Overrides overrides;
  for (const char* name : names) overrides.emplace_back(name, 101 + static_cast<int64_t>(overrides.size()));
  const Latencies l = to_settings(machine_of("upstream", overrides)).latencies;
  const uint32_t found[] = {l.systolic_overhead, l.vector_add,     l.vector_mul,     l.vector_exp,
                            l.vector_reci,       l.vector_max,     l.vector_sum,     l.scalar_fp_basic,
                            l.scalar_fp_exp,     l.scalar_fp_sqrt, l.scalar_fp_reci, l.scalar_int_basic};
  for (uint32_t i = 0; i < 12; ++i) EXPECT_EQ(found[i], 101 + i) << names[i];
}

TEST(MachineModel, HasSmallMemoriesInTheKernelcraftProfile) {
  const Machine machine = machine_of("kernelcraft");
  EXPECT_EQ(machine.mram_tiles, 4u);
  EXPECT_EQ(machine.vram_rows, 128u);
  EXPECT_TRUE(machine.broadcast);
  EXPECT_FALSE(machine.broadcast_matrix);  // a result has 256 rows
  EXPECT_EQ(to_settings(machine).matrix_tiles(), 4u);
  EXPECT_EQ(to_settings(machine).vector_sram_rows, 128u);
  // A parameter that the user gives is stronger than the profile.
  EXPECT_EQ(machine_of("kernelcraft", {{"VRAM_ROWS", 1024}}).vram_rows, 1024u);
  EXPECT_TRUE(machine_of("kernelcraft", {{"VRAM_ROWS", 256}}).broadcast_matrix);
}

TEST(MachineModel, FollowsOtherArraySizes) {
  const Machine machine = machine_of("upstream", {{"MLEN", 32}, {"BLEN", 8}, {"HLEN", 8}, {"BROADCAST", 4}});
  EXPECT_EQ(machine.vlen, 32u);
  EXPECT_EQ(machine.blen, 8u);
  EXPECT_TRUE(machine.broadcast);
  EXPECT_EQ(machine.tile_elements(), 1024u);
  EXPECT_EQ(machine.prefetch_tiles(), 2u);  // M_PREFETCH counts rows
  EXPECT_EQ(machine.row_scale_bytes(), 4u);
  const Settings settings = to_settings(machine);
  EXPECT_EQ(settings.matrix_tiles(), 64u);
  EXPECT_TRUE(validate(settings).ok());
  EXPECT_FALSE(machine_of("upstream", {{"HLEN", 8}}).broadcast);
  // Other blocks than those of mxfp8 come with another description.
  wire::ModelT model = model_of("upstream");
  set_param(model, "MX_BLOCK", 16);
  const auto other = read_machine(model);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(to_settings(*other).vector_kv_type.block, 16u);
}

TEST(MachineModel, NamesTheParameterThatIsMissing) {
  const wire::ModelT whole = model_of("upstream");
  for (const char* name :
       {"MLEN",       "VLEN",        "BLEN",        "HLEN",       "BROADCAST",         "MRAM_TILES",
        "VRAM_ROWS",  "HBM_BYTES",   "M_PREFETCH",  "V_PREFETCH", "V_WRITEBACK",       "MAX_LOOP",
        "FP_SLOTS",   "INT_SLOTS",   "MX_BLOCK",    "HBM_BLOCK",  "SYSTOLIC_OVERHEAD", "VECTOR_ADD",
        "VECTOR_MUL", "VECTOR_EXP",  "VECTOR_RECI", "VECTOR_MAX", "VECTOR_SUM",        "SCALAR_FP",
        "SCALAR_EXP", "SCALAR_SQRT", "SCALAR_RECI", "SCALAR_INT"}) {
    wire::ModelT model = whole;
    std::erase_if(model.params, [&](const auto& param) { return param->name == name; });
    ASSERT_EQ(model.params.size() + 1, whole.params.size()) << name;
    EXPECT_EQ(error_of(model), "plena: the target description has no parameter " + std::string(name));
  }
}

TEST(MachineModel, NamesTheMemoryOrRegisterFileThatIsMissing) {
  const wire::ModelT whole = model_of("upstream");
  for (const char* name : {"hbm", "mram", "vram", "fpsram", "intsram"}) {
    wire::ModelT model = whole;
    std::erase_if(model.memories, [&](const auto& memory) { return memory->name == name; });
    EXPECT_EQ(error_of(model), "plena: the target description has no memory " + std::string(name));
    model = whole;
    for (auto& memory : model.memories)
      if (memory->name == name) ++memory->rows;
    EXPECT_NE(error_of(model).find("has a memory " + std::string(name) + " that is not "), std::string::npos);
  }
  for (const char* name : {"gp", "fp", "addr"}) {
    wire::ModelT model = whole;
    for (auto& file : model.register_files)
      if (file->name == name) file->count = 17;
    EXPECT_EQ(error_of(model), "plena: the target description has 17 registers " + std::string(name) +
                                   ", an instruction can name 1..16");
    std::erase_if(model.register_files, [&](const auto& file) { return file->name == name; });
    EXPECT_EQ(error_of(model), "plena: the target description has no register file " + std::string(name));
  }
}

// Another description than the one built in may lack its rules.
TEST(MachineModel, NamesTheParametersThatDoNotFitTogether) {
  const std::pair<std::pair<const char*, int64_t>, const char*> cases[] = {
      {{"MLEN", 48}, "has MLEN = 48, not a power of two"},
      {{"MLEN", 0}, "has MLEN = 0, outside 1..4096"},
      {{"VLEN", 32}, "has VLEN = 32 and MLEN = 64, not equal"},
      {{"BLEN", 128}, "has BLEN = 128, no divisor of MLEN = 64"},
      {{"BLEN", 12}, "has BLEN = 12, not a power of two"},
      {{"HLEN", 128}, "has HLEN = 128, no divisor of VLEN = 64"},
      {{"HLEN", 3}, "has HLEN = 3, not a power of two"},
      {{"MX_BLOCK", 24}, "has MX_BLOCK = 24, no divisor of MLEN = 64"},
      {{"M_PREFETCH", 4160}, "has M_PREFETCH = 4160 rows, more than MRAM_TILES = 64 tiles"},
      {{"MRAM_TILES", 1 << 20}, "has MRAM_TILES = 1048576 of 4096 elements, more than 2^28"},
      {{"VRAM_ROWS", 3}, "has BLEN = 4, V_PREFETCH = 4 and V_WRITEBACK = 4, more than VRAM_ROWS = 3"},
      {{"VECTOR_ADD", -1}, "has VECTOR_ADD = -1, outside 0..1000000"},
      {{"HBM_BYTES", 63}, "has HBM_BYTES = 63, outside 64..1099511627776"},
  };
  const wire::ModelT whole = model_of("upstream");
  for (const auto& [change, expected] : cases) {
    wire::ModelT model = whole;
    set_param(model, change.first, change.second);
    EXPECT_EQ(error_of(model), "plena: the target description " + std::string(expected));
  }
}

TEST(TaidlText, NamesTheProfilesWhenThereIsNoSuchOne) {
  const auto text = taidl_text("kernel");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().message(), "plena: no profile 'kernel'; the profiles are upstream, kernelcraft");
}

}  // namespace
}  // namespace zomboss::plena
