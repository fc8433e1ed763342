/* The operations of a policy plugin (kind ZB_KIND_POLICY). A policy sees the surface, Candidate-0, feedback
 * and what is left of the budget; never code or addresses. All functions are [instance]. One instance runs
 * one search. */
#ifndef ZOMBOSS_POLICY_H_
#define ZOMBOSS_POLICY_H_

#include "zomboss/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ZB_POLICY_ID "zomboss.policy/1"

/* Mandatory. The same context and the same feedback give the same proposals, on every machine. */
typedef struct zb_policy {
  uint32_t struct_size;
  uint32_t reserved0;
  /* context: SearchContext. Called once, before all others. Emits nothing. */
  zb_status (*start)(zb_instance* instance, const zb_call* call, zb_bytes context);
  /* state: SearchState. Emits Proposal (kind Stop: nothing left to try). */
  zb_status (*propose)(zb_instance* instance, const zb_call* call, zb_bytes state);
  /* feedback: FeedbackBatch, one item for each intent of the last proposal, in order; for a region, one for
   * each plan that was chosen from it, or one that says why it was rejected. Emits nothing. */
  zb_status (*observe)(zb_instance* instance, const zb_call* call, zb_bytes feedback);
  /* Emits the instance's state, in a form of the plugin's own. */
  zb_status (*save)(zb_instance* instance, const zb_call* call);
  /* state: what save emitted, by this plugin id and version, after start with the same context; possibly
   * damaged: an error, never a crash. Afterwards the instance proposes what the saved one would have. */
  zb_status (*load)(zb_instance* instance, const zb_call* call, zb_bytes state);
} zb_policy;

#ifdef __cplusplus
}
#endif
#endif /* ZOMBOSS_POLICY_H_ */
