// The tables, as the steps that made them. A file's `user_version` is the number of steps it has had; a step
// that was released never changes, a new table or column is a new step.
#pragma once

#include <cstdint>
#include <span>

namespace zomboss::history {

constexpr int64_t kApplicationId = 0x5a424831;  // "ZBH1", in the file's header

std::span<const char* const> schema_steps();

}  // namespace zomboss::history
