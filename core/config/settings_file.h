// A file of the vendor's own settings, handed to a target as it is.
#pragma once

#include "zomboss/schema/options_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::config {

// When `options` has a `settings_file`, replaces it by the file's numbers, texts and booleans, each under its
// path: TOML's [A.B] c = 1 becomes the option "settings.A.B.c". Arrays, dates and times are left out. Fails
// with file:line:col when the file cannot be read or is no TOML.
Status expand_settings_file(wire::OptionsT& options);

}  // namespace zomboss::config
