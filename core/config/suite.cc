#include "core/config/suite.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <set>

#include "core/config/toml_reader.h"

namespace zomboss::config {
namespace {

std::string beside(const std::string& suite_path, const std::string& path) {
  const std::filesystem::path p(path);
  if (p.is_absolute() || path.empty()) return path;
  return (std::filesystem::path(suite_path).parent_path() / p).lexically_normal().string();
}

Instance read_instance(const toml::table& table, const std::string& suite_path, Diagnostics& diagnostics) {
  static const std::vector<std::string> kKeys = {"name",     "family", "config",   "hlo",
                                                 "contract", "params", "baseline", "baseline_source"};
  const TableReader reader(table, "[[instance]]", diagnostics);
  reader.check_keys(kKeys);
  Instance instance;
  const std::string hlo = reader.required_text("hlo");
  instance.hlo = beside(suite_path, hlo);
  instance.contract = beside(suite_path, reader.text("contract").value_or(""));
  instance.name = reader.text("name").value_or(std::filesystem::path(hlo).stem().string());
  instance.family = reader.text("family").value_or("");
  instance.config = reader.text("config").value_or("");
  if (const auto baseline = reader.number("baseline")) {
    if (*baseline > 0)
      instance.baseline = *baseline;
    else
      diagnostics.error(reader.where(), fmt::format("baseline is {}, expected more than 0", *baseline));
  }
  instance.baseline_source = reader.text("baseline_source").value_or("");
  if (const toml::table* params = reader.table("params")) {
    for (const auto& [key, value] : *params) {
      const std::string name(key.str());
      const auto number = TableReader(*params, "params", diagnostics)
                              .integer(name.c_str(), 0, std::numeric_limits<int64_t>::max());
      instance.params += fmt::format("{}{}={}", instance.params.empty() ? "" : " ", name, number.value_or(0));
    }
  }
  return instance;
}

}  // namespace

Result<Suite> read_suite(const std::string& path) {
  ZB_ASSIGN(const Source source, read_source(path, size_t{4} << 20));
  Diagnostics diagnostics(source);
  const auto table = parse_toml(source, diagnostics);
  if (!table.has_value()) return diagnostics.status();
  static const std::vector<std::string> kKeys = {"name", "target", "instance"};
  const TableReader reader(*table, "the top level", diagnostics);
  reader.check_keys(kKeys);
  Suite suite;
  suite.name = reader.required_text("name");
  suite.target = reader.required_text("target");
  const toml::array* instances = reader.array("instance");
  if (instances == nullptr || instances->empty())
    diagnostics.error({1, 1}, "the suite has no [[instance]]", "add one with at least hlo = \"FILE\"");
  std::set<std::string> names;
  for (size_t i = 0; instances != nullptr && i < instances->size(); ++i) {
    const toml::node& node = *instances->get(i);
    const auto* entry = node.as_table();
    if (entry == nullptr) {
      diagnostics.error(location_of(node),
                        fmt::format("an instance is {}, expected a table", type_text(node)));
      continue;
    }
    suite.instances.push_back(read_instance(*entry, path, diagnostics));
    if (!names.insert(suite.instances.back().name).second)
      diagnostics.error(location_of(node),
                        fmt::format("two instances are named '{}'", suite.instances.back().name));
  }
  ZB_TRY(diagnostics.status());
  return suite;
}

}  // namespace zomboss::config
