// One HTTP POST at a time over libcurl, with connections kept open between them. Used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace zomboss::policies::llm {

struct HttpRequest {
  std::string url;
  std::string body;  // JSON
  std::vector<std::string> headers;
  bool loopback = false;  // never through a proxy
  int64_t connect_timeout_s = 10;
  int64_t idle_timeout_s = 300;
  int64_t deadline_ms = 600'000;
};

struct HttpResponse {
  int64_t status = 0;      // 0: no answer, see error
  std::string error;       // of the transport: "could not connect", ...
  bool reached = true;     // the server may have begun to work on the request
  bool permanent = false;  // trying again is useless (a certificate, a redirect)
  bool cancelled = false;
  std::string body;
  std::map<std::string, std::string> headers;  // names in lower case
  uint64_t latency_ms = 0;
};

class HttpClient {
 public:
  HttpClient();
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // `cancelled` is asked about ten times a second.
  HttpResponse post(const HttpRequest& request, const std::function<bool()>& cancelled);

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
};

}  // namespace zomboss::policies::llm
