#include "core/wire/instance.h"

#include <fmt/format.h>

#include <array>
#include <span>

#include "zomboss/policy.h"
#include "zomboss/target.h"

namespace zomboss::wire {
namespace {

using Arguments = std::span<const std::string_view>;

constexpr std::array<std::string_view, kOperationCount> kNames = {
    "describe", "configure", "surface", "lower",   "simulate", "schedule", "export",
    "import",   "bound",     "start",   "propose", "observe",  "save",     "load"};

constexpr std::array<size_t, kOperationCount> kArgumentCounts = {0, 1, 1, 2, 2, 2, 4, 3, 1, 1, 1, 1, 0, 1};

// Operations that emit nothing.
bool is_silent(Operation operation) {
  return operation == Operation::kConfigure || operation == Operation::kStart ||
         operation == Operation::kObserve || operation == Operation::kLoad;
}

class InProcess final : public Instance {
 public:
  InProcess(const zb_plugin& plugin, LogFunction log, std::string sha256) : plugin_(plugin) {
    identity_.kind = plugin.kind == ZB_KIND_POLICY ? "policy" : "target";
    identity_.id.assign(plugin.id.data, plugin.id.size);
    identity_.version.assign(plugin.version.data, plugin.version.size);
    identity_.sha256 = std::move(sha256);
    context_.plugin = identity_.text();
    context_.log = std::move(log);
  }
  ~InProcess() override {
    if (instance_ != nullptr) plugin_.destroy(instance_);
  }

  Status create(const OptionsT& options) {
    const std::string_view mandatory = plugin_.kind == ZB_KIND_POLICY ? ZB_POLICY_ID : ZB_TARGET_ID;
    if (plugin_.extension(to_zb_str(mandatory)) == nullptr)
      return failed_precondition(fmt::format("{} has no extension {}", context_.plugin, mandatory));
    const std::string config = encode(options);
    ZB_TRY(call_status(context_, "create", [&](const zb_call* call) {
      return plugin_.create(call, to_zb_bytes(config), &instance_);
    }));
    if (instance_ == nullptr)
      return internal_error(context_.plugin + ": create returned ok without an instance");
    return {};
  }

  const Identity& identity() const override { return identity_; }

  Result<std::string> call(Operation operation, std::initializer_list<std::string_view> arguments) override {
    const auto number = static_cast<size_t>(operation);
    if (number >= kOperationCount || arguments.size() != kArgumentCounts[number])
      return internal_error(fmt::format("operation {} with {} arguments", number, arguments.size()));
    const bool of_policy = operation >= Operation::kStart;
    if (of_policy != (plugin_.kind == ZB_KIND_POLICY))
      return failed_precondition(fmt::format("{} has no operation {}", context_.plugin, kNames[number]));
    ZB_ASSIGN(const auto run,
              of_policy ? policy_operation(operation, arguments) : target_operation(operation, arguments));
    if (!is_silent(operation)) return call_bytes(context_, kNames[number], run);
    ZB_TRY(call_status(context_, kNames[number], run));
    return std::string();
  }

 private:
  static zb_bytes bytes(Arguments arguments, size_t i) { return to_zb_bytes(arguments[i]); }

  template <typename Table>
  const Table& table(std::string_view id) const {
    return *static_cast<const Table*>(plugin_.extension(to_zb_str(id)));
  }

  // The plugin's table for an optional extension, or why there is none.
  template <typename Table>
  Result<const Table*> optional_table(std::string_view id, std::string_view what) const {
    const auto* table = static_cast<const Table*>(plugin_.extension(to_zb_str(id)));
    if (table == nullptr || !ZB_HAS(table, Table, run) || table->run == nullptr)
      return unimplemented(fmt::format("{} has no {} (extension {})", context_.plugin, what, id));
    return table;
  }

