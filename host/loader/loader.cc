#include "host/loader/loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <vector>

#include "core/base/text.h"
#include "host/loader/allow_list.h"
#include "host/loader/descriptor.h"
#include "host/loader/elf.h"
#include "host/loader/file.h"
#include "host/loader/refusal.h"

namespace zomboss::loader {
namespace {

constexpr size_t kLargestPlugin = size_t{512} << 20;
constexpr std::string_view kEntryPrefix = "zb_plugin_query_v";

// The checks that run no code of the plugin. Returns the content that they looked at.
struct Checked {
  std::string library;  // canonical
  std::string sha256;
  FileIdentity identity;
};

Status check_manifest_abi(const Manifest& manifest) {
  if (manifest.abi.substr(0, manifest.abi.find('.')) == std::to_string(ZB_ABI_MAJOR)) return {};
  return refuse(
      Refusal::kAbiMajor, manifest, "its manifest says that it was built for another ABI",
      fmt::format("rebuild it against the headers of ABI {}, or use the zomboss that it was made for",
                  ZB_ABI_MAJOR));
}

Status check_hash(const Manifest& manifest, const std::string& sha256) {
  if (manifest.sha256.empty() || manifest.sha256 == sha256) return {};
  return refuse(Refusal::kHashMismatch, manifest,
                fmt::format("the file has SHA-256 {}, its manifest names {}", sha256, manifest.sha256),
                "install the plugin and its manifest together again");
}

Status check_allowed(const Manifest& manifest, const std::string& sha256, const std::string& lock_file) {
  ZB_ASSIGN(const AllowList list, AllowList::read(lock_file));
  if (list.allows({manifest.kind, manifest.id, manifest.version, sha256})) return {};
  const std::string next =
      fmt::format("if you trust this file, run: zomboss plugins allow {}", manifest.path);
  const AllowedPlugin* entry = list.find(manifest.kind, manifest.id);
  if (entry == nullptr)
    return refuse(Refusal::kNotAllowed, manifest, fmt::format("it is not in the allow-list {}", lock_file),
                  next);
  return refuse(Refusal::kHashMismatch, manifest,
                fmt::format("the allow-list {} has version {} with SHA-256 {}, the file has {}", lock_file,
                            entry->version, entry->sha256, sha256),
                next);
}

bool is_entry(const std::string& name) {
  return name.size() > kEntryPrefix.size() && name.starts_with(kEntryPrefix) &&
         std::all_of(name.begin() + static_cast<std::ptrdiff_t>(kEntryPrefix.size()), name.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

// Exactly the entry, beside entries of other ABI majors of a plugin that serves several hosts.
Status check_exports(const Manifest& manifest, const std::vector<std::string>& exports) {
  std::vector<std::string> entries;
  std::vector<std::string> others;
  for (const std::string& name : exports) (is_entry(name) ? entries : others).push_back(name);
  if (entries.empty())
    return refuse(
        Refusal::kNoEntry, manifest, fmt::format("it does not export {}", ZB_ENTRY_SYMBOL),
        "export the plugin with ZB_EXPORT_TARGET or ZB_EXPORT_POLICY and build it with zb_add_plugin()");
  if (std::find(entries.begin(), entries.end(), ZB_ENTRY_SYMBOL) == entries.end())
    return refuse(Refusal::kAbiMajor, manifest,
                  fmt::format("it only speaks another ABI: it exports {}, not {}", fmt::join(entries, ", "),
                              ZB_ENTRY_SYMBOL),
                  "update zomboss, or rebuild the plugin for this ABI");
  if (others.empty()) return {};
  const size_t count = others.size();
  if (count > 3) others.resize(3);
  return refuse(Refusal::kExtraExports, manifest,
                fmt::format("it exports {} more symbol{} than {}: {}{}", count, count == 1 ? "" : "s",
                            ZB_ENTRY_SYMBOL, fmt::join(others, ", "), count > 3 ? ", ..." : ""),
                "build it with zb_add_plugin(), which hides everything else");
}

Result<Checked> check_without_loading(const Manifest& manifest, const std::optional<std::string>& lock_file) {
  const auto missing = [&](const Status& status) {
    return refuse(Refusal::kMissingFile, manifest, status.message(), "build or install the plugin again");
  };
  Checked checked;
  if (auto canonical = canonical_path(manifest.library); canonical.ok())
    checked.library = *std::move(canonical);
  else
    return missing(canonical.status());
  if (Status status = check_not_world_writable(checked.library); !status.ok())
    return refuse(Refusal::kUnsafePath, manifest, status.message(),
                  "make the file and its folders yours alone");
  ZB_TRY(check_manifest_abi(manifest));
  auto content = read_regular_file(checked.library, kLargestPlugin);
  if (!content.ok()) return missing(content.status());
  checked.identity = content->identity;
  checked.sha256 = sha256_hex(content->bytes);
  ZB_TRY(check_hash(manifest, checked.sha256));
  if (lock_file) ZB_TRY(check_allowed(manifest, checked.sha256, *lock_file));
  const ElfReport elf = inspect_elf(content->bytes);
  if (!elf.problem.empty())
    return refuse(elf.refusal, manifest, elf.problem, "rebuild or reinstall the plugin for this machine");
  ZB_TRY(check_exports(manifest, elf.exports));
  return checked;
}

// Maps the library for good and returns its entry.
Result<zb_plugin_query_fn> open_library(const Manifest& manifest, const Checked& checked) {
  using boost::dll::load_mode::type;
  using namespace boost::dll::load_mode;
  boost::system::error_code error;
  boost::dll::shared_library library;
  ::dlerror();
  library.load(checked.library, type(rtld_now | rtld_local), error);
  if (error) {
    const char* why = ::dlerror();
    return refuse(
        Refusal::kDynamicLinker, manifest,
        fmt::format("the dynamic linker says: {}", why != nullptr ? why : error.message()),
        "rebuild it with zb_add_plugin(), which links with -z defs, or install the library that it needs");
  }
  auto identity = identify_file(checked.library);
  // Boost.DLL cannot say NODELETE; a second handle pins the library after the first one is closed.
  const void* pinned = ::dlopen(checked.library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);
  if (pinned == nullptr || !identity.ok() || *identity != checked.identity)
    return refuse(Refusal::kMissingFile, manifest, "the file was replaced while it was being loaded",
                  "try again");
  return library.get<const zb_plugin*(uint32_t, uint32_t)>(ZB_ENTRY_SYMBOL);
}

}  // namespace

Loader::Loader(LoaderOptions options) : options_(std::move(options)), discovery_(discover(options_.path)) {}
Loader::~Loader() = default;

Result<const Manifest*> Loader::find(std::string_view id, Kind kind) const {
  std::vector<std::string> ids;
  const Manifest* other = nullptr;
  for (const Manifest& manifest : discovery_.manifests) {
    if (manifest.kind == kind && manifest.id == id) return &manifest;
    if (manifest.kind == kind) ids.push_back(manifest.id);
    if (manifest.id == id) other = &manifest;
  }
  if (other != nullptr)
    return refuse(Refusal::kWrongKind, *other,
                  fmt::format("it is a {}, not a {}", kind_name(other->kind), kind_name(kind)),
                  fmt::format("known ids of kind {}: {}", kind_name(kind),
                              ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", "))));
  std::string text = fmt::format("no {} '{}' is installed{}", kind_name(kind), id, did_you_mean(id, ids));
  text += fmt::format("\n  installed: {}", ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", ")));
  text +=
      fmt::format("\n  searched: {}", options_.path.directories.empty()
                                          ? "no folder"
                                          : fmt::format("{}", fmt::join(options_.path.directories, ", ")));
  if (!discovery_.problems.empty())
    text += fmt::format("\n  {} manifest{} or folder{} could not be used; see: zomboss plugins",
                        discovery_.problems.size(), discovery_.problems.size() == 1 ? "" : "s",
                        discovery_.problems.size() == 1 ? "" : "s");
  text += "\n  next: check the spelling, or name the folder of the plugin with --plugin-dir";
  return refuse(Refusal::kNotFound, text);
}

Result<const Plugin*> Loader::load(std::string_view id, Kind kind) {
  ZB_ASSIGN(const Manifest* manifest, find(id, kind));
  return load(*manifest);
}

Result<const Plugin*> Loader::load(const Manifest& manifest) {
  if (const auto known = loaded_.find(manifest.library); known != loaded_.end()) return known->second.get();
  ZB_ASSIGN(const Checked checked, check_without_loading(manifest, options_.allow_list));
  ZB_ASSIGN(const zb_plugin_query_fn query, open_library(manifest, checked));
  auto plugin = std::make_unique<Plugin>();
  plugin->manifest = manifest;
  plugin->sha256 = checked.sha256;
  ZB_TRY(check_descriptor(manifest, query, *plugin));
  return (loaded_[manifest.library] = std::move(plugin)).get();
}

}  // namespace zomboss::loader
