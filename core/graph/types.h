// Relations between element types.
#pragma once

#include "core/hlo/module.h"

namespace zomboss::graph {

// True when `wide` represents every value of `narrow` exactly, e.g. s32 of s8, f32 of bf16, f32 of s16.
// Integers, Pred and floats; false for all others.
bool holds_all_values(hlo::DType wide, hlo::DType narrow);

}  // namespace zomboss::graph
