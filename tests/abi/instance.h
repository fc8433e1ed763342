// A plugin instance driven through core/wire, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/wire/call.h"
#include "host/loader/loader.h"

namespace zomboss::abi {

class Instance {
 public:
  explicit Instance(const loader::Plugin& plugin) : plugin_(plugin) {
    context_.plugin = plugin.manifest.id;
    context_.log = [this](zb_severity, std::string_view, std::string_view text) {
      logged.emplace_back(text);
    };
    created = wire::call_status(context_, "create", [&](const zb_call* call) {
      return plugin_.descriptor->create(call, {nullptr, 0}, &instance_);
    });
  }
  ~Instance() {
    if (instance_ != nullptr) plugin_.descriptor->destroy(instance_);
  }
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  // operation(instance, call, bytes...)
  template <typename Function, typename... Texts>
  Status run(Function function, const Texts&... texts) {
    return wire::call_status(context_, "run", [&](const zb_call* call) {
      return function(instance_, call, wire::to_zb_bytes(texts)...);
    });
  }
  template <typename Function, typename... Texts>
  Result<std::string> bytes(Function function, const Texts&... texts) {
    return wire::call_bytes(context_, "run", [&](const zb_call* call) {
      return function(instance_, call, wire::to_zb_bytes(texts)...);
    });
  }
  template <typename T, typename Function, typename... Texts>
  Result<T> message(Function function, const Texts&... texts) {
    return wire::call_message<T>(context_, "run", [&](const zb_call* call) {
      return function(instance_, call, wire::to_zb_bytes(texts)...);
    });
  }
  zb_instance* get() const { return instance_; }

  Status created;
  std::vector<std::string> logged;

 private:
  const loader::Plugin& plugin_;
  wire::CallContext context_;
  zb_instance* instance_ = nullptr;
};

}  // namespace zomboss::abi
