#include "plugins/targets/plena/sim/profile.h"

#include <algorithm>

namespace zomboss::plena {

RegionTotal region_total(const Profile& profile, size_t begin, size_t end) {
  RegionTotal total;
  for (size_t pc = begin; pc < std::min(end, profile.count_by_pc.size()); ++pc) {
    total.instructions += profile.count_by_pc[pc];
    total.nanoseconds += profile.nanoseconds_by_pc[pc];
    total.nanoseconds_by_engine[static_cast<size_t>(profile.engine_by_pc[pc])] +=
        profile.nanoseconds_by_pc[pc];
  }
  return total;
}

}  // namespace zomboss::plena
