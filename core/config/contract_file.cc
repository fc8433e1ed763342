#include "core/config/contract_file.h"

#include <fmt/format.h>

#include <limits>

#include "core/config/toml_reader.h"

namespace zomboss::config {
namespace {

using oracle::Distribution;
using oracle::Generator;
using oracle::Storage;

constexpr int64_t kHighestDim = 63;

Generator read_generator(const TableReader& reader, Diagnostics& diagnostics) {
  static const std::vector<std::string> kUniform = {"distribution", "low", "high", "storage"};
  static const std::vector<std::string> kNormal = {"distribution", "mean", "stddev", "fan_in_dim", "storage"};
  const std::string kind = reader.required_text("distribution");
  if (kind == "normal") {
    reader.check_keys(kNormal);
    const Generator generator{Distribution::kNormal, reader.number("mean").value_or(0),
                              reader.number("stddev").value_or(1),
                              reader.integer("fan_in_dim", 0, kHighestDim).value_or(-1)};
    if (generator.high < 0)
      diagnostics.error(reader.where(), fmt::format("stddev is {}, expected 0 or more", generator.high));
    return generator;
  }
  reader.check_keys(kUniform);
  if (!kind.empty() && kind != "uniform")
    diagnostics.error(reader.where(),
                      fmt::format("unknown distribution '{}', expected \"uniform\" or \"normal\"", kind));
  const Generator generator{Distribution::kUniform, reader.number("low").value_or(0),
                            reader.number("high").value_or(1)};
  if (generator.low > generator.high)
    diagnostics.error(reader.where(),
                      fmt::format("low = {} is above high = {}", generator.low, generator.high));
  return generator;
}

std::optional<Storage> read_storage(const TableReader& reader, const char* key) {
  const auto text = reader.choice(key, oracle::storage_names());
  return text ? oracle::storage_from_name(*text) : std::nullopt;
}

void read_input(const std::string& name, const TableReader& reader, evaluate::Contract& contract,
                Diagnostics& diagnostics) {
  if (const auto storage = read_storage(reader, "storage")) contract.storage[name] = *storage;
  if (!reader.has_only("storage")) contract.inputs[name] = read_generator(reader, diagnostics);
}

void read_options(const TableReader& reader, evaluate::Contract& contract) {
  static const std::vector<std::string> kKeys = {"kv_storage", "weights"};
  static const std::vector<std::string> kLayouts = {"natural"};
  reader.check_keys(kKeys);
  contract.kv_storage = read_storage(reader, "kv_storage");
  contract.weights = reader.choice("weights", kLayouts).value_or("");
}

void read_acceptance(const TableReader& reader, wire::ContractT& acceptance, Diagnostics& diagnostics) {
  static const std::vector<std::string> kKeys = {"kind", "absolute", "relative", "match_rate",
                                                 "worst_factor"};
  reader.check_keys(kKeys);
  const std::string kind = reader.required_text("kind");
  if (kind != "exact" && kind != "tolerance" && !kind.empty())
    diagnostics.error(reader.where(),
                      fmt::format("unknown kind '{}', expected \"exact\" or \"tolerance\"", kind));
  acceptance.acceptance = kind == "exact" ? wire::Acceptance::Exact : wire::Acceptance::Tolerance;
  acceptance.absolute = reader.number("absolute").value_or(0);
  acceptance.relative = reader.number("relative").value_or(0);
  acceptance.match_rate = reader.number("match_rate").value_or(1);
  acceptance.worst_factor = reader.number("worst_factor").value_or(0);
  if (acceptance.absolute < 0 || acceptance.relative < 0 || acceptance.worst_factor < 0)
    diagnostics.error(reader.where(), "a tolerance is negative");
  if (!(acceptance.match_rate > 0 && acceptance.match_rate <= 1))
    diagnostics.error(reader.where(),
                      fmt::format("match_rate is {}, expected above 0 and at most 1", acceptance.match_rate));
}

}  // namespace

Result<evaluate::Contract> read_contract(const std::string& path) {
  ZB_ASSIGN(const Source source, read_source(path, size_t{1} << 20));
  Diagnostics diagnostics(source);
  const auto table = parse_toml(source, diagnostics);
  if (!table.has_value()) return diagnostics.status();
  static const std::vector<std::string> kKeys = {"seed", "input", "storage", "options", "acceptance"};
  const TableReader reader(*table, "the top level", diagnostics);
  reader.check_keys(kKeys);
  evaluate::Contract contract;
  contract.seed =
      static_cast<uint64_t>(reader.integer("seed", 0, std::numeric_limits<int64_t>::max()).value_or(1));
  if (const toml::table* inputs = reader.table("input")) {
    for (const auto& [key, node] : *inputs) {
      const std::string name(key.str());
      if (const auto* input = node.as_table())
        read_input(name, TableReader(*input, "[input." + name + "]", diagnostics), contract, diagnostics);
      else
        diagnostics.error(location_of(node),
                          fmt::format("input.{} is {}, expected a table", name, type_text(node)));
    }
  }
  if (const toml::table* storage = reader.table("storage")) {
    static const std::vector<std::string> kStorageKeys = {"default"};
    const TableReader storage_reader(*storage, "[storage]", diagnostics);
    storage_reader.check_keys(kStorageKeys);
    contract.default_storage = read_storage(storage_reader, "default");
  }
  if (const toml::table* options = reader.table("options"))
    read_options(TableReader(*options, "[options]", diagnostics), contract);
  if (const toml::table* acceptance = reader.table("acceptance")) {
    contract.has_acceptance = true;
    read_acceptance(TableReader(*acceptance, "[acceptance]", diagnostics), contract.acceptance, diagnostics);
  }
  ZB_TRY(diagnostics.status());
  return contract;
}

}  // namespace zomboss::config
