// For tests: an OpenAI-compatible server on a loopback socket, with a rule-based model behind it. Its answers
// depend on the content of requests alone, so that searches against it repeat. Steps make it misbehave: each
// request takes the next one, and when there are none left the server is good.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plugins/policies/llm/json_text.h"

namespace zomboss::policies::llm::testing {

// What the server does with one request, by kind:
// - good: what the model says; malformed: half of it; fenced: in a code fence; prose: within sentences;
//   parts: as a list of parts; null_content: nothing; no_usage: good, but without usage
// - tool_call: as a tool call with finish reason "stop"; double_encoded: with arguments encoded twice
// - refusal: the refusal field; length: cut off, finish reason "length"
// - unknown_knob: a good form with a wrong value; duplicate: always the default mapping
// - status: `status`, `headers` and `body`; error_in_200: an error object; not_json: a web page
// - cut: the connection ends amid the body; silent: no answer until the client leaves
// With `delay_ms` the answer drips, byte by byte.
struct Step {
  std::string kind = "good";
  int status = 200;
  std::string body;
  std::map<std::string, std::string> headers;
  int delay_ms = 0;
};
Step step(std::string kind);
Step status_step(int status, std::string message = "", std::map<std::string, std::string> headers = {});
// [{"kind": "status", "status": 429, "headers": {...}}, ...]; unknown kinds are empty.
std::vector<Step> steps_from_json(const Json& json);

struct ServerOptions {
  // What response formats it enforces; others are ignored, as some servers do.
  bool schema = true;
  bool tools = true;
  bool rejects_max_tokens = false;  // as reasoning models do
  bool rejects_schema = false;      // status 400 instead of ignoring it
  bool flaky = false;  // misbehaves now and then, by the request's content, never twice to the same
  std::vector<Step> steps;
};

struct SeenRequest {
  std::string head;  // request line and headers
  std::string body;
};

class ScriptedServer {
 public:
  explicit ScriptedServer(ServerOptions options = {});
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const;  // http://127.0.0.1:PORT/v1
  void add(Step step);
  std::vector<SeenRequest> requests() const;
  size_t connections() const { return connections_; }

 private:
  void accept_all();
  void serve(int socket);
  Step next_step(const std::string& body, const Json& request);
  // False: close the connection.
  bool answer(int socket, const std::string& body);

  ServerOptions options_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<size_t> connections_{0};
  mutable std::mutex mutex_;
  std::deque<Step> steps_;
  std::vector<SeenRequest> requests_;
  std::map<uint64_t, int> seen_;  // flaky: how often each body came
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;  // one for each connection
  std::thread acceptor_;
};

}  // namespace zomboss::policies::llm::testing
