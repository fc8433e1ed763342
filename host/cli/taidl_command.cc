// zomboss taidl: parse and check a target description, as the host does when it loads a target.
#include <fmt/format.h>

#include "core/taidl/model.h"
#include "core/taidl/parser.h"
#include "core/taidl/printer.h"
#include "host/cli/commands.h"
#include "host/cli/exit.h"
#include "host/cli/json.h"

namespace zomboss::cli {
namespace {

Result<taidl::Model> check(const Source& source, const std::vector<std::string>& params,
                           Diagnostics& diagnostics) {
  taidl::Overrides overrides;
  for (const std::string& param : params) {
    ZB_ASSIGN(auto override, taidl::parse_override(param));
    overrides.push_back(std::move(override));
  }
  return taidl::load_model(source, overrides, diagnostics);
}

}  // namespace

int run_taidl_command(const CommonOptions& common, const std::string& path, bool print) {
  const auto source = read_source(path, size_t{16} << 20);
  if (!source.ok()) return fail(common, source.status());
  Diagnostics diagnostics(*source);
  const auto model = check(*source, common.params, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.all())
    if (diagnostic.severity == Severity::kWarning) fmt::print(stderr, "{}", diagnostics.render(diagnostic));
  if (!model.ok()) return fail(common, model.status());
  if (print) {
    Diagnostics again(*source);
    const auto spec = taidl::parse_spec(*source, again);
    if (!spec.ok()) return fail(common, spec.status());
    fmt::print("{}", taidl::print_spec(*spec));
    return kExitSuccess;
  }
  if (common.json) {
    Json params = Json::object();
    for (const taidl::Param& param : model->params) params[param.name] = param.value;
    print_json({{"schema", "zomboss.taidl/1"},
                {"target", model->target},
                {"spec_hash", model->hash},
                {"params", params},
                {"memories", model->memories.size()},
                {"instructions", model->instrs.size()},
                {"rules", model->rules.size()},
                {"warnings", diagnostics.all().size()}});
    return kExitSuccess;
  }
  fmt::print("{}: target {}, {} instructions, {} memories, {} rules, {} warnings\n", path, model->target,
             model->instrs.size(), model->memories.size(), model->rules.size(), diagnostics.all().size());
  return kExitSuccess;
}

}  // namespace zomboss::cli
