// How the client finds out what the server takes, and what it does when a request turns out to be more.
#include <array>
#include <map>
#include <mutex>

#include "plugins/policies/llm/chat_client.h"

namespace zomboss::policies::llm {
namespace {

constexpr std::array<std::string_view, 4> kStructures = {"schema", "tool", "object", "text"};
constexpr int64_t kProbeTokens = 1024;  // models that reason first need some

// What servers were found to take, for the life of the process: a suite of many searches asks once. The one
// piece of state that instances share; it holds no secrets.
struct Cache {
  std::mutex mutex;
  std::map<std::string, Capabilities> found;
};
Cache& cache() {
  static Cache* const kCache = new Cache;  // never destroyed: plugins are not unloaded
  return *kCache;
}

bool lower(Structure& structure) {
  if (structure == Structure::kText) return false;
  structure = static_cast<Structure>(static_cast<int>(structure) + 1);
  return true;
}

Ask probe_ask() {
  Ask ask;
  ask.role = "probe";
  ask.messages = {{"system", "This is a test of the connection; answers are JSON."},
                  {"user", "Say hello in one short sentence."}};
  // Only a server that enforces the schema answers this way.
  ask.schema = {{"type", "object"},
                {"additionalProperties", false},
                {"required", {"echo"}},
                {"properties", {{"echo", {{"enum", {"zb7"}}}}}}};
  return ask;
}

}  // namespace

Json to_json(const Capabilities& capabilities) {
  return {{"structure", kStructures[static_cast<size_t>(capabilities.structure)]},
          {"completion_tokens", capabilities.completion_tokens},
          {"temperature", capabilities.temperature}};
}

std::optional<Capabilities> capabilities_from_json(const Json& value) {
  Capabilities capabilities;
  const std::string structure = text_of(value, "structure");
  size_t index = 0;
  while (index < kStructures.size() && kStructures[index] != structure) ++index;
  if (index == kStructures.size()) return std::nullopt;
  capabilities.structure = static_cast<Structure>(index);
  capabilities.completion_tokens = member(value, "completion_tokens") == Json(true);
  capabilities.temperature = member(value, "temperature") == Json(true);
  return capabilities;
}

Status ChatClient::find_capabilities(sdk::Call& call, Turn& turn) {
  if (capabilities_.has_value()) return {};
  Capabilities found;
  found.completion_tokens = options_.token_limit == "max_completion_tokens";
  if (options_.structured != "auto") {
    while (kStructures[static_cast<size_t>(found.structure)] != options_.structured) lower(found.structure);
    capabilities_ = found;
    return {};
  }
  if (const auto note = transcript_.next_note("capabilities")) {
    capabilities_ = capabilities_from_json(member(*note, "found"));
    return capabilities_.has_value() ? Status() : data_loss("the transcript's capabilities are damaged");
  }
  const std::string key = endpoint_.url + " " + options_.model + " " + options_.token_limit;
  const bool ask_server = !transcript_.live() || transcript_.attempt_follows();
  bool cached = false;
  if (!ask_server) {
    const std::lock_guard lock(cache().mutex);
    if (const auto entry = cache().found.find(key); entry != cache().found.end()) {
      capabilities_ = entry->second;
      cached = true;
    }
  }
  if (!cached) {
    capabilities_ = found;
    if (Status status = probe(call, turn); !status.ok()) {
      capabilities_.reset();
      return status;
    }
  }
  if (transcript_.next_note("capabilities").has_value()) return {};
  if (transcript_.live() && !cached) {
    const std::lock_guard lock(cache().mutex);
    cache().found[key] = *capabilities_;
  }
  return transcript_.append({{"kind", "capabilities"}, {"found", to_json(*capabilities_)}});
}

// Down the list until the server obeys, not only accepts.
Status ChatClient::probe(sdk::Call& call, Turn& turn) {
  const uint32_t malformed = turn.usage.malformed;
  while (capabilities_->structure != Structure::kText) {
    ZB_ASSIGN(const Answer answer,
              ask_as_found(call, turn, probe_ask(), std::min(kProbeTokens, options_.max_tokens)));
    if (answer.ok) break;
    lower(capabilities_->structure);
  }
  turn.usage.malformed = malformed;  // a server that knows less is not a model that answers wrong
  return {};
}

// Takes back what the server's refusal names, else the structure. False when there is nothing left to take
// back.
bool ChatClient::adapt(const Reply& reply) {
  const std::string why = describe(reply);
  const bool limit =
      why.find("max_tokens") != std::string::npos || why.find("max_completion_tokens") != std::string::npos;
  const bool wants_other =
      why.find(capabilities_->completion_tokens ? "max_tokens" : "max_completion_tokens") !=
      std::string::npos;
  if (limit && wants_other && options_.token_limit == "auto" && !capabilities_->completion_tokens) {
    capabilities_->completion_tokens = true;
    return true;
  }
  if (why.find("temperature") != std::string::npos && options_.temperature >= 0 &&
      capabilities_->temperature) {
    capabilities_->temperature = false;
    return true;
  }
  return lower(capabilities_->structure);
}

}  // namespace zomboss::policies::llm
