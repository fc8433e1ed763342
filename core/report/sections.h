// The sections of the report. Each makes the inside of its card from the data, or says why it cannot.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/report/data.h"
#include "core/report/statistics.h"

namespace zomboss::report {

Result<std::string> summary_section(const Data& data);
Result<std::string> comparison_section(const Data& data);
Result<std::string> progress_section(const Data& data);
Result<std::string> trials_section(const Data& data);
Result<std::string> rejections_section(const Data& data);
Result<std::string> knobs_section(const Data& data);
Result<std::string> plan_section(const Data& data);
Result<std::string> references_section(const Data& data);
Result<std::string> timeline_section(const Data& data);
Result<std::string> cost_section(const Data& data);
Result<std::string> events_section(const Data& data);
Result<std::string> reproduce_section(const Data& data);

// Pieces that several use.
std::string nothing(std::string_view why);  // in place of a drawing
std::string note(std::string_view html);    // a line of explanation
std::string figure(std::string_view drawing, std::string_view classes = "");
// The table twin of a drawing, folded away. Cells are HTML; the first column is text, the others numbers
// unless `text_columns` is larger.
std::string table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows,
                  size_t text_columns = 1);
std::string table_twin(const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows, size_t text_columns = 1);
// One block for each group: alone as it is, several folded.
Result<std::string> for_each_group(const Data& data,
                                   const std::function<Result<std::string>(const Group&)>& make,
                                   bool open_first = true);
// The colour class of a policy or an outcome, "c0" to "c7" and so on.
std::string policy_class(size_t policy);
struct Outcome {
  int order = 0;             // of the stages, first to last
  std::string_view stage;    // what people call it
  std::string_view classes;  // its colour
  std::string_view meaning;
};
Outcome outcome_of(const std::string& name);
std::string legend(const std::vector<std::pair<std::string, std::string>>& entries);  // class, text

// The document "incumbent" of the group's best run; not found with the reason when there is none.
Result<Json> incumbent_of(const Data& data, const Group& group);

// Parts of the page.
std::string_view style_sheet();
std::string_view script();

}  // namespace zomboss::report
