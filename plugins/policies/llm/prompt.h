// The texts that the model reads. Deterministic: fixed order, fixed digits, no times, no paths.
#pragma once

#include <string>

#include "plugins/policies/llm/search_view.h"

namespace zomboss::policies::llm {

// Rules that hold for all roles; the constant first message.
std::string system_text();

// WORKLOAD and TARGET.
std::string facts_text(const wire::SearchContextT& context);
// SURFACE: knobs by category, or the rows of a short catalog, then notes.
std::string surface_text(const wire::SurfaceT& surface, const SearchView& view);
// DEFAULT: Candidate-0, its decisions, latency and profile.
std::string default_text(const SearchView& view);
// BUDGET: what is left.
std::string budget_text(const wire::SearchStateT& state);

// "ns.matrix 91%, ... hbm.read 41 KiB": times as shares of the latency, others as they are; of a group with a
// common prefix the three largest, of engines all, of executed instructions none. `rotate` starts the list
// elsewhere, so that repeated questions differ.
std::string profile_text(const SearchView& view, const Tried& tried, uint64_t rotate = 0);
// "p3 171850 ns (-4.5% vs default)".
std::string latency_text(const SearchView& view, const Tried& tried);

// What came of one intent or plan, in one paragraph; with feedback = latency only its name and latency.
std::string result_text(const SearchView& view, const wire::FeedbackT& item, const Tried* tried);
// BEST, TRIED, LEFT, and every tenth evaluation the table of knob values.
std::string standing_text(const SearchView& view, const wire::SearchStateT& state, bool statistics);

}  // namespace zomboss::policies::llm
