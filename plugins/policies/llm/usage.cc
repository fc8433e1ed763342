#include "plugins/policies/llm/usage.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace zomboss::policies::llm {
namespace {

constexpr double kMillion = 1e6;

bool is_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (i != 4 && i != 7 && (text[i] < '0' || text[i] > '9')) return false;
  return true;
}

Result<Price> read_row(const Json& row, size_t index) {
  const auto bad = [&](const std::string& why) {
    return invalid_argument("prices: row " + std::to_string(index) + " " + why);
  };
  if (!row.is_object()) return bad("is no object");
  Price price;
  price.model = text_of(row, "model");
  price.currency = text_of(row, "currency");
  price.valid_from = text_of(row, "valid_from");
  if (price.model.empty()) return bad("has no 'model'");
  if (price.currency.empty()) return bad("has no 'currency'");
  if (!price.valid_from.empty() && !is_date(price.valid_from))
    return bad("has a 'valid_from' that is no date YYYY-MM-DD");
  for (const auto& [key, slot] : {std::pair{"in", &price.in}, {"cache", &price.cache}, {"out", &price.out}}) {
    const bool cache_as_in = std::string_view(key) == "cache" && member(row, key).is_null();
    *slot = cache_as_in ? price.in : number_of(row, key, -1);
    if (!(*slot >= 0) || !std::isfinite(*slot)) return bad(std::string("needs a price '") + key + "'");
  }
  return price;
}

}  // namespace

uint64_t estimate_tokens(size_t bytes) {
  return (uint64_t{bytes} * 2 + 6) / 7;
}

std::optional<TokenUse> read_usage(const Json& body) {
  const Json& usage = member(body, "usage");
  const auto prompt = count_of(usage, "prompt_tokens");
  const auto completion = count_of(usage, "completion_tokens");
  if (!prompt.has_value() || !completion.has_value()) return std::nullopt;
  TokenUse use;
  use.prompt = *prompt;
  use.completion = *completion;
  if (const auto cached = count_of(member(usage, "prompt_tokens_details"), "cached_tokens"))
    use.cached = *cached;
  else
    use.cached = count_of(usage, "prompt_cache_hit_tokens").value_or(0);
  use.reasoning = count_of(member(usage, "completion_tokens_details"), "reasoning_tokens").value_or(0);
  use.cached = std::min(use.cached, use.prompt);
  use.reasoning = std::min(use.reasoning, use.completion);
  return use;
}

Result<PriceTable> PriceTable::parse(std::string_view text) {
  const auto json = parse_json(text);
  if (!json.has_value() || !json->is_array())
    return invalid_argument("prices: expected a JSON array of {model, currency, in, cache, out, valid_from}");
  PriceTable table;
  for (size_t i = 0; i < json->size(); ++i) {
    ZB_ASSIGN(Price price, read_row((*json)[i], i));
    if (!table.rows_.empty() && table.rows_[0].currency != price.currency)
      return invalid_argument("prices: row " + std::to_string(i) + " is in " + price.currency +
                              ", the others in " + table.rows_[0].currency);
    table.rows_.push_back(std::move(price));
  }
  return table;
}

Result<PriceTable> PriceTable::open(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found("policy llm: the file of option 'prices', " + path + ", cannot be opened");
  std::ostringstream text;
  text << file.rdbuf();
  auto table = parse(text.str());
  if (!table.ok()) return std::move(table).status().with_prefix("policy llm: " + path);
  return table;
}

const Price* PriceTable::find(std::string_view model, std::string_view date) const {
  const Price* best = nullptr;
  for (const Price& row : rows_) {
    if (::fnmatch(row.model.c_str(), std::string(model).c_str(), 0) != 0 || row.valid_from > date) continue;
    if (best == nullptr || row.valid_from > best->valid_from) best = &row;
  }
  return best;
}

double cost_of(const Price& price, const TokenUse& use) {
  return (static_cast<double>(use.prompt - use.cached) * price.in +
          static_cast<double>(use.cached) * price.cache + static_cast<double>(use.completion) * price.out) /
         kMillion;
}

double worst_cost(const Price& price, uint64_t prompt, uint64_t completion) {
  return (static_cast<double>(prompt) * std::max(price.in, price.cache) +
          static_cast<double>(completion) * price.out) /
         kMillion;
}

Json to_json(const AttemptUse& use) {
  return {{"prompt_tokens", use.tokens.prompt}, {"completion_tokens", use.tokens.completion},
          {"cached_tokens", use.tokens.cached}, {"reasoning_tokens", use.tokens.reasoning},
          {"estimated", use.tokens.estimated},  {"cost", use.cost},
          {"cost_unknown", use.cost_unknown},   {"currency", use.currency}};
}

AttemptUse use_from_json(const Json& value) {
  AttemptUse use;
  use.tokens.prompt = count_of(value, "prompt_tokens").value_or(0);
  use.tokens.completion = count_of(value, "completion_tokens").value_or(0);
  use.tokens.cached = count_of(value, "cached_tokens").value_or(0);
  use.tokens.reasoning = count_of(value, "reasoning_tokens").value_or(0);
  use.tokens.estimated = member(value, "estimated") == Json(true);
  use.cost = number_of(value, "cost");
  use.cost_unknown = member(value, "cost_unknown") == Json(true);
  use.currency = text_of(value, "currency");
  return use;
}

void add(const AttemptUse& use, wire::UsageT& total) {
  ++total.requests;
  total.prompt_tokens += use.tokens.prompt;
  total.completion_tokens += use.tokens.completion;
  total.cached_tokens += use.tokens.cached;
  total.reasoning_tokens += use.tokens.reasoning;
  total.cost += use.cost;
  total.cost_unknown = total.cost_unknown || use.cost_unknown;
  total.estimated = total.estimated || use.tokens.estimated;
  if (!use.currency.empty()) total.currency = use.currency;
}

}  // namespace zomboss::policies::llm
