// Reading a file that somebody else may have put there: opened once, so that what is checked is what was
// read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "zomboss/sdk/status.h"

namespace zomboss::loader {

// Which file it was: to notice that a path leads to another one later.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

struct FileContent {
  std::string bytes;
  FileIdentity identity;
};

// A regular file as a whole. Refuses devices, pipes and folders without blocking on them, and more than
// limit_bytes.
Result<FileContent> read_regular_file(const std::string& path, size_t limit_bytes);

Result<FileIdentity> identify_file(const std::string& path);

// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

// Absolute, without symbolic links, "." and "..".
Result<std::string> canonical_path(const std::string& path);

}  // namespace zomboss::loader
