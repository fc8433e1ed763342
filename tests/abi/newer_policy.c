/* A policy as a later minor version would make it: every struct has grown, the minor is 9, an unknown
 * extension is there; but it can still run on a host of minor 0. */
#include <string.h>

#include "zomboss/policy.h"

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

typedef struct newer_plugin {
  zb_plugin base;
  const char* licence;
  zb_status (*selfcheck)(const zb_call* call);
  uint64_t more[4];
} newer_plugin;

typedef struct newer_policy {
  zb_policy base;
  zb_status (*explain)(zb_instance* instance, const zb_call* call);
  uint64_t more[4];
} newer_policy;

typedef struct newer_extension {
  uint32_t struct_size;
  uint32_t reserved0;
  void (*anything)(void);
} newer_extension;

static int instance;

static zb_status create(const zb_call* call, zb_bytes config, zb_instance** out) {
  (void)call;
  (void)config;
  *out = (zb_instance*)&instance;
  return ZB_OK;
}
static void destroy(zb_instance* self) {
  (void)self;
}
static zb_status accept(zb_instance* self, const zb_call* call, zb_bytes bytes) {
  (void)self;
  (void)call;
  (void)bytes;
  return ZB_OK;
}
static zb_status propose(zb_instance* self, const zb_call* call, zb_bytes state) {
  /* A Proposal that says Stop, with a field of later days (id 9, a number). */
  static const uint8_t kStop[] = {32, 0, 0, 0, 'Z', 'B', 'P', 'P', 24, 0, 8, 0, 0,  0, 0, 0, 0, 0, 0, 0,
                                  0,  0, 0, 0, 0,   0,   0,   0,   0,  0, 4, 0, 24, 0, 0, 0, 7, 0, 0, 0};
  const zb_bytes answer = {kStop, sizeof kStop};
  (void)self;
  (void)state;
  call->emit(call, answer);
  return ZB_OK;
}
static zb_status save(zb_instance* self, const zb_call* call) {
  const zb_bytes answer = {NULL, 0};
  (void)self;
  call->emit(call, answer);
  return ZB_OK;
}

static const void* extension(zb_str id) {
  static const newer_policy kPolicy = {
      {sizeof(newer_policy), 0, accept, propose, accept, save, accept}, NULL, {1, 2, 3, 4}};
  static const newer_extension kExtension = {sizeof(newer_extension), 0, NULL};
  static const char kNewId[] = "zomboss.policy.explain/3";
  if (id.size == strlen(ZB_POLICY_ID) && memcmp(id.data, ZB_POLICY_ID, id.size) == 0) return &kPolicy;
  if (id.size == strlen(kNewId) && memcmp(id.data, kNewId, id.size) == 0) return &kExtension;
  return NULL;
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER ZB_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER ZB_SANITIZER_THREAD
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZER ZB_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define SANITIZER ZB_SANITIZER_THREAD
#endif
#endif
#ifndef SANITIZER
#define SANITIZER ZB_SANITIZER_NONE
#endif

ZB_EXPORT const zb_plugin* zb_plugin_query_v1(uint32_t host_major, uint32_t host_minor);
ZB_EXPORT const zb_plugin* zb_plugin_query_v1(uint32_t host_major, uint32_t host_minor) {
  static const newer_plugin kPlugin = {{sizeof(newer_plugin), 1, 9, 0, SANITIZER, ZB_KIND_POLICY,
                                        TEXT("newer"), TEXT("9.0.0"), create, destroy, extension},
                                       "text",
                                       NULL,
                                       {5, 6, 7, 8}};
  (void)host_minor;
  return host_major == 1 ? &kPlugin.base : NULL;
}
