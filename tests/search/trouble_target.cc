// A target for tests: it adds two vectors, and one of its knobs says how it misbehaves while it does.
// Latency is known in closed form, so that the best plan is known too.
//
// Options: delay_ms, how long one simulation takes; behaviours, how many of them there are; reference, the
// behaviour (by number) of a plan that the surface names.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "zomboss/sdk/plugin.h"

using namespace zomboss;

namespace {

constexpr const char* kTaidl = R"(target trouble "Adds two vectors, or worse" {
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

// The quick ones first: option `behaviours` offers the first few.
enum Behaviour {
  kGood,
  kSegfault,
  kWrong,
  kRefuse,
  kThrow,
  kPrint,
  kGarbage,
  kExit,
  kScribble,
  kThrowRaw,
  kLeak,
  kHang,
  kBehaviours
};
const char* const kLabels[kBehaviours] = {"good",    "segfault", "wrong",    "refuse",    "throw", "print",
                                          "garbage", "exit",     "scribble", "throw_raw", "leak",  "hang"};

int64_t decision(const wire::PlanT& plan, const std::string& knob) {
  for (const auto& section : plan.sections)
    for (const auto& each : section->decisions)
      if (each->knob == knob) return each->value;
  return 0;
}

class Trouble {
 public:
  static Result<std::unique_ptr<Trouble>> create(sdk::Call&, const wire::OptionsT& options) {
    auto target = std::make_unique<Trouble>();
    for (const auto& option : options.values) {
      if (option->ints.size() == 1 && option->key == "delay_ms")
        target->delay_ms_ = option->ints[0];
      else if (option->ints.size() == 1 && option->key == "reference" && option->ints[0] < kBehaviours)
        target->reference_ = option->ints[0];
      else if (option->ints.size() == 1 && option->key == "behaviours" && option->ints[0] <= kBehaviours)
        target->behaviours_ = option->ints[0];
      else
        return invalid_argument("trouble has no such option: '" + option->key + "'");
    }
    return target;
  }
  Result<std::string> describe(sdk::Call&) { return std::string(kTaidl); }
  Status configure(sdk::Call&, const wire::ModelT& model) {
    spec_hash_ = model.spec_hash;
    return {};
  }
  Result<wire::SurfaceT> surface(sdk::Call&, const wire::WorkloadT& workload) {
    wire::SurfaceT surface;
    surface.target = "trouble";
    surface.workload = workload.name;
    add(surface, "chunk", wire::Category::VectorDecomposition, {1, 2, 4, 8});
    add(surface, "rows", wire::Category::LoopStructure, {1, 2, 3, 4, 5, 6, 7, 8});
    add(surface, "behaviour", wire::Category::Algorithm, {});
    auto& knob = *surface.knobs.back();
    knob.type = wire::KnobType::Choice;
    for (int64_t i = 0; i < behaviours_; ++i) {
      knob.values.push_back(i);
      knob.labels.push_back(kLabels[i]);
    }
    if (reference_ >= 0) {
      auto reference = std::make_unique<wire::ReferenceT>();
      reference->name = "reference";
      reference->values = {8, 5, reference_};
      surface.references.push_back(std::move(reference));
    }
    return surface;
  }
  Result<wire::ProgramT> lower(sdk::Call&, const wire::WorkloadT&, const wire::PlanT& plan) {
    const int64_t behaviour = decision(plan, "behaviour");
    if (behaviour == kRefuse) return unimplemented("this plan cannot be lowered");
    wire::ProgramT program;
    program.target = "trouble";
    program.spec_hash = spec_hash_;
    program.format = "trouble/1";
    program.code = {static_cast<uint8_t>(decision(plan, "chunk")),
                    static_cast<uint8_t>(decision(plan, "rows")), static_cast<uint8_t>(behaviour)};
    return program;
  }
  Result<wire::SimulationT> simulate(sdk::Call&, const wire::ProgramT& program,
                                     const wire::TensorsT& inputs) {
    if (program.format != "trouble/1" || program.code.size() != 3 || inputs.tensors.size() != 2)
      return data_loss("not a program of trouble");
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_));
    misbehave(program.code[2]);
    auto output = std::make_unique<wire::TensorT>(*inputs.tensors[0]);
    for (size_t at = 0; at < output->data.size(); at += 4) {
      uint32_t a, b;
      std::memcpy(&a, &inputs.tensors[0]->data[at], 4);
      std::memcpy(&b, &inputs.tensors[1]->data[at], 4);
      a += b;
      std::memcpy(&output->data[at], &a, 4);
    }
    if (program.code[2] == kWrong) output->data.back() ^= 1;
    wire::SimulationT simulation;
    simulation.outputs.push_back(std::move(output));
    const uint64_t chunk = program.code[0], rows = program.code[1];
    simulation.latency = 1000 / chunk + (rows - 5) * (rows - 5) * 7 + 3 * program.code[2];
    simulation.unit = "cycles";
    simulation.simulator = "trouble: a formula";
    return simulation;
  }
  Result<wire::ScheduleT> schedule(sdk::Call&, const wire::WorkloadT&, const wire::PlanT& plan) {
    wire::ScheduleT schedule;
    schedule.static_cost = 1000.0 / static_cast<double>(decision(plan, "chunk")) + 10;
    return schedule;
  }

 private:
  static void add(wire::SurfaceT& surface, const char* name, wire::Category category,
                  std::vector<int64_t> values) {
    auto knob = std::make_unique<wire::KnobT>();
    knob->name = name;
    knob->category = category;
    knob->values = std::move(values);
    knob->doc = "of a test";
    surface.knobs.push_back(std::move(knob));
  }

  static void misbehave(int behaviour) {
    switch (behaviour) {
      case kSegfault:
        std::raise(SIGSEGV);
        break;
      case kHang:
        for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
      case kLeak:  // ten gigabytes, touched
        for (int i = 0; i < 10 * 1024; ++i) {
          auto* bytes = new char[1 << 20];
          std::memset(bytes, i, 1 << 20);
          leaked_.push_back(bytes);
        }
        break;
      case kPrint:
        std::printf("{\"result\": \"I am the data\"}\n");
        std::fflush(stdout);
        std::fprintf(stderr, "and I the talk\n");
        break;
      case kThrow:
        throw std::runtime_error("thrown on purpose");
      case kScribble: {
        const char junk[] = "this is no frame of the protocol";
        if (::write(3, junk, sizeof junk) < 0) std::abort();
        break;
      }
      case kExit:
        std::_Exit(0);
      default:
        break;
    }
  }

  static inline std::vector<char*> leaked_;
  int64_t delay_ms_ = 0;
  int64_t behaviours_ = kBehaviours;
  int64_t reference_ = -1;
  std::string spec_hash_;
};

}  // namespace

