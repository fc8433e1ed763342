// The sidecar NAME.plugin.toml of a plugin: what it claims to be, readable without loading it. The descriptor
// inside the binary is the authority; the loader refuses a plugin that disagrees with its manifest.
//
//   id = "gemmini"            [a-z][a-z0-9_-]*
//   kind = "target"           or "policy"
//   version = "0.1.0"
//   abi = "1.0"               of the headers that it was compiled against
//   file = "gemmini.so"       a file name beside the manifest
//   description = "..."       optional, one line
//   sha256 = "..."            optional, of the file; checked before it is loaded
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/source.h"
#include "zomboss/sdk/status.h"

namespace zomboss::loader {

enum class Kind : uint32_t { kTarget = 1, kPolicy = 2 };  // = ZB_KIND_*

std::string_view kind_name(Kind kind);  // "target", "policy"

struct Manifest {
  std::string id;
  Kind kind = Kind::kTarget;
  std::string version;
  std::string abi;
  std::string file;
  std::string description;
  std::string sha256;   // empty = not given
  std::string path;     // of the manifest, absolute
  std::string library;  // of the shared object, absolute; not checked to exist
};

// Every error of the text at once, with file:line:col, or the manifest. Never crashes on any text.
Result<Manifest> parse_manifest(const Source& source);

}  // namespace zomboss::loader
