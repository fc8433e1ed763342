// Writing a plugin in C++: derive nothing, include this, write a class with the operations as member
// functions, and export it with ZB_EXPORT_TARGET or ZB_EXPORT_POLICY. Every entry is wrapped: exceptions
// become internal errors, messages are verified before the class sees them, answers are encoded and emitted.
//
//   class Toy {
//    public:
//     static zomboss::Result<std::unique_ptr<Toy>> create(zomboss::sdk::Call&, const
//     zomboss::wire::OptionsT&);
//     ...
//   };
//   ZB_EXPORT_TARGET(Toy, "toy", "1.0.0")
#pragma once

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "zomboss/plugin.h"
#include "zomboss/policy.h"
#include "zomboss/sdk/message.h"
#include "zomboss/sdk/status.h"
#include "zomboss/target.h"

namespace zomboss::sdk {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr uint16_t kSanitizer = ZB_SANITIZER_ADDRESS;
#elif defined(__SANITIZE_THREAD__)
inline constexpr uint16_t kSanitizer = ZB_SANITIZER_THREAD;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr uint16_t kSanitizer = ZB_SANITIZER_ADDRESS;
#elif __has_feature(thread_sanitizer)
inline constexpr uint16_t kSanitizer = ZB_SANITIZER_THREAD;
#else
inline constexpr uint16_t kSanitizer = ZB_SANITIZER_NONE;
#endif
#else
inline constexpr uint16_t kSanitizer = ZB_SANITIZER_NONE;
#endif

constexpr zb_str as_str(std::string_view text) {
  return {text.data(), text.size()};
}
inline Bytes as_span(zb_bytes bytes) {
  return {bytes.data, bytes.size};
}

// The host's side of the call in progress. Valid until the operation returns.
class Call {
 public:
  explicit Call(const zb_call* call) : call_(call) {}
  bool cancelled() const { return call_->cancelled(call_) != 0; }
  uint64_t deadline_ns() const { return call_->deadline_ns; }
  void log(zb_severity severity, std::string_view text) const { call_->log(call_, severity, as_str(text)); }
  void progress(double fraction, std::string_view what) const {
    call_->progress(call_, fraction, as_str(what));
  }
  void emit(std::string_view payload) const {
    call_->emit(call_, {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
  }
  zb_status finish(const Status& status) const {
    if (!status.ok()) call_->fail(call_, static_cast<zb_status>(status.code()), as_str(status.message()));
    return static_cast<zb_status>(status.code());
  }

 private:
  const zb_call* call_;
};

// Runs an operation: `body(call)` returns Status, Result<std::string> or Result<some message>.
template <typename Body>
zb_status guarded(const zb_call* raw, Body&& body) noexcept {
  Call call(raw);
  try {
    auto answer = body(call);
    if constexpr (std::is_same_v<decltype(answer), Status>) {
      return call.finish(answer);
    } else {
      if (!answer.ok()) return call.finish(answer.status());
      if constexpr (std::is_same_v<decltype(answer), Result<std::string>>)
        call.emit(*answer);
      else
        call.emit(encode(*answer));
      return ZB_OK;
    }
  } catch (const std::bad_alloc&) {
    return call.finish(Status(Code::kResourceExhausted, "the plugin ran out of memory"));
  } catch (const std::exception& error) {
    return call.finish(internal_error(std::string("the plugin threw: ") + error.what()));
  } catch (...) {
    return call.finish(internal_error("the plugin threw something that is not a std::exception"));
  }
}

template <typename Plugin>
Plugin& self(zb_instance* instance) {
  return *reinterpret_cast<Plugin*>(instance);
}

template <typename Plugin>
zb_status create(const zb_call* raw, zb_bytes config, zb_instance** out) noexcept {
  *out = nullptr;
  return guarded(raw, [&](Call& call) -> Status {
    wire::OptionsT options;
    if (config.size != 0) {
      ZB_ASSIGN(options, decode<wire::OptionsT>(as_span(config)));
    }
    ZB_ASSIGN(std::unique_ptr<Plugin> plugin, Plugin::create(call, options));
    *out = reinterpret_cast<zb_instance*>(plugin.release());
    return {};
  });
}

template <typename Plugin>
void destroy(zb_instance* instance) noexcept {
  delete reinterpret_cast<Plugin*>(instance);
}

// A target class has:
//   static Result<std::unique_ptr<T>> create(Call&, const wire::OptionsT&);
//   Result<std::string> describe(Call&);
//   Status configure(Call&, const wire::ModelT&);
//   Result<wire::SurfaceT> surface(Call&, const wire::WorkloadT&);
//   Result<wire::ProgramT> lower(Call&, const wire::WorkloadT&, const wire::PlanT&);
//   Result<wire::SimulationT> simulate(Call&, const wire::ProgramT&, const wire::TensorsT&);
// and, each optional (the extension is offered iff the member exists):
//   Result<wire::ScheduleT> schedule(Call&, const wire::WorkloadT&, const wire::PlanT&);
//   Result<wire::FilesT> export_kernel(Call&, const wire::WorkloadT&, const wire::ProgramT&,
//                                      const wire::TensorsT& inputs, const wire::TensorsT& expected);
//   Result<wire::ProgramT> import_kernel(Call&, const wire::WorkloadT&, std::string_view file_name,
//                                        std::string_view text);
//   Result<wire::BoundT> bound(Call&, const wire::WorkloadT&);
template <typename T>
struct TargetTable {
  static zb_status describe(zb_instance* instance, const zb_call* raw) noexcept {
    return guarded(raw, [&](Call& call) { return self<T>(instance).describe(call); });
  }
  static zb_status configure(zb_instance* instance, const zb_call* raw, zb_bytes model) noexcept {
    return guarded(raw, [&](Call& call) -> Status {
      ZB_ASSIGN(const wire::ModelT m, decode<wire::ModelT>(as_span(model)));
      return self<T>(instance).configure(call, m);
    });
  }
  static zb_status surface(zb_instance* instance, const zb_call* raw, zb_bytes workload) noexcept {
    return guarded(raw, [&](Call& call) -> Result<wire::SurfaceT> {
      ZB_ASSIGN(const wire::WorkloadT w, decode<wire::WorkloadT>(as_span(workload)));
      return self<T>(instance).surface(call, w);
    });
  }
  static zb_status lower(zb_instance* instance, const zb_call* raw, zb_bytes workload,
                         zb_bytes plan) noexcept {
    return guarded(raw, [&](Call& call) -> Result<wire::ProgramT> {
      ZB_ASSIGN(const wire::WorkloadT w, decode<wire::WorkloadT>(as_span(workload)));
      ZB_ASSIGN(const wire::PlanT p, decode<wire::PlanT>(as_span(plan)));
      return self<T>(instance).lower(call, w, p);
    });
  }
  static zb_status simulate(zb_instance* instance, const zb_call* raw, zb_bytes program,
                            zb_bytes inputs) noexcept {
    return guarded(raw, [&](Call& call) -> Result<wire::SimulationT> {
      ZB_ASSIGN(const wire::ProgramT p, decode<wire::ProgramT>(as_span(program)));
      ZB_ASSIGN(const wire::TensorsT t, decode<wire::TensorsT>(as_span(inputs)));
      return self<T>(instance).simulate(call, p, t);
    });
  }
  static zb_status schedule(zb_instance* instance, const zb_call* raw, zb_bytes workload,
                            zb_bytes plan) noexcept {
    return guarded(raw, [&](Call& call) -> Result<wire::ScheduleT> {
      ZB_ASSIGN(const wire::WorkloadT w, decode<wire::WorkloadT>(as_span(workload)));
      ZB_ASSIGN(const wire::PlanT p, decode<wire::PlanT>(as_span(plan)));
      return self<T>(instance).schedule(call, w, p);
    });
  }
  static zb_status export_kernel(zb_instance* instance, const zb_call* raw, zb_bytes workload,
                                 zb_bytes program, zb_bytes inputs, zb_bytes expected) noexcept {
    return guarded(raw, [&](Call& call) -> Result<wire::FilesT> {
      ZB_ASSIGN(const wire::WorkloadT w, decode<wire::WorkloadT>(as_span(workload)));
      ZB_ASSIGN(const wire::ProgramT p, decode<wire::ProgramT>(as_span(program)));
      ZB_ASSIGN(const wire::TensorsT i, decode<wire::TensorsT>(as_span(inputs)));
      ZB_ASSIGN(const wire::TensorsT e, decode<wire::TensorsT>(as_span(expected)));
      return self<T>(instance).export_kernel(call, w, p, i, e);
    });
  }
  static zb_status import_kernel(zb_instance* instance, const zb_call* raw, zb_bytes workload,
                                 zb_str file_name, zb_bytes text) noexcept {
    return guarded(raw, [&](Call& call) -> Result<wire::ProgramT> {
      ZB_ASSIGN(const wire::WorkloadT w, decode<wire::WorkloadT>(as_span(workload)));
      return self<T>(instance).import_kernel(
          call, w, std::string_view(file_name.data, file_name.size),
          std::string_view(reinterpret_cast<const char*>(text.data), text.size));
    });
  }
  static zb_status bound(zb_instance* instance, const zb_call* raw, zb_bytes workload) noexcept {
    return guarded(raw, [&](Call& call) -> Result<wire::BoundT> {
      ZB_ASSIGN(const wire::WorkloadT w, decode<wire::WorkloadT>(as_span(workload)));
      return self<T>(instance).bound(call, w);
    });
  }

  static const void* extension(zb_str id) noexcept {
    const std::string_view name(id.data, id.size);
    if (name == ZB_TARGET_ID) {
      static constexpr zb_target kTable = {sizeof(zb_target), 0,     describe, configure,
                                           surface,           lower, simulate};
      return &kTable;
    }
    if constexpr (requires { &T::schedule; }) {
      static constexpr zb_target_schedule kTable = {sizeof(zb_target_schedule), 0, schedule};
      if (name == ZB_TARGET_SCHEDULE_ID) return &kTable;
    }
    if constexpr (requires { &T::export_kernel; }) {
      static constexpr zb_target_export kTable = {sizeof(zb_target_export), 0, export_kernel};
      if (name == ZB_TARGET_EXPORT_ID) return &kTable;
    }
    if constexpr (requires { &T::import_kernel; }) {
      static constexpr zb_target_import kTable = {sizeof(zb_target_import), 0, import_kernel};
      if (name == ZB_TARGET_IMPORT_ID) return &kTable;
    }
    if constexpr (requires { &T::bound; }) {
      static constexpr zb_target_bound kTable = {sizeof(zb_target_bound), 0, bound};
      if (name == ZB_TARGET_BOUND_ID) return &kTable;
    }
    return nullptr;
  }
};

// A policy class has:
//   static Result<std::unique_ptr<T>> create(Call&, const wire::OptionsT&);
//   Status start(Call&, const wire::SearchContextT&);
//   Result<wire::ProposalT> propose(Call&, const wire::SearchStateT&);
//   Status observe(Call&, const wire::FeedbackBatchT&);
//   Result<std::string> save(Call&);
//   Status load(Call&, Bytes);
template <typename T>
struct PolicyTable {
  static zb_status start(zb_instance* instance, const zb_call* raw, zb_bytes context) noexcept {
    return guarded(raw, [&](Call& call) -> Status {
      ZB_ASSIGN(const wire::SearchContextT c, decode<wire::SearchContextT>(as_span(context)));
      return self<T>(instance).start(call, c);
    });
  }
  static zb_status propose(zb_instance* instance, const zb_call* raw, zb_bytes state) noexcept {
    return guarded(raw, [&](Call& call) -> Result<wire::ProposalT> {
      ZB_ASSIGN(const wire::SearchStateT s, decode<wire::SearchStateT>(as_span(state)));
      return self<T>(instance).propose(call, s);
    });
  }
  static zb_status observe(zb_instance* instance, const zb_call* raw, zb_bytes feedback) noexcept {
    return guarded(raw, [&](Call& call) -> Status {
      ZB_ASSIGN(const wire::FeedbackBatchT f, decode<wire::FeedbackBatchT>(as_span(feedback)));
      return self<T>(instance).observe(call, f);
    });
  }
  static zb_status save(zb_instance* instance, const zb_call* raw) noexcept {
    return guarded(raw, [&](Call& call) { return self<T>(instance).save(call); });
  }
  static zb_status load(zb_instance* instance, const zb_call* raw, zb_bytes state) noexcept {
    return guarded(raw, [&](Call& call) { return self<T>(instance).load(call, as_span(state)); });
  }
  static const void* extension(zb_str id) noexcept {
    static constexpr zb_policy kTable = {sizeof(zb_policy), 0, start, propose, observe, save, load};
    return std::string_view(id.data, id.size) == ZB_POLICY_ID ? &kTable : nullptr;
  }
};

}  // namespace zomboss::sdk

#define ZB_EXPORT_PLUGIN(Class, Kind, Table, id, version)                                             \
  extern "C" ZB_EXPORT const zb_plugin* zb_plugin_query_v1(uint32_t host_major, uint32_t host_minor); \
  extern "C" ZB_EXPORT const zb_plugin* zb_plugin_query_v1(uint32_t host_major, uint32_t) {           \
    static constexpr zb_plugin kPlugin = {sizeof(zb_plugin),                                          \
                                          ZB_ABI_MAJOR,                                               \
                                          ZB_ABI_MINOR,                                               \
                                          0,                                                          \
                                          ::zomboss::sdk::kSanitizer,                                 \
                                          Kind,                                                       \
                                          ::zomboss::sdk::as_str(id),                                 \
                                          ::zomboss::sdk::as_str(version),                            \
                                          ::zomboss::sdk::create<Class>,                              \
                                          ::zomboss::sdk::destroy<Class>,                             \
                                          ::zomboss::sdk::Table<Class>::extension};                   \
    return host_major == ZB_ABI_MAJOR ? &kPlugin : nullptr;                                           \
  }
#define ZB_EXPORT_TARGET(Class, id, version) ZB_EXPORT_PLUGIN(Class, ZB_KIND_TARGET, TargetTable, id, version)
#define ZB_EXPORT_POLICY(Class, id, version) ZB_EXPORT_PLUGIN(Class, ZB_KIND_POLICY, PolicyTable, id, version)
