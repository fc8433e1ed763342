/* Compiles iff the structs have the frozen layout. Built in five language modes by CMakeLists.txt. */
#include "zomboss/policy.h"
#include "zomboss/target.h"

#ifdef __cplusplus
#define ZB_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define ZB_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#define X(type, field, offset) ZB_STATIC_ASSERT(offsetof(type, field) == (offset), #type "." #field " moved");
#define S(type, size) ZB_STATIC_ASSERT(sizeof(type) == (size), #type " changed its size");
#include "offsets.inc"

int zb_offsets_hold;
