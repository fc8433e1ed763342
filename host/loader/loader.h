// Loads plugins: from an id to a checked descriptor. All that can be checked without running code of the
// plugin is checked first, and a later step never runs after a failed one:
//   path policy, manifest, hash and allow-list, ELF header and exports, dlopen, query, descriptor, extension.
// A loaded library stays mapped until the process ends (its threads, statics and tables may be in use
// anywhere).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "host/loader/search_path.h"
#include "zomboss/plugin.h"
#include "zomboss/policy.h"
#include "zomboss/target.h"

namespace zomboss::loader {

// A loaded and checked plugin. The tables are the plugin's and live as long as the process.
struct Plugin {
  Manifest manifest;
  std::string sha256;  // of the file, 64 lower-case digits
  const zb_plugin* descriptor = nullptr;
  const zb_target* target = nullptr;  // exactly one of these two
  const zb_policy* policy = nullptr;

  // The optional extension, e.g. extension<zb_target_bound>(ZB_TARGET_BOUND_ID), or nullptr when the plugin
  // has none or its table is too small. [any]
  template <typename Table>
  const Table* extension(std::string_view id) const {
    const auto* table = static_cast<const Table*>(descriptor->extension({id.data(), id.size()}));
    return table != nullptr && table->struct_size >= sizeof(Table) ? table : nullptr;
  }
};

struct LoaderOptions {
  SearchPath path;
  // plugins.lock; set = only what it lists is loaded.
  std::optional<std::string> allow_list;
};

// Not thread-safe: load first, then start threads. Plugins that it returns may be used from any thread, and
// stay valid as long as the Loader.
class Loader {
 public:
  explicit Loader(LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  const Discovery& discovery() const { return discovery_; }

  // The plugin; the second call for the same one answers at once. Every failure is a refusal (refusal.h).
  Result<const Plugin*> load(std::string_view id, Kind kind);
  // The same for a manifest that need not be on the search path.
  Result<const Plugin*> load(const Manifest& manifest);

 private:
  Result<const Manifest*> find(std::string_view id, Kind kind) const;

  LoaderOptions options_;
  Discovery discovery_;
  std::map<std::string, std::unique_ptr<Plugin>> loaded_;  // by canonical path of the library
};

}  // namespace zomboss::loader
