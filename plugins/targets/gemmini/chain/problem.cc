#include "plugins/targets/gemmini/chain/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plugins/targets/gemmini/chain/link.h"
#include "plugins/targets/gemmini/chain/split.h"

namespace zomboss::gemmini::chain {
namespace {

constexpr size_t kMaxStages = 16;
constexpr int64_t kMaxBytes = int64_t{1} << 30;

class Recogniser {
 public:
  Recogniser(const wire::WorkloadT& workload, const Machine& machine)
      : workload_(workload), machine_(machine) {}

  Result<Problem> run() {
    ZB_ASSIGN(graphs_, split(workload_));
    if (graphs_.size() < 2) return invalid_argument("gemmini: the workload is no chain of matmuls");
    if (graphs_.size() > kMaxStages)
      return unimplemented(fmt::format("gemmini takes chains of at most {} matmuls, this one has {}; cut it",
                                       kMaxStages, graphs_.size()));
    ZB_TRY(recognise_stages());
    problem_.workload = workload_.name;
    add_workload_buffers();
    for (size_t s = 0; s < graphs_.size(); ++s) add_own_buffers(s);
    ZB_TRY(check_size());
    for (size_t s = 0; s < graphs_.size(); ++s) share_buffers(s);
    add_links();
    return std::move(problem_);
  }

 private:
  // What several stages refuse becomes one message.
  Status recognise_stages() {
    std::string refused;
    for (const StageGraph& graph : graphs_) {
      auto stage = gemmini::recognise(graph.workload, machine_);
      if (stage.ok()) {
        problem_.stages.push_back({*std::move(stage), std::nullopt});
        continue;
      }
      if (stage.status().code() != Code::kUnimplemented) return stage.status();
      const std::string& text = stage.status().message();
      refused += refused.empty() ? text : text.substr(std::min(text.find('\n'), text.size()));
    }
    return refused.empty() ? Status() : unimplemented(std::move(refused));
  }

  // Inputs and output of the workload, with the buffer of each node that has one.
  void add_workload_buffers() {
    std::map<uint32_t, Buffer> read;  // inputs as the stages made them
    for (size_t s = 0; s < graphs_.size(); ++s)
      for (size_t i = 0; i < graphs_[s].workload.inputs.size(); ++i)
        read[graphs_[s].origin(graphs_[s].workload.inputs[i])] = problem_.stages[s].problem.buffers[i];
    for (uint32_t i = 0; i < workload_.inputs.size(); ++i) {
      const wire::NodeT& node = *workload_.nodes[workload_.inputs[i]];
      Buffer buffer;
      if (const auto found = read.find(workload_.inputs[i]); found != read.end()) {
        buffer = found->second;
      } else {  // nothing reads it; it gets room all the same
        buffer.type = *node.type;
        buffer.bytes = 8 * std::max<int64_t>(element_count(*node.type), 0);
      }
      buffer.name = node.name.empty() ? fmt::format("input_{}", i) : node.name;
      buffer.role = wire::BufferRole::Input;
      buffer.index = i;
      of_node_[workload_.inputs[i]] = add(std::move(buffer));
    }
    of_node_[graphs_.back().output] = add(output_of(graphs_.size() - 1));
  }

  uint32_t add(Buffer buffer) {
    problem_.buffers.push_back(std::move(buffer));
    owner_.push_back(kNobody);
    return static_cast<uint32_t>(problem_.buffers.size() - 1);
  }

  Buffer output_of(size_t s) const {
    return problem_.stages[s].problem.buffers[graphs_[s].workload.inputs.size()];
  }

