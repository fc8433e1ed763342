// The checks of a plugin that is mapped: what its query answers and which operations it has.
#pragma once

#include "host/loader/loader.h"

namespace zomboss::loader {

// Calls query and fills descriptor and target or policy, or refuses.
Status check_descriptor(const Manifest& manifest, zb_plugin_query_fn query, Plugin& plugin);

}  // namespace zomboss::loader
