/* A small policy in C that is right unless one of the macros below makes it wrong in one way. CMakeLists.txt
 * builds it once per way; badplugins_test.cc has the message that each must get. */
#include <string.h>

#include "zomboss/policy.h"

#ifndef BAD_ID
#define BAD_ID BAD_NAME
#endif
#ifndef BAD_VERSION
#define BAD_VERSION ZB_PLUGIN_VERSION
#endif
#ifndef BAD_MAJOR
#define BAD_MAJOR ZB_ABI_MAJOR
#endif
#ifndef BAD_MINOR
#define BAD_MINOR ZB_ABI_MINOR
#endif
#ifndef BAD_HOST_MINOR
#define BAD_HOST_MINOR 0
#endif
#ifndef BAD_KIND
#define BAD_KIND ZB_KIND_POLICY
#endif
#ifndef BAD_STRUCT_SIZE
#define BAD_STRUCT_SIZE sizeof(zb_plugin)
#endif
#ifndef BAD_TABLE_SIZE
#define BAD_TABLE_SIZE sizeof(zb_policy)
#endif
#ifndef BAD_CREATE
#define BAD_CREATE create
#endif
#ifndef BAD_DESTROY
#define BAD_DESTROY destroy
#endif
#ifndef BAD_EXTENSION
#define BAD_EXTENSION extension
#endif
#ifndef BAD_LOAD
#define BAD_LOAD load
#endif
#ifndef BAD_EXTENSION_ID
#define BAD_EXTENSION_ID ZB_POLICY_ID
#endif
#ifndef BAD_ENTRY
#define BAD_ENTRY zb_plugin_query_v1
#endif
#ifndef BAD_QUERY_ANSWER
#define BAD_QUERY_ANSWER &kPlugin
#endif
#ifndef BAD_PROPOSE
#define BAD_PROPOSE emit_stop(call)
#endif

#if defined(__SANITIZE_ADDRESS__)
#define OWN_SANITIZER ZB_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define OWN_SANITIZER ZB_SANITIZER_THREAD
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OWN_SANITIZER ZB_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define OWN_SANITIZER ZB_SANITIZER_THREAD
#endif
#endif
#ifndef OWN_SANITIZER
#define OWN_SANITIZER ZB_SANITIZER_NONE
#endif
#ifdef BAD_SANITIZER
#define USED_SANITIZER (OWN_SANITIZER == ZB_SANITIZER_THREAD ? ZB_SANITIZER_ADDRESS : ZB_SANITIZER_THREAD)
#else
#define USED_SANITIZER OWN_SANITIZER
#endif

#define UNUSED __attribute__((unused))
#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

/* An encoded Proposal that says Stop: a root table with its schema_revision and kind left at their defaults.
 */
static const uint8_t kStop[] = {12, 0, 0, 0, 'Z', 'B', 'P', 'P', 4, 0, 4, 0, 4, 0, 0, 0};

UNUSED static zb_status emit_bytes(const zb_call* call, const void* data, size_t size) {
  const zb_bytes bytes = {(const uint8_t*)data, size};
  call->emit(call, bytes);
  return ZB_OK;
}
UNUSED static zb_status emit_stop(const zb_call* call) {
  return emit_bytes(call, kStop, sizeof kStop);
}
UNUSED static zb_status emit_twice(const zb_call* call) {
  emit_stop(call);
  return emit_stop(call);
}
UNUSED static zb_status fail_and(const zb_call* call, zb_status status) {
  const zb_str text = TEXT("it went wrong");
  call->fail(call, ZB_INTERNAL, text);
  return status;
}
UNUSED static zb_status emit_null(const zb_call* call) {
  return emit_bytes(call, NULL, 100);
}

#ifdef BAD_UNDEFINED
zb_status nobody_defines_this(void);
#endif

static int instance;

UNUSED static zb_status create(const zb_call* call, zb_bytes config, zb_instance** out) {
  (void)call;
  (void)config;
  *out = (zb_instance*)&instance;
  return ZB_OK;
}
UNUSED static void destroy(zb_instance* self) {
  (void)self;
}

static zb_status start(zb_instance* self, const zb_call* call, zb_bytes context) {
  (void)self;
  (void)context;
#ifdef BAD_START_ANSWERS
  return emit_stop(call);
#else
  (void)call;
  return ZB_OK;
#endif
}
static zb_status propose(zb_instance* self, const zb_call* call, zb_bytes state) {
  (void)self;
  (void)state;
  (void)call;
  return BAD_PROPOSE;
}
static zb_status observe(zb_instance* self, const zb_call* call, zb_bytes feedback) {
  (void)self;
  (void)call;
  (void)feedback;
  return ZB_OK;
}
static zb_status save(zb_instance* self, const zb_call* call) {
  (void)self;
  return emit_bytes(call, "", 0);
}
UNUSED static zb_status load(zb_instance* self, const zb_call* call, zb_bytes state) {
  (void)self;
  (void)call;
  (void)state;
  return ZB_OK;
}

UNUSED static const void* extension(zb_str id) {
  static const zb_policy kTable = {BAD_TABLE_SIZE, 0, start, propose, observe, save, BAD_LOAD};
  if (id.size == strlen(BAD_EXTENSION_ID) && memcmp(id.data, BAD_EXTENSION_ID, id.size) == 0) return &kTable;
  return NULL;
}

ZB_EXPORT const zb_plugin* BAD_ENTRY(uint32_t host_major, uint32_t host_minor);
ZB_EXPORT const zb_plugin* BAD_ENTRY(uint32_t host_major, uint32_t host_minor) {
  static const zb_plugin kPlugin = {BAD_STRUCT_SIZE, BAD_MAJOR,   BAD_MINOR,    BAD_HOST_MINOR,
                                    USED_SANITIZER,  BAD_KIND,    TEXT(BAD_ID), TEXT(BAD_VERSION),
                                    BAD_CREATE,      BAD_DESTROY, BAD_EXTENSION};
  (void)host_major;
  (void)host_minor;
  (void)kPlugin;
  return BAD_QUERY_ANSWER;
}

#ifdef BAD_SECOND_EXPORT
ZB_EXPORT int helper_function(void);
ZB_EXPORT int helper_function(void) {
  return 1;
}
ZB_EXPORT extern int helper_data;
int helper_data = 1;
#endif
