/* The operations of a target plugin (kind ZB_KIND_TARGET). Messages are FlatBuffers, named by their table;
 * the schema folder has them. All functions are [instance]. Each answers with exactly one zb_call.emit and
 * ZB_OK, or with a nonzero status after zb_call.fail. */
#ifndef ZOMBOSS_TARGET_H_
#define ZOMBOSS_TARGET_H_

#include "zomboss/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ZB_TARGET_ID "zomboss.target/1"

/* Mandatory. */
typedef struct zb_target {
  uint32_t struct_size;
  uint32_t reserved0;
  /* Emits the target's TAIDL text (UTF-8) for the configuration given at create. */
  zb_status (*describe)(zb_instance* instance, const zb_call* call);
  /* model: Model, the host's checked reading of that text with the user's parameter overrides. Called once,
   * after describe and before all others. Emits nothing. The only source of machine numbers. */
  zb_status (*configure)(zb_instance* instance, const zb_call* call, zb_bytes model);
  /* workload: Workload. Emits Surface; ZB_UNIMPLEMENTED with a text when the workload is not supported. */
  zb_status (*surface)(zb_instance* instance, const zb_call* call, zb_bytes workload);
  /* plan: Plan, legal in the surface of that workload. Emits Program. Deterministic. */
  zb_status (*lower)(zb_instance* instance, const zb_call* call, zb_bytes workload, zb_bytes plan);
  /* program: Program of this target, possibly damaged: an error, never a crash. inputs: Tensors in
   * Workload.inputs order. Emits Simulation. Deterministic. */
  zb_status (*simulate)(zb_instance* instance, const zb_call* call, zb_bytes program, zb_bytes inputs);
} zb_target;

#define ZB_TARGET_SCHEDULE_ID "zomboss.target.schedule/1"

/* Optional: the engine-schedule DAG of a plan and its static cost. Emits Schedule. */
typedef struct zb_target_schedule {
  uint32_t struct_size;
  uint32_t reserved0;
  zb_status (*run)(zb_instance* instance, const zb_call* call, zb_bytes workload, zb_bytes plan);
} zb_target_schedule;

#define ZB_TARGET_EXPORT_ID "zomboss.target.export/1"

/* Optional: files that run on the vendor's own tools, with input data and self-check. inputs, expected:
 * Tensors. Emits Files. */
typedef struct zb_target_export {
  uint32_t struct_size;
  uint32_t reserved0;
  zb_status (*run)(zb_instance* instance, const zb_call* call, zb_bytes workload, zb_bytes program,
                   zb_bytes inputs, zb_bytes expected);
} zb_target_export;

#define ZB_TARGET_IMPORT_ID "zomboss.target.import/1"

/* Optional: an exported or hand-written kernel (the target's native text, named by `file_name` in messages)
 * as a Program. Emits Program. */
typedef struct zb_target_import {
  uint32_t struct_size;
  uint32_t reserved0;
  zb_status (*run)(zb_instance* instance, const zb_call* call, zb_bytes workload, zb_str file_name,
                   zb_bytes text);
} zb_target_import;

#define ZB_TARGET_BOUND_ID "zomboss.target.bound/1"

/* Optional: a lower bound of latency that no mapping can beat, with its reason. Emits Bound. */
typedef struct zb_target_bound {
  uint32_t struct_size;
  uint32_t reserved0;
  zb_status (*run)(zb_instance* instance, const zb_call* call, zb_bytes workload);
} zb_target_bound;

#ifdef __cplusplus
}
#endif
#endif /* ZOMBOSS_TARGET_H_ */
