#include "host/loader/refusal.h"

#include <fmt/format.h>

#include "zomboss/plugin.h"

namespace zomboss::loader {
namespace {

constexpr std::string_view kPrefix = "ZB-LOAD-";

Code status_code(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNotFound:
    case Refusal::kMissingFile:
      return Code::kNotFound;
    case Refusal::kUnsafePath:
    case Refusal::kNotAllowed:
    case Refusal::kHashMismatch:
      return Code::kPermissionDenied;
    case Refusal::kWrongKind:
    case Refusal::kBadManifest:
    case Refusal::kBadAllowList:
      return Code::kInvalidArgument;
    default:
      return Code::kFailedPrecondition;
  }
}

}  // namespace

std::string refusal_code(Refusal refusal) {
  return fmt::format("{}{:02}", kPrefix, static_cast<int>(refusal));
}

std::string_view refusal_code_of(const Status& status) {
  const std::string_view text = status.message();
  if (status.ok() || !text.starts_with(kPrefix)) return {};
  return text.substr(0, kPrefix.size() + 2);
}

Status refuse(Refusal refusal, std::string_view text) {
  return {status_code(refusal), fmt::format("{}: {}", refusal_code(refusal), text)};
}

Status refuse(Refusal refusal, const Manifest& manifest, std::string_view why, std::string_view next) {
  return refuse(refusal, fmt::format("{} '{}' {} is refused: {}\n"
                                     "  file: {}\n"
                                     "  built for ABI {}; this host speaks ABI {}.{}\n"
                                     "  next: {}",
                                     kind_name(manifest.kind), manifest.id, manifest.version, why,
                                     manifest.library, manifest.abi, ZB_ABI_MAJOR, ZB_ABI_MINOR, next));
}

}  // namespace zomboss::loader
