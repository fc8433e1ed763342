// Instances in worker processes: what they answer, how they end, what is left of them.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/evaluate/target.h"
#include "host/worker/frame.h"
#include "host/worker/process.h"
#include "host/worker/remote_instance.h"

namespace zomboss::worker {
namespace {

using wire::Fate;
using wire::Operation;

PluginSource source(const std::string& kind, const std::string& id) {
  return {kind, id, {ZB_TEST_PLUGINS, ZB_PLUGINS}, std::nullopt};
}

Result<std::unique_ptr<wire::Instance>> open(const std::string& kind, const std::string& id,
                                             const Limits& limits = {}, EventFunction on_event = {},
                                             const std::string& program = ZB_PROGRAM) {
  return open_remote(program, source(kind, id), {}, limits, {}, std::move(on_event));
}

std::vector<pid_t> children() {
  std::vector<pid_t> list;
  std::ifstream stream("/proc/self/task/" + std::to_string(::gettid()) + "/children");
  for (pid_t pid; stream >> pid;) list.push_back(pid);
  return list;
}

wire::PlanT plan_of(int64_t behaviour) {
  wire::PlanT plan;
  plan.target = "trouble";
  plan.workload = "w";
  plan.hash = "h";
  auto section = std::make_unique<wire::SectionT>();
  for (const auto& [knob, value] :
       std::vector<std::pair<const char*, int64_t>>{{"behaviour", behaviour}, {"chunk", 4}, {"rows", 5}}) {
    auto decision = std::make_unique<wire::DecisionT>();
    decision->knob = knob;
    decision->value = value;
    section->decisions.push_back(std::move(decision));
  }
  plan.sections.push_back(std::move(section));
  return plan;
}

std::string inputs(size_t elements) {
  wire::TensorsT tensors;
  for (const char* name : {"a", "b"}) {
    auto tensor = std::make_unique<wire::TensorT>();
    tensor->name = name;
    tensor->type = std::make_unique<wire::TensorTypeT>();
    tensor->type->dtype = wire::DType::S32;
    tensor->type->dims = {static_cast<int64_t>(elements)};
    tensor->data.assign(4 * elements, 1);
    tensors.tensors.push_back(std::move(tensor));
  }
  return encode(tensors);
}

std::string workload() {
  wire::WorkloadT message;
  message.name = "w";
  message.hash = "h";
  return encode(message);
}

// Behaviours of tests/search/trouble_target.cc.
constexpr int64_t kGood = 0, kSegfault = 1, kHang = 11;

struct Trouble {
  explicit Trouble(const Limits& limits = {}) {
    auto instance =
        open("target", "trouble", limits,
             [this](const std::string& kind, const std::string& text) { events.emplace_back(kind, text); });
    EXPECT_TRUE(instance.ok()) << instance.status().message();
    auto opened = evaluate::Target::open(*std::move(instance), {});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    target = *std::move(opened);
  }
  Result<wire::SimulationT> simulate(int64_t behaviour, size_t elements = 4) {
    auto program = target->lower(workload(), encode(plan_of(behaviour)));
    EXPECT_TRUE(program.ok()) << program.status().message();
    return target->simulate(encode(*program), inputs(elements));
  }
  std::vector<std::pair<std::string, std::string>> events;
  std::unique_ptr<evaluate::Target> target;
};

TEST(Frames, AreTakenWholeAndInOrder) {
  std::string buffer, frame;
  EXPECT_EQ(take_frame(buffer, frame), Taken::kIncomplete);
  append_frame_header(buffer, 3);
  buffer += "abc";
  append_frame_header(buffer, 0);
  append_frame_header(buffer, 2);
  buffer += "d";
  EXPECT_EQ(take_frame(buffer, frame), Taken::kFrame);
  EXPECT_EQ(frame, "abc");
  EXPECT_EQ(take_frame(buffer, frame), Taken::kFrame);
  EXPECT_EQ(frame, "");
  EXPECT_EQ(take_frame(buffer, frame), Taken::kIncomplete);
  buffer += "e";
  EXPECT_EQ(take_frame(buffer, frame), Taken::kFrame);
  EXPECT_EQ(frame, "de");
  buffer = "\xff\xff\xff\xff";
  EXPECT_EQ(take_frame(buffer, frame), Taken::kTooLong);
}

TEST(Worker, AnswersAsAnInstanceInThisProcessWould) {
  Trouble trouble;
  EXPECT_EQ(trouble.target->identity().text(), "target trouble 1.0.0");
  EXPECT_EQ(trouble.target->identity().sha256.size(), 64u);
  const auto simulation = trouble.simulate(kGood);
  ASSERT_TRUE(simulation.ok()) << simulation.status().message();
  EXPECT_EQ(simulation->latency, 250u);
  EXPECT_EQ(trouble.target->bound(workload()).status().code(), Code::kUnimplemented);
  EXPECT_EQ(trouble.target->simulate("junk", "junk").status().code(), Code::kDataLoss);
  EXPECT_EQ(trouble.target->fate(), Fate::kAnswered);
}

TEST(Worker, LargeArgumentsCrossAndChange) {
  Trouble trouble;
  for (const size_t elements : {100'000u, 50'000u, 100'000u, 1'000'000u, 3u}) {
    const auto simulation = trouble.simulate(kGood, elements);
    ASSERT_TRUE(simulation.ok()) << simulation.status().message();
    EXPECT_EQ(simulation->outputs[0]->data.size(), 4 * elements);
    EXPECT_EQ(simulation->outputs[0]->data[0], 2);
  }
  // More different ones than there are slots, then the first again.
  for (size_t round = 0; round < 2; ++round)
    for (size_t elements = 2000; elements < 2020; ++elements)
      EXPECT_EQ(trouble.simulate(kGood, elements)->outputs[0]->data.size(), 4 * elements);
}

TEST(Worker, ACrashIsAnErrorAndTheNextCallGoesOn) {
  Trouble trouble;
  const auto crashed = trouble.simulate(kSegfault);
  ASSERT_FALSE(crashed.ok());
  EXPECT_EQ(trouble.target->fate(), Fate::kCrashed);
  EXPECT_EQ(crashed.status().message(),
            "target trouble 1.0.0: simulate: its process died: killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(trouble.events.size(), 2u) << "it was tried once more";
  EXPECT_EQ(trouble.events[0].first, "crash");
  ASSERT_TRUE(trouble.simulate(kGood).ok());
  EXPECT_EQ(trouble.target->fate(), Fate::kAnswered);
}

TEST(Worker, AHangEndsAtItsTimeAndLeavesNoProcess) {
  Limits limits;
  limits.call_seconds = 0.3;
  const auto start = std::chrono::steady_clock::now();
  {
    Trouble trouble(limits);
    EXPECT_EQ(trouble.simulate(kHang).status().code(), Code::kDeadlineExceeded);
    EXPECT_EQ(trouble.target->fate(), Fate::kTimedOut);
    EXPECT_EQ(children().size(), 0u);
    EXPECT_TRUE(trouble.simulate(kGood).ok());
    EXPECT_EQ(children().size(), 1u);
  }
  EXPECT_EQ(children().size(), 0u) << "the worker is reaped";
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Worker, ACancellationKillsIt) {
  std::atomic<bool> kill{false};
  Limits limits;
  limits.call_seconds = 60;
  limits.kill = &kill;
  Trouble trouble(limits);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill = true;
  });
  EXPECT_EQ(trouble.simulate(kHang).status().code(), Code::kCancelled);
  later.join();
  EXPECT_EQ(children().size(), 0u);
}

TEST(Worker, APolicyThatDiesIsNotStartedAgain) {
  auto policy = open("policy", "crashing");
  ASSERT_TRUE(policy.ok()) << policy.status().message();
  wire::SearchContextT context;
  context.surface = std::make_unique<wire::SurfaceT>();
  context.surface->target = "t";
  context.surface->workload = "w";
  auto knob = std::make_unique<wire::KnobT>();
  knob->name = "chunk";
  knob->values = {1, 2};
  context.surface->knobs.push_back(std::move(knob));
  context.candidate0 = std::make_unique<wire::PlanT>(plan_of(0));
  ASSERT_TRUE((*policy)->command(Operation::kStart, {encode(context)}).ok());
  wire::SearchStateT state;
  state.proposal = 1;
  EXPECT_TRUE((*policy)->call(Operation::kPropose, {encode(state)}).ok());
  state.proposal = 3;
  EXPECT_FALSE((*policy)->call(Operation::kPropose, {encode(state)}).ok());
  EXPECT_EQ((*policy)->fate(), Fate::kCrashed);
  const auto again = (*policy)->call(Operation::kPropose, {encode(state)});
  EXPECT_EQ(again.status().message(), "policy crashing 1.0.0 is gone with its worker process");
}

TEST(Worker, RefusalsOfTheLoaderComeBack) {
  const auto unknown = open("target", "nobody");
  ASSERT_FALSE(unknown.ok());
  EXPECT_TRUE(unknown.status().message().starts_with("ZB-LOAD-01")) << unknown.status().message();
  const auto wrong_kind = open("policy", "gemmini");
  ASSERT_FALSE(wrong_kind.ok());
  EXPECT_TRUE(wrong_kind.status().message().starts_with("ZB-LOAD-02")) << wrong_kind.status().message();
}

TEST(Worker, AProgramThatIsNoneIsUnavailable) {
  EXPECT_EQ(open("target", "trouble", {}, {}, "/nonexistent/zomboss").status().code(), Code::kUnavailable);
  EXPECT_EQ(open("target", "trouble", {}, {}, "/bin/true").status().code(), Code::kInternal);
}

TEST(Worker, ItsEndIsSeenWhateverTheHostDoesMeanwhile) {
  auto process = Process::start(ZB_PROGRAM, 0);
  ASSERT_TRUE(process.ok()) << process.status().message();
  ::kill((*process)->id(), SIGKILL);
  std::string frame;
  EXPECT_EQ((*process)->receive(frame, now_ns() + 5'000'000'000u, nullptr), Process::Wait::kClosed);
  EXPECT_EQ((*process)->stop(), "killed by signal 9 (Killed)");
}

TEST(Worker, ManyAtOnceFromManyThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        Trouble trouble;
        good += trouble.simulate(kGood, 1000).ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good.load(), 40);
}

}  // namespace
}  // namespace zomboss::worker
