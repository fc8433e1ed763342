// The plugin's one exported function.
#include "plugins/targets/gemmini/target.h"

ZB_EXPORT_TARGET(zomboss::gemmini::GemminiTarget, "gemmini", ZB_PLUGIN_VERSION)
