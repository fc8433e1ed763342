// ZB_CHECK(condition, "..."): a bug of ours. Never reachable from user input; aborts with a request to
// report.
#pragma once

namespace zomboss {

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* message);

}  // namespace zomboss

#define ZB_CHECK(condition, message) \
  (static_cast<bool>(condition) ? void() : ::zomboss::check_failed(__FILE__, __LINE__, #condition, message))
