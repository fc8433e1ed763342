#include "host/loader/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace zomboss::loader {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string error_text(int error) {
  return std::error_code(error, std::generic_category()).message();
}

Status open_error(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) return not_found(fmt::format("{}: no such file", path));
  return Status(Code::kPermissionDenied, fmt::format("{}: cannot be read: {}", path, error_text(error)));
}

FileIdentity identity_of(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino),
          static_cast<uint64_t>(info.st_size),
          int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

}  // namespace

Result<FileContent> read_regular_file(const std::string& path, size_t limit_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return open_error(path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return open_error(path, errno);
  if (!S_ISREG(info.st_mode)) return invalid_argument(fmt::format("{}: is not a regular file", path));
  FileContent content;
  content.identity = identity_of(info);
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return open_error(path, errno);
    if (count == 0) return content;
    content.bytes.append(buffer.data(), static_cast<size_t>(count));
    if (content.bytes.size() > limit_bytes)
      return resource_exhausted(fmt::format("{}: larger than the limit of {} bytes", path, limit_bytes));
  }
}

Result<FileIdentity> identify_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return open_error(path, errno);
  return identity_of(info);
}

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

Result<std::string> canonical_path(const std::string& path) {
  std::error_code error;
  std::filesystem::path canonical = std::filesystem::canonical(path, error);
  if (error) return open_error(path, error.value());
  return canonical.string();
}

}  // namespace zomboss::loader
