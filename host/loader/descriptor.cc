#include "host/loader/descriptor.h"

#include <fmt/format.h>

#include "host/loader/refusal.h"
#include "zomboss/sdk/plugin.h"

namespace zomboss::loader {
namespace {

constexpr size_t kLongestText = 64;

std::string sanitizer_name(uint32_t sanitizer) {
  switch (sanitizer) {
    case ZB_SANITIZER_NONE:
      return "no sanitizer";
    case ZB_SANITIZER_ADDRESS:
      return "AddressSanitizer";
    case ZB_SANITIZER_THREAD:
      return "ThreadSanitizer";
    default:
      return fmt::format("sanitizer {}", sanitizer);
  }
}

// The text, shortened and printable whatever it is; a descriptor is code's data, but may still be nonsense.
std::string shown(zb_str text) {
  if (text.data == nullptr) return "(null)";
  std::string out(text.data, std::min(text.size, kLongestText));
  for (char& c : out)
    if (c < 0x20 || c > 0x7e) c = '?';
  return text.size > kLongestText ? out + "..." : out;
}

bool equal(zb_str a, const std::string& b) {
  return std::string_view(a.data, a.size) == b;
}

Status check_versions(const Manifest& manifest, const zb_plugin& plugin) {
  if (plugin.struct_size < offsetof(zb_plugin, host_minor_needed))
    return refuse(Refusal::kBadDescriptor, manifest,
                  fmt::format("its zb_plugin has struct_size {}, version 1.0 has {}", plugin.struct_size,
                              sizeof plugin),
                  "set struct_size to sizeof(zb_plugin)");
  if (plugin.abi_major != ZB_ABI_MAJOR)
    return refuse(Refusal::kAbiMajor, manifest,
                  fmt::format("its descriptor says ABI {}.{}", plugin.abi_major, plugin.abi_minor),
                  fmt::format("rebuild it against the headers of ABI {}", ZB_ABI_MAJOR));
  if (plugin.struct_size < sizeof(zb_plugin))
    return refuse(Refusal::kBadDescriptor, manifest,
                  fmt::format("its zb_plugin has struct_size {}, version 1.0 has {}", plugin.struct_size,
                              sizeof plugin),
                  "set struct_size to sizeof(zb_plugin)");
  if (plugin.host_minor_needed > ZB_ABI_MINOR)
    return refuse(
        Refusal::kHostMinor, manifest,
        fmt::format("it needs a host of ABI {}.{} or newer", ZB_ABI_MAJOR, plugin.host_minor_needed),
        "update zomboss, or use an older release of the plugin");
  if (plugin.sanitizer != sdk::kSanitizer)
    return refuse(Refusal::kSanitizer, manifest,
                  fmt::format("it was built with {}, this program with {}", sanitizer_name(plugin.sanitizer),
                              sanitizer_name(sdk::kSanitizer)),
                  "build both with the same -fsanitize option");
  return {};
}

Status check_content(const Manifest& manifest, const zb_plugin& plugin) {
  const char* null_member = plugin.create == nullptr         ? "create"
                            : plugin.destroy == nullptr      ? "destroy"
                            : plugin.extension == nullptr    ? "extension"
                            : plugin.id.data == nullptr      ? "id"
                            : plugin.version.data == nullptr ? "version"
                                                             : nullptr;
  if (null_member != nullptr)
    return refuse(Refusal::kBadDescriptor, manifest,
                  fmt::format("'{}' of its zb_plugin is NULL", null_member), "fill every field of zb_plugin");
  const auto disagrees = [&](std::string_view what, std::string_view binary, std::string_view text) {
    return refuse(Refusal::kManifestDisagrees, manifest,
                  fmt::format("the file says {} '{}', its manifest says '{}'", what, binary, text),
                  fmt::format("install the plugin and {} together again", manifest.path));
  };
  if (!equal(plugin.id, manifest.id)) return disagrees("id", shown(plugin.id), manifest.id);
  if (!equal(plugin.version, manifest.version))
    return disagrees("version", shown(plugin.version), manifest.version);
  if (plugin.kind != static_cast<uint32_t>(manifest.kind)) {
    const bool known = plugin.kind == ZB_KIND_TARGET || plugin.kind == ZB_KIND_POLICY;
    const std::string kind =
        known ? std::string(kind_name(static_cast<Kind>(plugin.kind))) : std::to_string(plugin.kind);
    return disagrees("kind", kind, kind_name(manifest.kind));
  }
  return {};
}

// The mandatory table, or the refusal. All functions of Table follow two uint32_t.
template <typename Table>
Result<const Table*> operations(const Manifest& manifest, const zb_plugin& plugin, std::string_view id) {
  const auto* table = static_cast<const Table*>(plugin.extension({id.data(), id.size()}));
  const auto refused = [&](std::string_view why) {
    return refuse(Refusal::kNoOperations, manifest, why,
                  fmt::format("offer a complete '{}' from extension()", id));
  };
  if (table == nullptr) return refused(fmt::format("it has no '{}'", id));
  if (table->struct_size < sizeof(Table))
    return refused(fmt::format("its '{}' has struct_size {}, version 1.0 has {}", id, table->struct_size,
                               sizeof(Table)));
  return table;
}

template <typename... Functions>
bool all_set(Functions... functions) {
  return ((functions != nullptr) && ...);
}

}  // namespace

Status check_descriptor(const Manifest& claimed, zb_plugin_query_fn query, Plugin& plugin) {
  const zb_plugin* descriptor = query(ZB_ABI_MAJOR, ZB_ABI_MINOR);
  if (descriptor == nullptr)
    return refuse(Refusal::kHostTooOld, claimed, "it cannot run on a host this old (its query answered NULL)",
                  "update zomboss, or use an older release of the plugin");
  Manifest manifest = claimed;
  if (descriptor->struct_size >= offsetof(zb_plugin, host_minor_needed))  // from here on its own word counts
    manifest.abi = fmt::format("{}.{}", descriptor->abi_major, descriptor->abi_minor);
  ZB_TRY(check_versions(manifest, *descriptor));
  ZB_TRY(check_content(manifest, *descriptor));
  plugin.descriptor = descriptor;
  bool complete = false;
  if (manifest.kind == Kind::kTarget) {
    ZB_ASSIGN(plugin.target, operations<zb_target>(manifest, *descriptor, ZB_TARGET_ID));
    const zb_target& t = *plugin.target;
    complete = all_set(t.describe, t.configure, t.surface, t.lower, t.simulate);
  } else {
    ZB_ASSIGN(plugin.policy, operations<zb_policy>(manifest, *descriptor, ZB_POLICY_ID));
    const zb_policy& p = *plugin.policy;
    complete = all_set(p.start, p.propose, p.observe, p.save, p.load);
  }
  if (complete) return {};
  return refuse(Refusal::kNoOperations, manifest, "a mandatory operation is NULL",
                "give every function of the table; one that does nothing may answer ZB_UNIMPLEMENTED");
}

}  // namespace zomboss::loader
