#include "host/loader/allow_list.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "core/base/text.h"
#include "host/loader/file.h"
#include "host/loader/refusal.h"
#include "host/loader/toml_text.h"

namespace zomboss::loader {
namespace {

constexpr size_t kLargestList = size_t{1} << 20;
constexpr size_t kLargestPlugin = size_t{512} << 20;

Result<std::vector<AllowedPlugin>> parse_list(const Source& source) {
  Diagnostics diagnostics(source);
  const auto table = config::parse_toml(source, diagnostics);
  if (!table) return diagnostics.status();
  std::vector<AllowedPlugin> entries;
  const std::vector<std::string> known = {"plugin"};
  for (const auto& [key, node] : *table) {
    const toml::array* array = node.as_array();
    if (key.str() != "plugin") {
      diagnostics.error(config::location_of(key),
                        fmt::format("unknown key '{}'{}", key.str(), did_you_mean(key.str(), known)),
                        "the file has only [[plugin]] entries");
    } else if (array == nullptr || !array->is_homogeneous(toml::node_type::table)) {
      diagnostics.error(config::location_of(node), "'plugin' is not a list of tables", "write [[plugin]]");
    } else {
      for (const toml::node& item : *array) {
        AllowedPlugin entry;
        std::string kind;
        read_strings(*item.as_table(),
                     {{"kind", true, &kind, kind_problem},
                      {"id", true, &entry.id, id_problem},
                      {"version", true, &entry.version, version_problem},
                      {"sha256", true, &entry.sha256, sha256_problem}},
                     diagnostics);
        entry.kind = kind == "target" ? Kind::kTarget : Kind::kPolicy;
        entries.push_back(std::move(entry));
      }
    }
  }
  ZB_TRY(diagnostics.status());
  return entries;
}

Status write_error(const std::string& path, int error) {
  return Status(Code::kPermissionDenied,
                fmt::format("{}: cannot be written: {}", path,
                            std::error_code(error, std::generic_category()).message()));
}

Status write_all(int fd, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return write_error(path, errno);
    text.remove_prefix(static_cast<size_t>(count));
  }
  if (::fchmod(fd, 0644) != 0 || ::fsync(fd) != 0) return write_error(path, errno);
  return {};
}

}  // namespace

Result<AllowList> AllowList::read(const std::string& path) {
  AllowList list;
  auto content = read_regular_file(path, kLargestList);
  if (!content.ok() && content.status().code() == Code::kNotFound) return list;
  if (!content.ok()) return refuse(Refusal::kBadAllowList, content.status().message());
  auto entries = parse_list(Source(path, std::move(content->bytes)));
  if (!entries.ok())
    return refuse(Refusal::kBadAllowList,
                  fmt::format("the allow-list cannot be read\n{}", entries.status().message()));
  for (AllowedPlugin& entry : *entries) list.set(std::move(entry));
  return list;
}

bool AllowList::allows(const AllowedPlugin& plugin) const {
  const AllowedPlugin* entry = find(plugin.kind, plugin.id);
  return entry != nullptr && *entry == plugin;
}

const AllowedPlugin* AllowList::find(Kind kind, std::string_view id) const {
  for (const AllowedPlugin& entry : entries_)
    if (entry.kind == kind && entry.id == id) return &entry;
  return nullptr;
}

void AllowList::set(AllowedPlugin plugin) {
  const auto same = [&](const AllowedPlugin& entry) {
    return entry.kind == plugin.kind && entry.id == plugin.id;
  };
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(), same), entries_.end());
  const auto before = [](const AllowedPlugin& a, const AllowedPlugin& b) {
    return std::tie(a.kind, a.id) < std::tie(b.kind, b.id);
  };
  entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), plugin, before), std::move(plugin));
}

Status AllowList::write(const std::string& path) const {
  std::string text = "# Plugins that may be loaded, by content. Written by `zomboss plugins allow`.\n";
  for (const AllowedPlugin& entry : entries_)
    text += fmt::format("\n[[plugin]]\nkind = \"{}\"\nid = \"{}\"\nversion = \"{}\"\nsha256 = \"{}\"\n",
                        kind_name(entry.kind), entry.id, entry.version, entry.sha256);
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) return write_error(path, error.value());
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return write_error(path, errno);
  Status status = write_all(fd, path, text);
  ::close(fd);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) status = write_error(path, errno);
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

Result<AllowedPlugin> allow_plugin(const std::string& lock_file, const Manifest& manifest) {
  ZB_ASSIGN(AllowList list, AllowList::read(lock_file));
  auto content = read_regular_file(manifest.library, kLargestPlugin);
  if (!content.ok())
    return refuse(Refusal::kMissingFile, manifest, content.status().message(),
                  "build or install the plugin again");
  AllowedPlugin entry{manifest.kind, manifest.id, manifest.version, sha256_hex(content->bytes)};
  list.set(entry);
  ZB_TRY(list.write(lock_file));
  return entry;
}

}  // namespace zomboss::loader