  Result<CallFunction> policy_operation(Operation operation, Arguments a) const {
    const auto& table = this->table<zb_policy>(ZB_POLICY_ID);
    zb_instance* self = instance_;
    switch (operation) {
      case Operation::kStart:
        return CallFunction(
            [=, &table](const zb_call* call) { return table.start(self, call, bytes(a, 0)); });
      case Operation::kPropose:
        return CallFunction(
            [=, &table](const zb_call* call) { return table.propose(self, call, bytes(a, 0)); });
      case Operation::kObserve:
        return CallFunction(
            [=, &table](const zb_call* call) { return table.observe(self, call, bytes(a, 0)); });
      case Operation::kSave:
        return CallFunction([=, &table](const zb_call* call) { return table.save(self, call); });
      default:
        return CallFunction([=, &table](const zb_call* call) { return table.load(self, call, bytes(a, 0)); });
    }
  }

  Result<CallFunction> target_operation(Operation operation, Arguments a) const {
    const auto& table = this->table<zb_target>(ZB_TARGET_ID);
    zb_instance* self = instance_;
    switch (operation) {
      case Operation::kDescribe:
        return CallFunction([=, &table](const zb_call* call) { return table.describe(self, call); });
      case Operation::kConfigure:
        return CallFunction(
            [=, &table](const zb_call* call) { return table.configure(self, call, bytes(a, 0)); });
      case Operation::kSurface:
        return CallFunction(
            [=, &table](const zb_call* call) { return table.surface(self, call, bytes(a, 0)); });
      case Operation::kLower:
        return CallFunction(
            [=, &table](const zb_call* call) { return table.lower(self, call, bytes(a, 0), bytes(a, 1)); });
      case Operation::kSimulate:
        return CallFunction([=, &table](const zb_call* call) {
          return table.simulate(self, call, bytes(a, 0), bytes(a, 1));
        });
      default:
        return optional_operation(operation, a);
    }
  }

  Result<CallFunction> optional_operation(Operation operation, Arguments a) const {
    zb_instance* self = instance_;
    switch (operation) {
      case Operation::kSchedule: {
        ZB_ASSIGN(const auto* table,
                  optional_table<zb_target_schedule>(ZB_TARGET_SCHEDULE_ID, "engine schedule"));
        return CallFunction(
            [=](const zb_call* call) { return table->run(self, call, bytes(a, 0), bytes(a, 1)); });
      }
      case Operation::kExport: {
        ZB_ASSIGN(const auto* table, optional_table<zb_target_export>(ZB_TARGET_EXPORT_ID, "export"));
        return CallFunction([=](const zb_call* call) {
          return table->run(self, call, bytes(a, 0), bytes(a, 1), bytes(a, 2), bytes(a, 3));
        });
      }
      case Operation::kImport: {
        ZB_ASSIGN(const auto* table, optional_table<zb_target_import>(ZB_TARGET_IMPORT_ID, "import"));
        return CallFunction([=](const zb_call* call) {
          return table->run(self, call, bytes(a, 0), to_zb_str(a[1]), bytes(a, 2));
        });
      }
      default: {
        ZB_ASSIGN(const auto* table, optional_table<zb_target_bound>(ZB_TARGET_BOUND_ID, "lower bound"));
        return CallFunction([=](const zb_call* call) { return table->run(self, call, bytes(a, 0)); });
      }
    }
  }

  const zb_plugin& plugin_;
  CallContext context_;
  Identity identity_;
  zb_instance* instance_ = nullptr;
};

}  // namespace

std::string_view operation_name(Operation operation) {
  return kNames[static_cast<size_t>(operation)];
}

Result<std::unique_ptr<Instance>> open_instance(const zb_plugin& plugin, const OptionsT& options,
                                                LogFunction log, std::string sha256) {
  auto instance = std::make_unique<InProcess>(plugin, std::move(log), std::move(sha256));
  ZB_TRY(instance->create(options));
  return std::unique_ptr<Instance>(std::move(instance));
}

}  // namespace zomboss::wire
