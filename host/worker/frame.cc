#include "host/worker/frame.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace zomboss::worker {
namespace {

constexpr size_t kHeader = 4;

size_t frame_size(std::string_view header) {
  size_t size = 0;
  for (size_t i = 0; i < kHeader; ++i) size |= size_t{static_cast<unsigned char>(header[i])} << (8 * i);
  return size;
}

bool read_all(int descriptor, char* data, size_t size) {
  while (size != 0) {
    const ssize_t got = ::read(descriptor, data, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool send_all(int descriptor, std::string_view data) {
  while (!data.empty()) {
    const ssize_t sent = ::send(descriptor, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace

void append_frame_header(std::string& out, size_t size) {
  for (size_t i = 0; i < kHeader; ++i) out += static_cast<char>(size >> (8 * i) & 0xff);
}

Taken take_frame(std::string& buffer, std::string& frame) {
  if (buffer.size() < kHeader) return Taken::kIncomplete;
  const size_t size = frame_size(buffer);
  if (size > kFrameLimit) return Taken::kTooLong;
  if (buffer.size() - kHeader < size) return Taken::kIncomplete;
  frame = buffer.substr(kHeader, size);
  buffer.erase(0, kHeader + size);
  return Taken::kFrame;
}

bool read_frame(int descriptor, std::string& frame) {
  char header[kHeader];
  if (!read_all(descriptor, header, kHeader)) return false;
  const size_t size = frame_size({header, kHeader});
  if (size > kFrameLimit) return false;
  frame.resize(size);
  return read_all(descriptor, frame.data(), size);
}

bool write_frame(int descriptor, std::string_view frame) {
  std::string header;
  append_frame_header(header, frame.size());
  return send_all(descriptor, header) && send_all(descriptor, frame);
}

}  // namespace zomboss::worker
