// Timing parameters from TOML: sections [preset.NAME]. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "plugins/targets/gemmini/sim/timing.h"

namespace zomboss::gemmini {

// presets.toml as it was built in.
std::string_view timing_presets_text();

// `base` with what the preset says. An empty name stands for the only preset of the text. Invalid argument
// with source:line:column for what is not TOML, unknown keys, wrong types and values out of range, in any
// preset of the text; not found for a name that is not there, with those that are.
Result<TimingParameters> read_timing(std::string_view toml_text, std::string_view source_name,
                                     std::string_view preset, TimingParameters base);

}  // namespace zomboss::gemmini
