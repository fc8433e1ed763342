// Canonical text of a Spec: fixed order of the declarations (params, dtypes, engines, memories, register
// files, states, instructions, loops, rules), two blanks of indentation, fewest parentheses, no comments.
// parse(print(spec)) == spec.
#pragma once

#include <string>

#include "core/taidl/spec.h"

namespace zomboss::taidl {

std::string print_spec(const Spec& spec);
std::string print_type(const TypeExpr& type);
std::string print_domain(const DomainExpr& domain);
std::string print_slice(const Slice& slice);

}  // namespace zomboss::taidl
