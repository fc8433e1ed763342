// The plugin's one exported function.
#include "plugins/targets/plena/target.h"

ZB_EXPORT_TARGET(zomboss::plena::PlenaTarget, "plena", ZB_PLUGIN_VERSION)
