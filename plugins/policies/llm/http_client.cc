#include "plugins/policies/llm/http_client.h"

#include <curl/curl.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <mutex>

namespace zomboss::policies::llm {
namespace {

constexpr size_t kBodyLimit = 16u << 20;
constexpr size_t kHeaderLimit = 200;

size_t on_body(char* data, size_t size, size_t count, void* user) {
  auto& body = static_cast<HttpResponse*>(user)->body;
  if (body.size() + size * count > kBodyLimit) return 0;  // curl: write error
  body.append(data, size * count);
  return size * count;
}

size_t on_header(char* data, size_t size, size_t count, void* user) {
  auto& headers = static_cast<HttpResponse*>(user)->headers;
  const std::string line(data, size * count);
  const size_t colon = line.find(':');
  if (colon == std::string::npos || headers.size() >= kHeaderLimit) return size * count;
  std::string name = line.substr(0, colon);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const size_t first = line.find_first_not_of(" \t", colon + 1);
  const size_t last = line.find_last_not_of(" \t\r\n");
  headers[name] = first == std::string::npos || first > last ? "" : line.substr(first, last - first + 1);
  return size * count;
}

// Which failures of curl mean that the request cannot have been worked on, and which will not go away.
void explain(CURLcode code, HttpResponse& response) {
  response.status = 0;
  response.error = curl_easy_strerror(code);
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
      response.reached = false;
      break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      response.reached = false;
      response.permanent = true;
      break;
    case CURLE_WRITE_ERROR:
      response.error = "the answer is longer than 16 MiB";
      break;
    default:
      break;
  }
}

void configure(CURL* easy, const HttpRequest& request, curl_slist* headers, HttpResponse& response) {
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, static_cast<long>(request.connect_timeout_s));
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.idle_timeout_s));
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.deadline_ms));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &response);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &response);
  if (request.loopback) curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
}

// A server that goes away must not kill the process: with CURLOPT_NOSIGNAL libcurl leaves SIGPIPE to us.
// Blocked for this thread, and taken if it came, while this lives.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec now{};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

// Until the transfer ends. False when it was cancelled.
bool drive(CURLM* multi, const std::function<bool()>& cancelled, CURLcode& code) {
  for (;;) {
    int running = 0;
    if (curl_multi_perform(multi, &running) != CURLM_OK) code = CURLE_FAILED_INIT;
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      code = message->data.result;
      return true;
    }
    if (running == 0) return true;
    if (cancelled()) return false;
    curl_multi_poll(multi, nullptr, 0, 100, nullptr);
  }
}

}  // namespace

struct HttpClient::Handle {
  CURLM* multi = nullptr;
};

HttpClient::HttpClient() : handle_(std::make_unique<Handle>()) {
  static std::once_flag once;  // libcurl's own global state, never taken down: plugins are not unloaded
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  handle_->multi = curl_multi_init();
}

HttpClient::~HttpClient() {
  const NoSigpipe no_sigpipe;  // connections say goodbye
  curl_multi_cleanup(handle_->multi);
}

HttpResponse HttpClient::post(const HttpRequest& request, const std::function<bool()>& cancelled) {
  HttpResponse response;
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(), curl_easy_cleanup);
  curl_slist* list = nullptr;
  for (const std::string& header : request.headers) list = curl_slist_append(list, header.c_str());
  list = curl_slist_append(list, "Content-Type: application/json");
  list = curl_slist_append(list, "Expect:");
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list, curl_slist_free_all);
  if (easy == nullptr || handle_->multi == nullptr) {
    response.error = "libcurl could not be set up";
    response.reached = false;
    return response;
  }
  const auto begin = std::chrono::steady_clock::now();
  configure(easy.get(), request, headers.get(), response);
  CURLcode code = CURLE_OK;
  const NoSigpipe no_sigpipe;
  curl_multi_add_handle(handle_->multi, easy.get());
  response.cancelled = !drive(handle_->multi, cancelled, code);
  curl_multi_remove_handle(handle_->multi, easy.get());
  const auto spent = std::chrono::steady_clock::now() - begin;
  response.latency_ms =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(spent).count());
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  response.status = status;
  if (code != CURLE_OK) explain(code, response);
  if (response.cancelled) response.error = "cancelled";
  if (response.status >= 300 && response.status < 400) {
    response.error = "the server redirects; redirects are not followed, set 'base_url' to the final address";
    response.permanent = true;
  }
  return response;
}

}  // namespace zomboss::policies::llm
