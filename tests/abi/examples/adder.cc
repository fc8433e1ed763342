// A small target: a machine that adds two s32 vectors, `chunk` elements at a time.
#include <cstring>

#include "zomboss/sdk/plugin.h"

using namespace zomboss;

constexpr const char* kTaidl = R"(target adder "Adds two vectors" {
  param LANES = 8;
  engine vec;
  memory hbm : s32[*] offchip;
  instr add(n: int in 1..LANES, a: addr hbm, b: addr hbm, c: addr hbm) engine vec {
    read x = hbm[a +: n];
    read y = hbm[b +: n];
    write hbm[c +: n] = z;
    sem { z = s32[n] add(x, y) }
    cost cycles = 4 + n;
    emit "add {n}, {a}, {b}, {c}";
  }
}
)";

class Adder {
 public:
  static Result<std::unique_ptr<Adder>> create(sdk::Call&, const wire::OptionsT&) {
    return std::make_unique<Adder>();
  }

  Result<std::string> describe(sdk::Call&) { return std::string(kTaidl); }

  // Machine numbers come from the checked model alone: the user may have overridden LANES.
  Status configure(sdk::Call&, const wire::ModelT& model) {
    for (const auto& param : model.params)
      if (param->name == "LANES") lanes_ = param->value;
    spec_hash_ = model.spec_hash;
    return lanes_ > 0 ? Status() : invalid_argument("LANES must be positive");
  }

  Result<wire::SurfaceT> surface(sdk::Call&, const wire::WorkloadT& workload) {
    ZB_TRY(length_of(workload));
    auto knob = std::make_unique<wire::KnobT>();
    knob->name = "chunk";
    knob->category = wire::Category::VectorDecomposition;
    for (int64_t value = 1; value <= lanes_; value *= 2) knob->values.push_back(value);
    knob->doc = "elements that one add instruction handles";
    wire::SurfaceT surface;
    surface.target = "adder";
    surface.workload = workload.name;
    surface.knobs.push_back(std::move(knob));
    return surface;
  }

  Result<wire::ProgramT> lower(sdk::Call&, const wire::WorkloadT& workload, const wire::PlanT& plan) {
    ZB_TRY(length_of(workload));
    wire::ProgramT program;
    program.target = "adder";
    program.spec_hash = spec_hash_;
    program.format = "adder/1";
    for (const auto& section : plan.sections)
      for (const auto& decision : section->decisions)
        if (decision->knob == "chunk") program.code = {static_cast<uint8_t>(decision->value)};
    return program;
  }

  // The program may be damaged, and the inputs may be of another workload: errors, never a crash.
  Result<wire::SimulationT> simulate(sdk::Call&, const wire::ProgramT& program,
                                     const wire::TensorsT& inputs) {
    if (program.format != "adder/1" || program.code.size() != 1 || program.code[0] == 0)
      return data_loss("not a program of adder");
    if (inputs.tensors.size() != 2 || inputs.tensors[0]->data.size() != inputs.tensors[1]->data.size() ||
        inputs.tensors[0]->data.size() % 4 != 0)
      return invalid_argument("adder takes two vectors of the same length");
    auto output = std::make_unique<wire::TensorT>(*inputs.tensors[0]);
    for (size_t at = 0; at < output->data.size(); at += 4) {
      uint32_t a, b;
      std::memcpy(&a, &inputs.tensors[0]->data[at], 4);
      std::memcpy(&b, &inputs.tensors[1]->data[at], 4);
      a += b;
      std::memcpy(&output->data[at], &a, 4);
    }
    const uint64_t chunk = program.code[0];
    const uint64_t length = output->data.size() / 4;
    wire::SimulationT simulation;
    simulation.outputs.push_back(std::move(output));
    simulation.latency = (length + chunk - 1) / chunk * (4 + chunk);
    simulation.unit = "cycles";
    simulation.simulator = "adder: cost of each instruction, no overlap";
    return simulation;
  }

 private:
  static Result<int64_t> length_of(const wire::WorkloadT& workload) {
    if (workload.nodes.size() != 3) return unimplemented("adder takes one add of two s32 vectors");
    const wire::NodeT& last = *workload.nodes[2];
    if (last.op != "add" || last.type->dtype != wire::DType::S32 || last.type->dims.size() != 1)
      return unimplemented("adder takes one add of two s32 vectors, not '" + last.op + "'");
    return last.type->dims[0];
  }

  int64_t lanes_ = 0;
  std::string spec_hash_;
};

ZB_EXPORT_TARGET(Adder, "adder", ZB_PLUGIN_VERSION)
