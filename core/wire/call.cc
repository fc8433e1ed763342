#include "core/wire/call.h"

#include <fmt/format.h>

#include <mutex>

namespace zomboss::wire {
namespace {

constexpr size_t kMessageLimit = 4096;

// Plugin text made safe to print: at most 4 KiB, control bytes except newline and tab replaced, as are bytes
// that are no UTF-8.
std::string clean_text(zb_str text) {
  std::string out;
  if (text.data == nullptr) return out;
  const size_t size = std::min(text.size, kMessageLimit);
  for (size_t i = 0; i < size;) {
    const auto byte = static_cast<unsigned char>(text.data[i]);
    const size_t length = byte < 0x80                   ? 1
                          : byte >= 0xC2 && byte < 0xE0 ? 2
                          : (byte & 0xF0) == 0xE0       ? 3
                          : byte >= 0xF0 && byte < 0xF5 ? 4
                                                        : 0;
    bool valid = length != 0 && i + length <= size;
    for (size_t k = 1; valid && k < length; ++k)
      valid = (static_cast<unsigned char>(text.data[i + k]) & 0xC0) == 0x80;
    if (length == 1 && byte < 0x20 && byte != '\n' && byte != '\t') valid = false;
    if (valid)
      out.append(text.data + i, length);
    else
      out += '?';
    i += valid ? length : 1;
  }
  if (text.size > kMessageLimit) out += "... (cut)";
  return out;
}

// What the plugin pushed during one call. Callbacks come from any thread.
struct Sink {
  const CallContext* context = nullptr;
  std::mutex mutex;
  std::string answer;
  int answers = 0;
  size_t refused_bytes = 0;
  bool failed = false;
  std::string reason;
};

Sink& sink_of(const zb_call* call) {
  return *static_cast<Sink*>(call->host);
}

int32_t on_cancelled(const zb_call* call) {
  const auto* flag = sink_of(call).context->cancelled;
  return flag != nullptr && flag->load(std::memory_order_relaxed) ? 1 : 0;
}

void on_fail(const zb_call* call, zb_status, zb_str message) {
  Sink& sink = sink_of(call);
  const std::lock_guard lock(sink.mutex);
  sink.failed = true;
  sink.reason = clean_text(message);
}

void on_log(const zb_call* call, zb_severity severity, zb_str message) {
  Sink& sink = sink_of(call);
  const std::lock_guard lock(sink.mutex);
  if (sink.context->log) sink.context->log(severity, sink.context->plugin, clean_text(message));
}

void on_emit(const zb_call* call, zb_bytes payload) {
  Sink& sink = sink_of(call);
  const std::lock_guard lock(sink.mutex);
  if (++sink.answers > 1) return;
  if (payload.size > sink.context->answer_limit || (payload.data == nullptr && payload.size != 0)) {
    sink.refused_bytes = payload.size;
    return;
  }
  if (payload.size != 0) sink.answer.assign(reinterpret_cast<const char*>(payload.data), payload.size);
}

void on_progress(const zb_call*, double, zb_str) {}

Status misbehaved(const CallContext& context, std::string_view name, std::string_view what) {
  return internal_error(
      fmt::format("{}: {}: the plugin broke the ABI's rules: {}", context.plugin, name, what));
}

Status run(Sink& sink, const CallContext& context, std::string_view name, const CallFunction& operation) {
  sink.context = &context;
  zb_call call{};
  call.struct_size = sizeof call;
  call.host = &sink;
  call.deadline_ns = context.deadline_ns;
  call.cancelled = on_cancelled;
  call.fail = on_fail;
  call.log = on_log;
  call.emit = on_emit;
  call.progress = on_progress;
  const zb_status status = operation(&call);
  if (status != ZB_OK) {
    if (!sink.failed)
      return misbehaved(context, name, fmt::format("it returned status {} without a reason", status));
    const auto code = status >= 1 && status <= 16 ? static_cast<Code>(status) : Code::kUnknown;
    return Status(code, fmt::format("{}: {}: {}", context.plugin, name, sink.reason));
  }
  if (sink.failed)
    return misbehaved(context, name,
                      fmt::format("it returned ok after reporting the failure '{}'", sink.reason));
  if (sink.refused_bytes != 0)
    return misbehaved(
        context, name,
        fmt::format("its answer of {} bytes is larger than the limit of {} bytes or has no data",
                    sink.refused_bytes, context.answer_limit));
  return {};
}

}  // namespace

Status call_status(const CallContext& context, std::string_view name, const CallFunction& operation) {
  Sink sink;
  ZB_TRY(run(sink, context, name, operation));
  if (sink.answers != 0) return misbehaved(context, name, "it answered where no answer is expected");
  return {};
}

Result<std::string> call_bytes(const CallContext& context, std::string_view name,
                               const CallFunction& operation) {
  Sink sink;
  ZB_TRY(run(sink, context, name, operation));
  if (sink.answers == 0) return misbehaved(context, name, "it returned ok without an answer");
  if (sink.answers > 1)
    return misbehaved(context, name, fmt::format("it answered {} times instead of once", sink.answers));
  return std::move(sink.answer);
}

}  // namespace zomboss::wire
