/* The Zomboss plugin ABI, version 1: what every plugin and the host agree on. docs/plugin-abi.md is the
 * guide.
 *
 * Pure C11; compiles as C11..C17 and C++11..C++20. ELF, LP64, gcc or clang.
 *
 * Structs. Every struct that crosses starts with struct_size, set by whoever fills it to its own sizeof. A
 * reader touches a field only if ZB_HAS(p, type, field). Larger than known is fine; smaller than version 1.0
 * is an error. Fields are only ever appended; reserved fields are zero. New behaviour comes as an extension
 * with a new id. Ownership. Host to plugin: bytes and strings are borrowed until the call returns; clone to
 * keep. Plugin to host: pushed through zb_call.emit / fail / log and copied before those return. Nothing is
 * freed by the other side. The one plugin-owned object is zb_instance: released by the same plugin's destroy,
 * once, after the last call returned. Threads. [any] = any thread, concurrently. [instance] = never two calls
 * at once on one instance, not always the same thread; different instances run concurrently, so a plugin has
 * no mutable globals. Errors. A nonzero zb_status, with a text through zb_call.fail. No exception, longjmp,
 * exit, abort or errno crosses. Output. Only through zb_call.log; a plugin never writes to stdout.
 */
#ifndef ZOMBOSS_PLUGIN_H_
#define ZOMBOSS_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ZB_ABI_MAJOR 1u
#define ZB_ABI_MINOR 0u
#define ZB_ENTRY_SYMBOL "zb_plugin_query_v1"

#if defined(__GNUC__)
#define ZB_EXPORT __attribute__((visibility("default")))
#else
#error "version 1 of the Zomboss ABI supports ELF with gcc or clang only"
#endif

/* True when whoever filled *p knew `field`. */
#define ZB_HAS(p, type, field) ((p)->struct_size >= offsetof(type, field) + sizeof(((type*)0)->field))

typedef struct zb_bytes {
  const uint8_t* data; /* may be NULL when size is 0 */
  size_t size;
} zb_bytes;

typedef struct zb_str { /* UTF-8, not NUL-terminated */
  const char* data;
  size_t size;
} zb_str;

/* 0 = ok, 1..16 = the canonical codes (zomboss/sdk/status.h names them); others are read as unknown (2). */
typedef int32_t zb_status;
#define ZB_OK 0
#define ZB_CANCELLED 1
#define ZB_UNKNOWN 2
#define ZB_INVALID_ARGUMENT 3
#define ZB_DEADLINE_EXCEEDED 4
#define ZB_NOT_FOUND 5
#define ZB_ALREADY_EXISTS 6
#define ZB_PERMISSION_DENIED 7
#define ZB_RESOURCE_EXHAUSTED 8
#define ZB_FAILED_PRECONDITION 9
#define ZB_ABORTED 10
#define ZB_OUT_OF_RANGE 11
#define ZB_UNIMPLEMENTED 12
#define ZB_INTERNAL 13
#define ZB_UNAVAILABLE 14
#define ZB_DATA_LOSS 15
#define ZB_UNAUTHENTICATED 16

typedef int32_t zb_severity;
#define ZB_DEBUG 0
#define ZB_INFO 1
#define ZB_WARNING 2
#define ZB_ERROR 3

/* Passed to every call and valid only until that call returns. All members are [any]. */
typedef struct zb_call {
  uint32_t struct_size;
  uint32_t reserved0;
  void* host;           /* the host's, opaque */
  uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0 = none */
  /* Nonzero: stop soon and return ZB_CANCELLED. Cheap. */
  int32_t (*cancelled)(const struct zb_call* call);
  /* The reason of the nonzero status that will be returned: any text up to 4 KiB; the last one counts. */
  void (*fail)(const struct zb_call* call, zb_status status, zb_str message);
  void (*log)(const struct zb_call* call, zb_severity severity, zb_str message);
  /* The one answer of an operation that has one. Calling it twice is an error that the host reports. */
  void (*emit)(const struct zb_call* call, zb_bytes payload);
  /* fraction in 0..1 */
  void (*progress)(const struct zb_call* call, double fraction, zb_str what);
} zb_call;

typedef struct zb_instance zb_instance; /* opaque, plugin-owned */

#define ZB_KIND_TARGET 1u
#define ZB_KIND_POLICY 2u

/* Bits of zb_plugin.sanitizer: host and plugin must agree, since a mixture crashes. */
#define ZB_SANITIZER_NONE 0u
#define ZB_SANITIZER_ADDRESS 1u
#define ZB_SANITIZER_THREAD 2u

/* Static read-only data of the plugin; lives as long as the process. */
typedef struct zb_plugin {
  uint32_t struct_size;
  uint16_t abi_major; /* what the plugin was compiled against */
  uint16_t abi_minor;
  uint16_t host_minor_needed; /* oldest host minor that it can run on */
  uint16_t sanitizer;
  uint32_t kind;  /* ZB_KIND_* */
  zb_str id;      /* short and unique, e.g. "gemmini": [a-z][a-z0-9_-]* */
  zb_str version; /* semantic version */
  /* [any] config is an Options message (options.fbs). */
  zb_status (*create)(const zb_call* call, zb_bytes config, zb_instance** out);
  void (*destroy)(zb_instance* instance);
  /* [any] The function table for the id, or NULL when unknown; the result is static for the life of the
   * process. */
  const void* (*extension)(zb_str id);
} zb_plugin;

/* The one exported function. Pure and cheap: no allocation, thread, I/O or environment; [any], callable
 * often. NULL = "cannot run on a host this old". The host loads a plugin iff abi_major is its own,
 * host_minor_needed is not above its minor, and the sanitizer is its own. A plugin of a newer minor is fine.
 */
typedef const zb_plugin* (*zb_plugin_query_fn)(uint32_t host_major, uint32_t host_minor);

#ifdef __cplusplus
}
#endif
#endif /* ZOMBOSS_PLUGIN_H_ */
