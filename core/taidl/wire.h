// The checked model as the message that target plugins receive.
#pragma once

#include <string>

#include "core/taidl/model.h"
#include "zomboss/schema/model_generated.h"

namespace zomboss::taidl {

wire::ModelT to_wire(const Model& model);
// A finished buffer with the file identifier ZBMD.
std::string encode_model(const Model& model);

}  // namespace zomboss::taidl
