// Messages of the toy target as plain values: reading workloads, plans and programs, and the matrix product.
#pragma once

#include <string>
#include <vector>

#include "tests/toy/toy_model.h"
#include "zomboss/sdk/message.h"
#include "zomboss/sdk/status.h"

namespace zomboss::toy {

inline constexpr const char* kFormat = "toy/1";
inline const std::vector<std::string> kKnobs = {"tile_m", "tile_n", "buffering", "loop_order", "unroll_k"};

int64_t& decision(Decisions& decisions, const std::string& knob);  // knob is one of kKnobs

// One node "matmul", s8[m,k] x s8[k,n] -> s32[m,n], of the two inputs; unimplemented otherwise.
Result<Problem> read_problem(const wire::WorkloadT& workload);
Result<Decisions> read_decisions(const wire::PlanT& plan);

// The code of a program is one line of text: "m n k tile_m tile_n buffering loop_order unroll_k".
std::string write_code(const Problem& problem, const Decisions& decisions);
// Data loss on anything else.
Status read_code(const std::vector<uint8_t>& code, Problem& problem, Decisions& decisions);

// lhs x rhs, both checked against the problem.
Result<wire::TensorT> multiply(const Problem& problem, const wire::TensorsT& inputs);

}  // namespace zomboss::toy
