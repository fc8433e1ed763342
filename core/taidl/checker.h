// The checks of an instantiated model that need more than one declaration: names inside of instructions,
// types of the semantics against slices, case distinctions, requirements, encodings, data paths.
// docs/taidl.md lists them all and says for which values each is tried.
#pragma once

#include "core/taidl/model.h"

namespace zomboss::taidl {

// Reports into `diagnostics`, which must belong to the Source that the model was parsed from (the semantics
// are read there). At most 100 messages; the model is legal when no error was added. Time is bounded by the
// limits of assignments.h times the size of the text.
void check_model(const Model& model, Diagnostics& diagnostics);

}  // namespace zomboss::taidl
