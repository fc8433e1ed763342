// What calls of the model take: tokens as servers report them, and their price from the user's table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/policies/llm/json_text.h"
#include "zomboss/sdk/message.h"

namespace zomboss::policies::llm {

// Of one attempt. cached is a part of prompt, reasoning a part of completion.
struct TokenUse {
  uint64_t prompt = 0;
  uint64_t completion = 0;
  uint64_t cached = 0;
  uint64_t reasoning = 0;
  bool estimated = false;  // from bytes: the server did not say
};

// Tokens of a text, for budgets and limits: 3.5 bytes each.
uint64_t estimate_tokens(size_t bytes);

// The body's "usage" in the dialects of OpenAI, vLLM, llama.cpp and DeepSeek.
std::optional<TokenUse> read_usage(const Json& body);

// One row of the table; prices for a million tokens.
struct Price {
  std::string model;  // a glob: * and ?
  std::string currency;
  double in = 0;
  double cache = 0;
  double out = 0;
  std::string valid_from;  // YYYY-MM-DD, empty = always
};

class PriceTable {
 public:
  // A JSON array of rows {model, currency, in, cache, out, valid_from, source}. All rows have one currency.
  static Result<PriceTable> parse(std::string_view text);
  static Result<PriceTable> open(const std::string& path);

  // The row for the model that is valid at `date` (YYYY-MM-DD) and has the latest start; of equals the first.
  const Price* find(std::string_view model, std::string_view date) const;

 private:
  std::vector<Price> rows_;
};

double cost_of(const Price& price, const TokenUse& use);
// The most that a request may cost: its prompt uncached and all of its answer.
double worst_cost(const Price& price, uint64_t prompt, uint64_t completion);

// One attempt as the transcript keeps it, so that a replay counts the same whatever the prices are by then.
struct AttemptUse {
  TokenUse tokens;
  double cost = 0;
  bool cost_unknown = false;
  std::string currency;
};
Json to_json(const AttemptUse& use);
AttemptUse use_from_json(const Json& value);
// Adds one attempt to what a proposal cost.
void add(const AttemptUse& use, wire::UsageT& total);

}  // namespace zomboss::policies::llm
