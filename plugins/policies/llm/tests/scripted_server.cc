#include "plugins/policies/llm/tests/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

#include "plugins/policies/common/state_bytes.h"
#include "plugins/policies/llm/tests/scripted_model.h"

namespace zomboss::policies::llm::testing {
namespace {

bool send_all(int socket, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::send(socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

std::string response_text(int status, const std::string& body,
                          const std::map<std::string, std::string>& headers) {
  std::string text = "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: application/json\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  return text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

Json tool_message(Json arguments) {
  return {{"role", "assistant"},
          {"content", nullptr},
          {"tool_calls",
           Json::array({{{"id", "call_1"},
                         {"type", "function"},
                         {"function", {{"name", "answer"}, {"arguments", std::move(arguments)}}}}})}};
}

Json text_message(Json content) {
  return {{"role", "assistant"}, {"content", std::move(content)}};
}

// The message of the one choice, by the step's kind.
Json message_of(const std::string& kind, const Json& request, bool as_tool) {
  const std::string text = canonical(kind == "unknown_knob" ? wrong_answer(request)
                                     : kind == "duplicate"  ? default_answer(request)
                                                            : model_answer(request));
  if (kind == "malformed" || kind == "length") return text_message(text.substr(0, text.size() / 2));
  if (kind == "fenced") return text_message("```json\n" + text + "\n```\n");
  if (kind == "prose")
    return text_message("Certainly {see below}! I suggest " + text + " because it {may} help.");
  if (kind == "parts")
    return text_message(Json::array(
        {{{"type", "reasoning"}, {"text", "{\"not\": \"this\"}"}}, {{"type", "text"}, {"text", text}}}));
  if (kind == "null_content") return text_message(nullptr);
  if (kind == "double_encoded") return tool_message(canonical(Json(text)));
  if (kind == "refusal") return {{"role", "assistant"}, {"content", nullptr}, {"refusal", "I will not"}};
  if (kind == "tool_call" || as_tool) return tool_message(text);
  return text_message(text);
}

// A server that does not enforce a format answers the probe as a person would.
bool is_probe_ignored(const Json& request, const ServerOptions& options) {
  if (!member(schema_of(request), "properties").contains("echo")) return false;
  const bool schema = text_of(member(request, "response_format"), "type") == "json_schema";
  if (schema) return !options.schema;
  return request.contains("tools") ? !options.tools : !request.contains("response_format");
}

std::string completion(const Step& step, const Json& request, const ServerOptions& options) {
  Json message = message_of(step.kind, request, request.contains("tools"));
  if (is_probe_ignored(request, options)) message = text_message("Hello there!");
  Json body = {{"id", "chatcmpl-1"},
               {"object", "chat.completion"},
               {"model", member(request, "model")},
               {"system_fingerprint", "scripted"},
               {"choices", Json::array({{{"index", 0},
                                         {"message", message},
                                         {"finish_reason", step.kind == "length" ? "length" : "stop"}}})}};
  const size_t prompt = canonical(request).size() / 4, answer = canonical(message).size() / 4;
  if (step.kind != "no_usage")
    body["usage"] = {{"prompt_tokens", prompt},
                     {"completion_tokens", answer},
                     {"total_tokens", prompt + answer},
                     {"prompt_tokens_details", {{"cached_tokens", prompt / 2}}},
                     {"completion_tokens_details", {{"reasoning_tokens", answer / 4}}}};
  return canonical(body);
}

size_t content_length(const std::string& head) {
  std::string lower = head;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const size_t at = lower.find("content-length:");
  return at == std::string::npos ? 0 : std::stoul(lower.substr(at + 15));
}

}  // namespace

Step step(std::string kind) {
  Step result;
  result.kind = std::move(kind);
  return result;
}

Step status_step(int status, std::string message, std::map<std::string, std::string> headers) {
  Step result = step("status");
  result.status = status;
  result.body =
      message.empty() || message[0] == '{' ? message : canonical({{"error", {{"message", message}}}});
  result.headers = std::move(headers);
  return result;
}

std::vector<Step> steps_from_json(const Json& json) {
  std::vector<Step> steps;
  if (!json.is_array()) return steps;
  for (const Json& each : json) {
    Step next = step(text_of(each, "kind"));
    next.status = static_cast<int>(count_of(each, "status").value_or(200));
    next.body = text_of(each, "body");
    next.delay_ms = static_cast<int>(count_of(each, "delay_ms").value_or(0));
    if (const Json& headers = member(each, "headers"); headers.is_object())
      for (const auto& [name, value] : headers.items())
        if (value.is_string()) next.headers[name] = value.get<std::string>();
    steps.push_back(std::move(next));
  }
  return steps;
}

ScriptedServer::ScriptedServer(ServerOptions options) : options_(std::move(options)) {
  steps_.assign(options_.steps.begin(), options_.steps.end());
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("the scripted server cannot listen");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

ScriptedServer::~ScriptedServer() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) ::close(socket);
  ::close(listener_);
}

std::string ScriptedServer::url() const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/v1";
}

void ScriptedServer::add(Step step) {
  const std::lock_guard lock(mutex_);
  steps_.push_back(std::move(step));
}

std::vector<SeenRequest> ScriptedServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void ScriptedServer::accept_all() {
  while (!stopping_) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) {
      if (stopping_) return;
      continue;
    }
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ++connections_;
    const std::lock_guard lock(mutex_);
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket] { serve(socket); });
  }
}