namespace zomboss::sdk {

// TargetTable with a `simulate` that breaks what the wrapper would have kept whole.
template <typename T>
struct TroubleTable {
  static zb_status simulate(zb_instance* instance, const zb_call* call, zb_bytes program, zb_bytes inputs) {
    const auto message = decode<wire::ProgramT>({program.data, program.size});
    const int behaviour = message.ok() && message->code.size() == 3 ? message->code[2] : 0;
    if (behaviour == kThrowRaw) throw 1;
    if (behaviour == kGarbage) {
      static const uint8_t kJunk[64] = {0xff, 0x13, 0x37};
      call->emit(call, {kJunk, sizeof kJunk});
      return ZB_OK;
    }
    return TargetTable<T>::simulate(instance, call, program, inputs);
  }
  static const void* extension(zb_str id) noexcept {
    if (std::string_view(id.data, id.size) != ZB_TARGET_ID) return TargetTable<T>::extension(id);
    static const zb_target kTable = [] {
      zb_target table = *static_cast<const zb_target*>(TargetTable<T>::extension(as_str(ZB_TARGET_ID)));
      table.simulate = simulate;
      return table;
    }();
    return &kTable;
  }
};

}  // namespace zomboss::sdk

ZB_EXPORT_PLUGIN(Trouble, ZB_KIND_TARGET, TroubleTable, "trouble", ZB_PLUGIN_VERSION)
