// plugins.lock: which plugin files may be loaded, by content. Used only when the user switched it on.
//
//   [[plugin]]
//   kind = "target"
//   id = "gemmini"
//   version = "0.1.0"
//   sha256 = "9f86d0..."
#pragma once

#include <string>
#include <vector>

#include "host/loader/manifest.h"

namespace zomboss::loader {

struct AllowedPlugin {
  Kind kind = Kind::kTarget;
  std::string id;
  std::string version;
  std::string sha256;
  bool operator==(const AllowedPlugin&) const = default;
};

class AllowList {
 public:
  // A missing file is an empty list, which allows nothing. Errors carry file:line:col.
  static Result<AllowList> read(const std::string& path);

  bool allows(const AllowedPlugin& plugin) const;
  // The entry of that kind and id, or nullptr.
  const AllowedPlugin* find(Kind kind, std::string_view id) const;
  // Adds the entry, in place of another version of the same plugin.
  void set(AllowedPlugin plugin);
  const std::vector<AllowedPlugin>& entries() const { return entries_; }

  // Replaces the file in one step; it is never seen half-written. Creates the folder.
  Status write(const std::string& path) const;

 private:
  std::vector<AllowedPlugin> entries_;  // by kind, then id
};

// Hashes the file of the manifest and adds it to the list at `lock_file`. Returns the entry. (`zomboss
// plugins allow`)
Result<AllowedPlugin> allow_plugin(const std::string& lock_file, const Manifest& manifest);

}  // namespace zomboss::loader
