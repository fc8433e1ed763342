#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace zomboss {

void check_failed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr,
               "zomboss: internal error at %s:%d: %s (%s)\n"
               "This is a bug in zomboss. Please report it with the command line and its input files.\n",
               file, line, message, condition);
  std::abort();
}

}  // namespace zomboss
