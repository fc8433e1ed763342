// The kernels for machines with AVX2; compiled with -mavx2.
#include "plugins/targets/plena/sim/kernels_body.h"

namespace zomboss::plena {

extern const Kernels kAvx2Kernels;
const Kernels kAvx2Kernels = kKernels;

}  // namespace zomboss::plena
