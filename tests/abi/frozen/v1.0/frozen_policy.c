/* A policy in C against zomboss/policy.h 1.0. Built once; see README.md. It proposes one intent three
 * times, then stops. */
#include <string.h>

#include "messages.h"
#include "zomboss/policy.h"

#define TEXT(literal) \
  { literal, sizeof(literal) - 1 }

struct zb_instance {
  uint8_t started, proposals, answers;
};

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
  int i;
  (void)config;
  for (i = 0; i < 2; ++i) {
    if (slots_taken[i]) continue;
    slots_taken[i] = 1;
    memset(&slots[i], 0, sizeof slots[i]);
    *out = &slots[i];
    return ZB_OK;
  }
  return fail(call, ZB_RESOURCE_EXHAUSTED, "only two instances");
}
static void destroy(zb_instance* self) {
  slots_taken[self - slots] = 0;
}

static zb_status start(zb_instance* self, const zb_call* call, zb_bytes context) {
  if (context.size == 0) return fail(call, ZB_INVALID_ARGUMENT, "no context");
  self->started = 1;
  return ZB_OK;
}
static zb_status propose(zb_instance* self, const zb_call* call, zb_bytes state) {
  (void)state;
  if (!self->started) return fail(call, ZB_FAILED_PRECONDITION, "propose before start");
  if (self->proposals == 3) return emit(call, kStop, sizeof kStop);
  ++self->proposals;
  return emit(call, kIntents, sizeof kIntents);
}
static zb_status observe(zb_instance* self, const zb_call* call, zb_bytes feedback) {
  (void)call;
  (void)feedback;
  ++self->answers;
  return ZB_OK;
}
static zb_status save(zb_instance* self, const zb_call* call) {
  const uint8_t state[3] = {'F', self->proposals, self->answers};
  return emit(call, state, sizeof state);
}
static zb_status load(zb_instance* self, const zb_call* call, zb_bytes state) {
  if (state.size != 3 || state.data[0] != 'F' || state.data[1] > 3)
    return fail(call, ZB_DATA_LOSS, "not a frozen state");
  self->proposals = state.data[1];
  self->answers = state.data[2];
  return ZB_OK;
}

static const void* extension(zb_str id) {
  static const zb_policy kPolicy = {sizeof(zb_policy), 0, start, propose, observe, save, load};
  return id.size == strlen(ZB_POLICY_ID) && memcmp(id.data, ZB_POLICY_ID, id.size) == 0 ? &kPolicy : NULL;
}

ZB_EXPORT const zb_plugin* zb_plugin_query_v1(uint32_t host_major, uint32_t host_minor);
ZB_EXPORT const zb_plugin* zb_plugin_query_v1(uint32_t host_major, uint32_t host_minor) {
  static const zb_plugin kPlugin = {
      sizeof(zb_plugin),     ZB_ABI_MAJOR,  ZB_ABI_MINOR, 0,       ZB_SANITIZER_NONE, ZB_KIND_POLICY,
      TEXT("frozen_policy"), TEXT("1.0.0"), create,       destroy, extension};
  (void)host_minor;
  return host_major == 1 ? &kPlugin : NULL;
}
