/* A target in C against zomboss/target.h 1.0. Built once; see README.md. It answers with fixed messages, so
 * that each later host can be shown to load and drive it. */
#include <string.h>

#include "messages.h"
#include "zomboss/target.h"

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

struct zb_instance {
  int configured;
};

/* Two instances are enough for any test, and keep malloc out of this file. */
static struct zb_instance slots[2];
static int slots_taken[2];

static zb_status fail(const zb_call* call, zb_status status, const char* text) {
  const zb_str message = {text, strlen(text)};
  call->fail(call, status, message);
  return status;
}
static zb_status emit(const zb_call* call, const void* data, size_t size) {
  const zb_bytes bytes = {(const uint8_t*)data, size};
  call->emit(call, bytes);
  return ZB_OK;
}

static zb_status create(const zb_call* call, zb_bytes config, zb_instance** out) {
  const zb_str hello = TEXT("created");
  int i;
  if (config.size > 1000) return fail(call, ZB_INVALID_ARGUMENT, "too many options");
  for (i = 0; i < 2; ++i) {
    if (slots_taken[i]) continue;
    slots_taken[i] = 1;
    slots[i].configured = 0;
    *out = &slots[i];
    call->log(call, ZB_INFO, hello);
    return ZB_OK;
  }
  return fail(call, ZB_RESOURCE_EXHAUSTED, "only two instances");
}
static void destroy(zb_instance* self) {
  slots_taken[self - slots] = 0;
}

static zb_status describe(zb_instance* self, const zb_call* call) {
  static const char kText[] =
      "target frozen_target \"Frozen\" {\n  engine one;\n  memory hbm : u8[*] offchip;\n}\n";
  (void)self;
  return emit(call, kText, sizeof kText - 1);
}
static zb_status configure(zb_instance* self, const zb_call* call, zb_bytes model) {
  if (model.size == 0) return fail(call, ZB_INVALID_ARGUMENT, "no model");
  self->configured = 1;
  return ZB_OK;
}
static zb_status surface(zb_instance* self, const zb_call* call, zb_bytes workload) {
  (void)workload;
  if (!self->configured) return fail(call, ZB_FAILED_PRECONDITION, "surface before configure");
  return emit(call, kSurface, sizeof kSurface);
}
static zb_status lower(zb_instance* self, const zb_call* call, zb_bytes workload, zb_bytes plan) {
  (void)self;
  (void)workload;
  (void)plan;
  return emit(call, kProgram, sizeof kProgram);
}
static zb_status simulate(zb_instance* self, const zb_call* call, zb_bytes program, zb_bytes inputs) {
  const zb_str what = TEXT("half way");
  (void)self;
  (void)inputs;
  if (program.size != sizeof kProgram || memcmp(program.data, kProgram, sizeof kProgram) != 0)
    return fail(call, ZB_DATA_LOSS, "not the frozen program");
  if (call->cancelled(call)) return fail(call, ZB_CANCELLED, "cancelled");
  call->progress(call, 0.5, what);
  return emit(call, kSimulation, sizeof kSimulation);
}
static zb_status bound(zb_instance* self, const zb_call* call, zb_bytes workload) {
  (void)self;
  (void)workload;
  return emit(call, kBound, sizeof kBound);
}

static const void* extension(zb_str id) {
  static const zb_target kTarget = {sizeof(zb_target), 0, describe, configure, surface, lower, simulate};
  static const zb_target_bound kBoundTable = {sizeof(zb_target_bound), 0, bound};
  if (id.size == strlen(ZB_TARGET_ID) && memcmp(id.data, ZB_TARGET_ID, id.size) == 0) return &kTarget;
  if (id.size == strlen(ZB_TARGET_BOUND_ID) && memcmp(id.data, ZB_TARGET_BOUND_ID, id.size) == 0)
    return &kBoundTable;
  return NULL;
}

ZB_EXPORT const zb_plugin* zb_plugin_query_v1(uint32_t host_major, uint32_t host_minor);
ZB_EXPORT const zb_plugin* zb_plugin_query_v1(uint32_t host_major, uint32_t host_minor) {
  static const zb_plugin kPlugin = {
      sizeof(zb_plugin),     ZB_ABI_MAJOR,  ZB_ABI_MINOR, 0,       ZB_SANITIZER_NONE, ZB_KIND_TARGET,
      TEXT("frozen_target"), TEXT("1.0.0"), create,       destroy, extension};
  (void)host_minor;
  return host_major == 1 ? &kPlugin : NULL;
}
