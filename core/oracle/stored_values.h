// Options::stored, resolved against a module. Internal to core/oracle.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "core/oracle/oracle.h"
#include "core/oracle/value.h"

namespace zomboss::oracle {

// (computation, instruction) -> dim of the blocks.
using StoredDims = std::map<std::pair<uint32_t, uint32_t>, int64_t>;

// Fails as Options::stored says. `source_name` is for messages.
Result<StoredDims> find_stored(const hlo::Module& module, std::span<const StoredValue> stored,
                               const std::string& source_name);

// A copy of the array after a store and a load.
Result<Value> through_storage(Budget& budget, const Array& array, int64_t dim);

}  // namespace zomboss::oracle
