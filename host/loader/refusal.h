// The stable codes of all reasons for which a plugin is not loaded. docs/plugin-abi.md has the table for
// people.
#pragma once

#include <string>
#include <string_view>

#include "host/loader/manifest.h"
#include "zomboss/sdk/status.h"

namespace zomboss::loader {

enum class Refusal {
  kNotFound = 1,            // no plugin of that id on the search path
  kWrongKind = 2,           // the id belongs to a plugin of the other kind
  kUnsafePath = 3,          // anybody may write to the file or a folder above it
  kBadManifest = 4,         // syntax, unknown or missing key, bad value
  kMissingFile = 5,         // the file of the manifest is missing, unreadable, or not a regular file
  kAbiMajor = 6,            // built for another ABI major
  kNotAllowed = 7,          // the allow-list is on and does not have it
  kHashMismatch = 8,        // the file is not the one that was allowed, or that the manifest names
  kBadAllowList = 9,        // plugins.lock cannot be read
  kNotSharedObject = 10,    // not an ELF shared object, or damaged
  kWrongMachine = 11,       // 32-bit, other byte order, or another processor
  kNoEntry = 12,            // does not export zb_plugin_query_v1
  kExtraExports = 13,       // exports more than the entry
  kDynamicLinker = 14,      // dlopen failed
  kHostTooOld = 15,         // query answered NULL
  kHostMinor = 16,          // needs a newer host minor
  kSanitizer = 17,          // built with another sanitizer than the host
  kBadDescriptor = 18,      // struct_size too small, NULL function or string
  kManifestDisagrees = 19,  // id, version or kind differ between descriptor and manifest
  kNoOperations = 20,       // mandatory extension absent, too small, or with a NULL function
};

std::string refusal_code(Refusal refusal);  // "ZB-LOAD-07"

// The ZB-LOAD code that starts the message of a status made here, or "" for any other status.
std::string_view refusal_code_of(const Status& status);

// "ZB-LOAD-NN: <text>", for refusals that have no plugin to speak of.
Status refuse(Refusal refusal, std::string_view text);

// "ZB-LOAD-NN: policy 'hill' 0.1.0 is refused: <why>", then lines with the file, the ABI that it was built
// for and the ABI that this host speaks, and the next step.
Status refuse(Refusal refusal, const Manifest& manifest, std::string_view why, std::string_view next);

}  // namespace zomboss::loader
