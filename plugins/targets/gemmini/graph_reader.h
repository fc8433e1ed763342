// Reading a workload's operator graph with checks: attributes, types, chains of data movement, and the list
// of what is refused. Internal to the recognition of problems. One thread; borrows the workload and the
// boundary that it fills.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/targets/gemmini/buffers.h"
#include "plugins/targets/gemmini/view.h"
#include "zomboss/schema/workload_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

class GraphReader {
 public:
  GraphReader(const wire::WorkloadT& workload, Boundary& boundary)
      : workload_(workload), boundary_(boundary) {}

  // Well-formed: operands are earlier nodes, types are sane, attributes fit. Invalid argument otherwise.
  Status check_structure() const;

  const wire::NodeT& node(uint32_t id) const { return *workload_.nodes[id]; }
  std::span<const int64_t> ints(const wire::NodeT& node, std::string_view key) const;
  double number(const wire::NodeT& node, std::string_view key, double fallback) const;  // an int or a float
  std::vector<bool> reachable() const;

  // "source:line:col: op 'name' s8[4]: rule", remembered. `refusal` is all of them as one status; ok when
  // none.
  void refuse(const wire::NodeT& node, std::string_view rule);
  bool refused() const { return !refusals_.empty(); }
  Status refusal() const;

  // The elements of `id` as a view of a parameter or constant of element type `wanted`, seen through data
  // movement and value-preserving converts. A reshape that no view expresses becomes a copy to scratch first.
  // Refuses, with an empty view, what is neither.
  View operand_view(uint32_t id, wire::DType wanted);

  // `view`, of the dims of reshape's result, for reshape's operand; goes through a dense scratch buffer when
  // it must.
  View before_reshape(const wire::NodeT& reshape, const View& view, bool is_output);

  // The output leaves as s8 though its values are s32 on the way: what is staged of it has one byte.
  void set_narrow_output(bool narrow) { narrow_output_ = narrow; }

  // One buffer for each input, in order, and one for the first output, with the elements' own widths. An
  // input that nothing reads may be of any type; it gets room all the same. Invalid argument when there is no
  // output.
  Status add_boundary_buffers();

  // Number of the constant's buffer, added when it is new.
  uint32_t constant_buffer(uint32_t id);

 private:
  // A dense scratch buffer with the dims of `like`, and the copy between them: into it, or out of it.
  View stage(const View& like, uint32_t element_bytes, bool is_output);

  const wire::WorkloadT& workload_;
  Boundary& boundary_;
  bool narrow_output_ = false;
  std::vector<std::string> refusals_;
};

}  // namespace zomboss::gemmini
