/* What an exported kernel needs of the C library, so that its object file needs none. */
#ifndef ZB_STAND_IN_STDIO_H
#define ZB_STAND_IN_STDIO_H

#include <stddef.h>

int printf(const char* format, ...);

#endif
