// The values that a KV cache would hold: computed keys and values, where an attention node reads them. Pure;
// any thread may call it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace zomboss::graph {

struct KvValue {
  uint32_t attention = 0;   // the node that reads it
  bool is_key = false;      // else it is the value
  uint32_t node = 0;        // the node that is read
  std::string name;         // of the HLO instruction whose value that is, as Node::name
  Location where;           // of that instruction; tells equal names of different computations apart
  int64_t feature_dim = 0;  // of that instruction's shape: the dim of the features of one position
};

// Two for each attention node, in the order of the nodes, key first; without those that come from a
// parameter or a constant by reshape, transpose, convert and broadcast alone. A value that several attention
// nodes read, or one as key and value, is listed each time. All users of the HLO instruction see its value,
// also those outside attention.
std::vector<KvValue> kv_values(const Graph& graph);

}  // namespace zomboss::graph
