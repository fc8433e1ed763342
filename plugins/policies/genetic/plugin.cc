#include "plugins/policies/genetic/genetic_policy.h"

ZB_EXPORT_POLICY(zomboss::policies::GeneticPolicy, "genetic", ZB_PLUGIN_VERSION)
