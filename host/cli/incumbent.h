// What the report shows of a run's best plan: the document "incumbent" of the history.
#pragma once

#include "core/search/controller.h"
#include "host/cli/json.h"
#include "host/cli/workbench.h"

namespace zomboss::cli {

// Plan, memory occupancy by the capacity rules of the surface, engine timeline (of many spans, neighbours are
// merged), counters, loop nest.
Json incumbent_json(const Workbench& bench, const search::Candidate& best, const std::string& reproduce);

}  // namespace zomboss::cli
