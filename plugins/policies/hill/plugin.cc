#include "plugins/policies/hill/hill_policy.h"

ZB_EXPORT_POLICY(zomboss::policies::HillPolicy, "hill", ZB_PLUGIN_VERSION)
