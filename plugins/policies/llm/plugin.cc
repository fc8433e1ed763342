#include "plugins/policies/llm/llm_policy.h"

ZB_EXPORT_POLICY(zomboss::policies::llm::LlmPolicy, "llm", ZB_PLUGIN_VERSION)
