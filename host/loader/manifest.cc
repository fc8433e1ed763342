#include "host/loader/manifest.h"

#include <algorithm>
#include <filesystem>

#include "host/loader/toml_text.h"

namespace zomboss::loader {
namespace {

std::string abi_problem(std::string_view text) {
  const size_t dot = text.find('.');
  const auto number = [](std::string_view digits) {
    return !digits.empty() && digits.size() <= 4 &&
           std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  const bool good =
      dot != std::string_view::npos && number(text.substr(0, dot)) && number(text.substr(dot + 1));
  return good ? "" : "must be MAJOR.MINOR such as \"1.0\"";
}

std::string file_problem(std::string_view text) {
  if (std::string problem = one_line_problem(text); !problem.empty()) return problem;
  const bool good = !text.empty() && text != "." && text != ".." && text.find('/') == std::string_view::npos;
  return good ? "" : "must be the name of a file beside the manifest, without '/'";
}

}  // namespace

std::string_view kind_name(Kind kind) {
  return kind == Kind::kTarget ? "target" : "policy";
}

Result<Manifest> parse_manifest(const Source& source) {
  Diagnostics diagnostics(source);
  const auto table = config::parse_toml(source, diagnostics);
  if (!table) return diagnostics.status();
  Manifest manifest;
  std::string kind;
  read_strings(*table,
               {{"id", true, &manifest.id, id_problem},
                {"kind", true, &kind, kind_problem},
                {"version", true, &manifest.version, version_problem},
                {"abi", true, &manifest.abi, abi_problem},
                {"file", true, &manifest.file, file_problem},
                {"description", false, &manifest.description, one_line_problem},
                {"sha256", false, &manifest.sha256, sha256_problem}},
               diagnostics);
  ZB_TRY(diagnostics.status());
  manifest.kind = kind == "target" ? Kind::kTarget : Kind::kPolicy;
  const std::filesystem::path path = std::filesystem::path(source.name()).lexically_normal();
  manifest.path = path.string();
  manifest.library = (path.parent_path() / manifest.file).string();
  return manifest;
}

}  // namespace zomboss::loader
