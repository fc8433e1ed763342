#include "core/mapping/vocabulary.h"

#include <algorithm>

namespace zomboss::mapping {
namespace {

constexpr VocabularyEntry kVocabulary[] = {
#define ZB_KNOB(name, category, policy, doc) {#name, Category::category, DefaultPolicy::policy, doc},
#include "zomboss/knobs.inc"
};

}  // namespace

std::span<const VocabularyEntry> vocabulary() {
  return kVocabulary;
}

const VocabularyEntry* find_vocabulary(std::string_view name) {
  const auto* found = std::find_if(std::begin(kVocabulary), std::end(kVocabulary),
                                   [&](const VocabularyEntry& entry) { return entry.name == name; });
  return found == std::end(kVocabulary) ? nullptr : found;
}

}  // namespace zomboss::mapping
