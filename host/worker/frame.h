// Frames on a stream socket: a length of four bytes, little-endian, and as many bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zomboss::worker {

inline constexpr size_t kFrameLimit = size_t{1} << 30;

// Appends the four bytes of the length.
void append_frame_header(std::string& out, size_t size);

// Takes a whole frame off the front of `buffer`. kTooLong: the buffer cannot be trusted any more.
enum class Taken { kFrame, kIncomplete, kTooLong };
Taken take_frame(std::string& buffer, std::string& frame);

// Blocking, for the worker's side. False when the other side is gone.
bool read_frame(int descriptor, std::string& frame);
bool write_frame(int descriptor, std::string_view frame);

}  // namespace zomboss::worker
