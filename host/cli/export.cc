#include "host/cli/export.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

namespace zomboss::cli {
namespace {

// A path that a plugin chose: relative and inside the folder.
bool is_safe(const std::string& path) {
  const std::filesystem::path p(path);
  if (path.empty() || p.is_absolute() || path.find('\0') != std::string::npos) return false;
  for (const auto& part : p)
    if (part == ".." || part == "." || part.empty()) return false;
  return true;
}

}  // namespace

Status write_file(const std::string& path, std::string_view content) {
  std::filesystem::path target(path);
  std::error_code error;
  const auto kind = std::filesystem::status(target, error).type();  // of what a link leads to
  if (kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::regular)
    return failed_precondition(fmt::format("{}: is there and no regular file; name another", path));
  if (std::filesystem::is_symlink(target, error)) target = std::filesystem::weakly_canonical(target, error);
  error.clear();
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), error);
  if (error)
    return failed_precondition(
        fmt::format("{}: the folder cannot be made: {}", target.parent_path().string(), error.message()));
  const std::string temporary = target.string() + ".part";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  bool written = file != nullptr && std::fwrite(content.data(), 1, content.size(), file) == content.size();
  if (file != nullptr) written = (std::fclose(file) == 0) && written;
  if (written) std::filesystem::rename(temporary, target, error);
  if (written && !error) return {};
  const std::string why = error ? error.message() : std::generic_category().message(errno);
  std::filesystem::remove(temporary, error);
  return failed_precondition(fmt::format("{}: cannot be written: {}", path, why));
}

Result<Exported> export_kernel(evaluate::Target& target, const Problem& problem,
                               const evaluate::Reference& reference, const mapping::Plan& plan,
                               const std::string& program, const std::string& folder, const Json& report) {
  Exported exported;
  wire::FilesT files;
  if (auto made = target.export_kernel(problem.workload.encoded, program, reference.encoded_inputs,
                                       reference.encoded_outputs);
      made.ok())
    files = *std::move(made);
  else if (made.status().code() != Code::kUnimplemented)  // a target without export has no kernel files
    return std::move(made).status();
  const auto write = [&](const std::string& name, std::string_view content) -> Status {
    const std::string path = (std::filesystem::path(folder) / name).string();
    ZB_TRY(write_file(path, content));
    exported.files.push_back(path);
    return {};
  };
  for (const auto& file : files.files) {
    if (!is_safe(file->path))
      return internal_error(
          fmt::format("target {}: it exports a file with the unsafe path '{}'", target.id(), file->path));
    ZB_TRY(write(file->path, {reinterpret_cast<const char*>(file->content.data()), file->content.size()}));
    if (file->importable) exported.kernel = exported.files.back();
  }
  ZB_TRY(write("plan.json", plan_document(*problem.surface, plan).dump(2) + "\n"));
  if (!report.is_null())
    ZB_TRY(write("report.json", report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  return exported;
}

}  // namespace zomboss::cli
