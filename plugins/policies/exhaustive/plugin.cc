#include "plugins/policies/exhaustive/exhaustive_policy.h"

ZB_EXPORT_POLICY(zomboss::policies::ExhaustivePolicy, "exhaustive", ZB_PLUGIN_VERSION)