  // Results that stay inside, constants and scratch. Numbers of the stage's buffers, and then of each form's
  // scratch, in the chain's list go to numbers_.
  void add_own_buffers(size_t s) {
    const StageGraph& graph = graphs_[s];
    const gemmini::Problem& stage = problem_.stages[s].problem;
    std::vector<uint32_t>& numbers = numbers_.emplace_back();
    for (uint32_t input : graph.workload.inputs) numbers.push_back(of_node_.at(graph.origin(input)));
    if (s + 1 < graphs_.size()) {
      Buffer result = output_of(s);
      result.name = fmt::format("stage_{}", s + 1);
      result.role = wire::BufferRole::Scratch;
      result.index = 0;
      of_node_[graph.output] = add(std::move(result));
    }
    numbers.push_back(of_node_.at(graph.output));
    for (size_t i = numbers.size(); i < stage.buffers.size(); ++i) {
      Buffer buffer = stage.buffers[i];
      if (buffer.role == wire::BufferRole::Constant) {
        const uint32_t node = graph.origin(buffer.index);
        if (!of_node_.contains(node)) {
          buffer.name = fmt::format("constant_{}", node);
          buffer.index = node;
          of_node_[node] = add(std::move(buffer));
        }
        numbers.push_back(of_node_.at(node));
      } else {
        buffer.name = fmt::format("l{}_{}", s + 1, buffer.name);
        numbers.push_back(add(std::move(buffer)));
        owner_.back() = s;
      }
    }
    for (size_t f = 0; f < stage.forms.size(); ++f) {
      for (const Scratch& scratch : stage.forms[f].scratch) {
        Buffer buffer;
        buffer.name = fmt::format("l{}_{}_{}", s + 1, scratch.name, f);
        buffer.role = wire::BufferRole::Scratch;
        buffer.type.dtype = scratch.element_bytes == 1 ? wire::DType::S8 : wire::DType::S32;
        buffer.type.dims = {scratch.elements};
        buffer.bytes = scratch.elements * scratch.element_bytes;
        numbers.push_back(add(std::move(buffer)));
        owner_.back() = s;
      }
    }
  }

  Status check_size() const {
    int64_t bytes = 0;
    for (const Buffer& buffer : problem_.buffers) bytes += buffer.bytes;
    if (bytes <= kMaxBytes) return {};
    return resource_exhausted(fmt::format(
        "gemmini: the workload's tensors have {} bytes, at most {} are placed", bytes, kMaxBytes));
  }

  // Puts the chain's buffers in the place of the stage's own.
  void share_buffers(size_t s) {
    gemmini::Problem& stage = problem_.stages[s].problem;
    const std::vector<uint32_t>& numbers = numbers_[s];
    const auto own = static_cast<uint32_t>(stage.buffers.size());
    uint32_t first_scratch = own;  // of the form at hand
    const auto number = [&](uint32_t buffer) {
      return numbers[buffer < own ? buffer : buffer - own + first_scratch];
    };
    const auto renumber = [&](std::vector<Copy>& copies) {
      for (Copy& copy : copies) {
        copy.source = number(copy.source);
        copy.target = number(copy.target);
      }
    };
    renumber(stage.before);
    renumber(stage.after);
    for (Form& form : stage.forms) {
      renumber(form.before);
      renumber(form.after);
      for (uint32_t& buffer : form.buffer) buffer = number(buffer);
      first_scratch += static_cast<uint32_t>(form.scratch.size());
      form.scratch.clear();
    }
    const uint32_t output = of_node_.at(graphs_[s].output);
    stage.buffers = problem_.buffers;
    for (uint32_t i = 0; i < stage.buffers.size(); ++i) {
      wire::BufferRole& role = stage.buffers[i].role;
      if (i == output)
        role = wire::BufferRole::Output;
      else if (role == wire::BufferRole::Output || (role == wire::BufferRole::Scratch && owner_[i] != s))
        role = wire::BufferRole::Input;
    }
  }

  void add_links() {
    for (size_t s = 0; s + 1 < graphs_.size(); ++s) {
      size_t readers = 0;
      for (const StageGraph& graph : graphs_)
        for (uint32_t input : graph.workload.inputs)
          readers += graph.origin(input) == graphs_[s].output ? 1 : 0;
      if (readers == 1)
        problem_.stages[s].link = find_link(problem_.stages[s].problem, problem_.stages[s + 1].problem,
                                            of_node_.at(graphs_[s].output), machine_);
    }
  }

  static constexpr size_t kNobody = ~size_t{0};

  const wire::WorkloadT& workload_;
  const Machine& machine_;
  std::vector<StageGraph> graphs_;
  Problem problem_;
  std::map<uint32_t, uint32_t> of_node_;        // buffer of a node
  std::vector<size_t> owner_;                   // of a buffer: the stage that alone uses it
  std::vector<std::vector<uint32_t>> numbers_;  // by stage
};

}  // namespace

Result<Problem> recognise_chain(const wire::WorkloadT& workload, const Machine& machine) {
  return Recogniser(workload, machine).run();
}

}  // namespace zomboss::gemmini::chain
