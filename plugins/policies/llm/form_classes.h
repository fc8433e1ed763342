// The forms of forms.h as classes; forms.h is what others use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugins/policies/llm/forms.h"

namespace zomboss::policies::llm {

// A row of a catalog by its id or by all its knobs.
class CatalogForm final : public Form {
 public:
  explicit CatalogForm(const SearchView& view) : view_(view) {}
  Json schema() const override;
  std::string task() const override;
  std::vector<std::string> errors(const Json& answer) const override;
  wire::ProposalT proposal(const Json& answer) const override;

 private:
  std::optional<size_t> row(const Json& answer, std::vector<std::string>& errors) const;
  const SearchView& view_;
};

// All knobs of a conditional surface, hard.
class CompleteForm final : public Form {
 public:
  explicit CompleteForm(const SearchView& view) : view_(view) {}
  Json schema() const override;
  std::string task() const override;
  std::vector<std::string> errors(const Json&) const override { return {}; }
  wire::ProposalT proposal(const Json& answer) const override;

 private:
  const SearchView& view_;
};

// Assignments hard, preferred and auto; of a region also its axes, center and radius.
class PartialForm final : public Form {
 public:
  PartialForm(const SearchView& view, bool region) : view_(view), region_(region) {}
  Json schema() const override;
  std::string task() const override;
  std::vector<std::string> errors(const Json& answer) const override;
  wire::ProposalT proposal(const Json& answer) const override;

 private:
  struct Content;
  Content read(const Json& answer, std::vector<std::string>& errors) const;
  void check_region(const Json& answer, const Content& content, std::vector<std::string>& errors) const;
  const SearchView& view_;
  bool region_;
};

}  // namespace zomboss::policies::llm
