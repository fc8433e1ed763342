#include "plugins/policies/random/random_policy.h"

ZB_EXPORT_POLICY(zomboss::policies::RandomPolicy, "random", ZB_PLUGIN_VERSION)
