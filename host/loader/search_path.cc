#include "host/loader/search_path.h"

#include <dirent.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/dll/runtime_symbol_info.hpp>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>

#include "host/loader/file.h"
#include "host/loader/refusal.h"

namespace zomboss::loader {
namespace {

constexpr std::string_view kManifestSuffix = ".plugin.toml";
constexpr size_t kLargestManifest = size_t{64} << 10;

std::string environment(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? "" : value;
}

// Adds one folder, or the problem with it when it was asked for by name.
void add(SearchPath& path, const std::string& directory, bool asked_for) {
  const auto problem = [&](std::string_view why) {
    path.problems.push_back(fmt::format("{}: plugin folder '{}' is ignored: {}",
                                        refusal_code(Refusal::kUnsafePath), directory, why));
  };
  if (directory.empty() || directory == ".")
    return problem("plugins are never taken from the current folder by default; name it in full");
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(directory, error).string();
  auto canonical = canonical_path(absolute);
  if (!canonical.ok() || !std::filesystem::is_directory(*canonical, error)) {
    if (asked_for) problem(canonical.ok() ? "it is not a folder" : "it does not exist or cannot be read");
    return;
  }
  if (Status status = check_not_world_writable(*canonical); !status.ok()) return problem(status.message());
  if (std::find(path.directories.begin(), path.directories.end(), *canonical) == path.directories.end())
    path.directories.push_back(*std::move(canonical));
}

void add_environment(SearchPath& path) {
  const std::string list = environment("ZB_PLUGIN_PATH");
  for (size_t start = 0; start < list.size();) {
    const size_t end = std::min(list.find(':', start), list.size());
    const std::string directory = list.substr(start, end - start);
    if (!directory.empty() && directory[0] != '/')
      path.problems.push_back(
          fmt::format("{}: plugin folder '{}' of ZB_PLUGIN_PATH is ignored: it is not absolute",
                      refusal_code(Refusal::kUnsafePath), directory));
    else if (!directory.empty())
      add(path, directory, false);
    start = end + 1;
  }
}

void add_user_folder(SearchPath& path) {
  std::string data = environment("XDG_DATA_HOME");
  if (data.empty() || data[0] != '/') {
    const std::string home = environment("HOME");
    if (home.empty() || home[0] != '/') return;
    data = home + "/.local/share";
  }
  add(path, data + "/zomboss/plugins", false);
}

std::vector<std::string> manifest_files(const std::string& directory, std::vector<Problem>& problems) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator item(directory, error), end; !error && item != end;
       item.increment(error)) {
    std::string name = item->path().filename().string();
    if (name.size() > kManifestSuffix.size() && name.ends_with(kManifestSuffix))
      names.push_back(std::move(name));
  }
  if (error)
    problems.push_back(
        {directory, fmt::format("{}: plugin folder {} cannot be listed: {}",
                                refusal_code(Refusal::kUnsafePath), directory, error.message())});
  std::sort(names.begin(), names.end());
  return names;
}

Result<Manifest> read_manifest(const std::string& path) {
  if (Status status = check_not_world_writable(path); !status.ok())
    return refuse(Refusal::kUnsafePath, fmt::format("manifest {} is ignored: {}", path, status.message()));
  auto content = read_regular_file(path, kLargestManifest);
  if (!content.ok()) return refuse(Refusal::kBadManifest, content.status().message());
  auto manifest = parse_manifest(Source(path, std::move(content->bytes)));
  if (!manifest.ok())
    return refuse(Refusal::kBadManifest,
                  fmt::format("a plugin manifest is ignored\n{}", manifest.status().message()));
  return manifest;
}

}  // namespace

Status check_not_world_writable(const std::string& path) {
  const std::filesystem::path checked(path);
  for (std::filesystem::path at = checked;; at = at.parent_path()) {
    struct stat info {};
    if (::stat(at.c_str(), &info) != 0)
      return not_found(
          fmt::format("{}: {}", at.string(), std::error_code(errno, std::generic_category()).message()));
    const bool excused = at != checked && (info.st_mode & S_ISVTX) != 0;
    if ((info.st_mode & S_IWOTH) != 0 && !excused)
      return Status(Code::kPermissionDenied,
                    fmt::format("anybody may write to {} (mode {:04o}); run: chmod o-w {}", at.string(),
                                info.st_mode & 07777u, at.string()));
    if (at == at.parent_path() || at.parent_path().empty()) return {};
  }
}

SearchPath search_path_of(const std::vector<std::string>& directories) {
  SearchPath path;
  for (const std::string& directory : directories) add(path, directory, true);
  return path;
}

SearchPath default_search_path(const std::vector<std::string>& plugin_dirs) {
  SearchPath path = search_path_of(plugin_dirs);
  add_environment(path);
  add_user_folder(path);
  boost::system::error_code error;
  const std::string program = boost::dll::program_location(error).string();
  if (error || program.empty()) return path;
  const std::filesystem::path folder = std::filesystem::path(program).parent_path();
  add(path, (folder / "../plugins").string(), false);
  add(path, (folder / "../lib/zomboss/plugins").string(), false);
  return path;
}

Discovery discover(const SearchPath& path) {
  Discovery found;
  for (const std::string& problem : path.problems) found.problems.push_back({"", problem});
  std::set<std::pair<Kind, std::string>> seen;
  for (const std::string& directory : path.directories) {
    for (const std::string& name : manifest_files(directory, found.problems)) {
      const std::string file = (std::filesystem::path(directory) / name).string();
      auto manifest = read_manifest(file);
      if (!manifest.ok())
        found.problems.push_back({file, manifest.status().message()});
      else if (!seen.emplace(manifest->kind, manifest->id).second)
        found.hidden.push_back(*std::move(manifest));
      else
        found.manifests.push_back(*std::move(manifest));
    }
  }
  std::sort(found.manifests.begin(), found.manifests.end(), [](const Manifest& a, const Manifest& b) {
    return std::tie(a.kind, a.id) < std::tie(b.kind, b.id);
  });
  return found;
}

}  // namespace zomboss::loader