void ScriptedServer::serve(int socket) {
  std::string buffer;
  char bytes[65536];
  for (;;) {
    const size_t end = buffer.find("\r\n\r\n");
    const size_t length = end == std::string::npos ? 0 : content_length(buffer.substr(0, end));
    if (end == std::string::npos || buffer.size() < end + 4 + length) {
      const ssize_t count = ::recv(socket, bytes, sizeof bytes, 0);
      if (count <= 0) break;
      buffer.append(bytes, static_cast<size_t>(count));
      continue;
    }
    const std::string head = buffer.substr(0, end), body = buffer.substr(end + 4, length);
    buffer.erase(0, end + 4 + length);
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back({head, body});
    }
    if (!answer(socket, body)) break;
  }
  ::shutdown(socket, SHUT_RDWR);  // closed by the destructor, so that its number is not used again before
}

namespace {

// One of twelve, by the place in the conversation, from a start that depends on its first question: a
// conversation meets all of them, and every fourth answer is malformed.
Step flaky_step(const Json& request) {
  const Json& messages = member(request, "messages");
  const size_t start = messages.size() > 1 ? fnv1a(text_of(messages[1], "content")) % 12 : 0;
  switch ((start + messages.size() / 2) % 12) {
    case 0:
      return status_step(429, "slow down", {{"retry-after-ms", "1"}});
    case 1:
    case 9:
      return step("malformed");
    case 2:
      return status_step(503, "overloaded", {{"Retry-After", "0"}});
    case 3:
      return step("fenced");
    case 5:
      return step("null_content");
    case 6:
      return status_step(500, "oops", {{"retry-after-ms", "1"}});
    case 7:
      return step("prose");
    case 10:
      return step("double_encoded");
    case 11:
      return step("no_usage");
    default:
      return step("good");
  }
}

}  // namespace

Step ScriptedServer::next_step(const std::string& body, const Json& request) {
  const std::lock_guard lock(mutex_);
  if (!steps_.empty()) {
    Step next = steps_.front();
    steps_.pop_front();
    return next;
  }
  if (!options_.flaky || seen_[fnv1a(body)]++ > 0) return step("good");
  return flaky_step(request);
}

bool ScriptedServer::answer(int socket, const std::string& body) {
  const Json request = parse_json(body).value_or(Json());
  Step next = next_step(body, request);
  const bool schema = text_of(member(request, "response_format"), "type") == "json_schema";
  if (request.is_null())
    next = status_step(400, "the request is no JSON");
  else if (options_.rejects_max_tokens && request.contains("max_tokens"))
    next = status_step(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.");
  else if (options_.rejects_schema && schema)
    next = status_step(400, "response_format json_schema is not supported");
  if (next.kind == "silent") {
    while (!stopping_) {  // until the client leaves
      pollfd poller{socket, POLLIN, 0};
      if (::poll(&poller, 1, 20) > 0) return false;
    }
    return false;
  }
  if (next.kind == "status") return send_all(socket, response_text(next.status, next.body, next.headers));
  if (next.kind == "not_json") return send_all(socket, response_text(200, "<html>login</html>", {}));
  if (next.kind == "error_in_200")
    return send_all(socket,
                    response_text(200, R"({"error": {"code": 502, "message": "upstream is gone"}})", {}));
  const std::string text = response_text(200, completion(next, request, options_), next.headers);
  if (next.kind == "cut") {
    send_all(socket, text.substr(0, text.size() - 20));
    return false;
  }
  if (next.delay_ms == 0) return send_all(socket, text);
  for (size_t i = 0; i < text.size() && !stopping_; ++i) {
    if (!send_all(socket, text.substr(i, 1))) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(next.delay_ms));
  }
  return true;
}

}  // namespace zomboss::policies::llm::testing
