// Writing a verified kernel and its report to a folder.
#pragma once

#include <string>
#include <vector>

#include "host/cli/json.h"
#include "host/cli/session.h"

namespace zomboss::cli {

// What was written: paths, and the one that `zomboss check` reads back ("" when the target exports no such
// file).
struct Exported {
  std::vector<std::string> files;
  std::string kernel;
};

// Writes the target's files for `program` (none, when it has no export), plan.json and, when it is not null,
// report.json, to `folder`. Each file is replaced in one step. Fails on the first file that cannot be
// written.
Result<Exported> export_kernel(evaluate::Target& target, const Problem& problem,
                               const evaluate::Reference& reference, const mapping::Plan& plan,
                               const std::string& program, const std::string& folder, const Json& report);

// Replaces the file in one step; creates the folders above it.
Status write_file(const std::string& path, std::string_view content);

}  // namespace zomboss::cli
