// The knob names that targets share (zomboss/knobs.inc). A surface may use other names; one of these must
// have the category that stands here.
#pragma once

#include <span>
#include <string_view>

#include "core/mapping/knob.h"

namespace zomboss::mapping {

struct VocabularyEntry {
  std::string_view name;
  Category category;
  DefaultPolicy default_policy;  // what a target without an own opinion takes
  std::string_view doc;
};

std::span<const VocabularyEntry> vocabulary();
const VocabularyEntry* find_vocabulary(std::string_view name);  // null when the name is not a shared one

}  // namespace zomboss::mapping
