// Where plugins are looked for, and the listing of what is there. Listing reads manifests and never loads a
// plugin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/loader/manifest.h"

namespace zomboss::loader {

// Folders in order; the first that has a plugin of some kind and id wins.
struct SearchPath {
  std::vector<std::string> directories;  // absolute
  std::vector<std::string> problems;     // folders that were asked for and cannot be used, with the reason
};

// In order:
//   1. plugin_dirs (--plugin-dir), as given; a relative one is taken from the current folder
//   2. ZB_PLUGIN_PATH, colon-separated absolute folders; ignored when the program runs with raised privileges
//   3. $XDG_DATA_HOME/zomboss/plugins, else ~/.local/share/zomboss/plugins; likewise
//   4. ../plugins and ../lib/zomboss/plugins, seen from the folder of the executable
// "." and "" are never searched, nor is the path of the dynamic linker. Folders of 2..4 that do not exist are
// left out silently, those of 1 are a problem. Folders that anybody may write to are refused
// (check_not_world_writable).
SearchPath default_search_path(const std::vector<std::string>& plugin_dirs);

// A SearchPath of exactly these folders, with the checks of default_search_path.
SearchPath search_path_of(const std::vector<std::string>& directories);

// Permission denied when somebody else could swap `path` (a file or folder, absolute): it is itself writable
// by everybody, or a folder above it is and lacks the sticky bit. The sticky bit excuses only folders above,
// such as /tmp: inside such a folder strangers can add files, so plugins are not taken from it directly.
// Owner and group are trusted.
Status check_not_world_writable(const std::string& path);

struct Problem {
  std::string path;  // of the manifest or folder
  std::string text;  // complete message with its ZB-LOAD code
};

struct Discovery {
  std::vector<Manifest> manifests;  // by kind, then id; one each
  std::vector<Manifest> hidden;     // same kind and id as one found earlier on the path
  std::vector<Problem> problems;    // one bad manifest never hides the others
};

// Reads all *.plugin.toml of the path, in the order of the path and of the file names.
Discovery discover(const SearchPath& path);

}  // namespace zomboss::loader
