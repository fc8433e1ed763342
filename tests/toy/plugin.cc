#include "tests/toy/toy_target.h"

ZB_EXPORT_TARGET(zomboss::toy::ToyTarget, "toy", ZB_PLUGIN_VERSION)
