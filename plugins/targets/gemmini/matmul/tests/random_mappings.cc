#include "plugins/targets/gemmini/matmul/tests/random_mappings.h"

#include <random>

namespace zomboss::gemmini {

std::vector<Mapping> random_mappings(const Problem& problem, const Machine& machine, const Domains& domains,
                                     size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Mapping> mappings;
  for (size_t attempt = 0; attempt < 400 * count && mappings.size() < count; ++attempt) {
    std::vector<int64_t> values;
    for (const auto& domain : domains.values) values.push_back(domain[random() % domain.size()]);
    // loop_ws leaves few choices: it would hardly ever be drawn.
    Mapping mapping = from_values(values, machine.dim);
    if (mapping.interface == Interface::kLoopWs) {
      const Mapping drawn = mapping;
      mapping = as_loop(mapping);
      mapping.buffering_a = drawn.buffering_a;
      mapping.buffering_b = drawn.buffering_b;
    }
    if (is_legal(problem, machine, domains, mapping)) mappings.push_back(mapping);
  }
  return mappings;
}

}  // namespace zomboss::gemmini
