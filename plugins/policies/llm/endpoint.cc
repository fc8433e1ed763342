#include "plugins/policies/llm/endpoint.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "plugins/policies/llm/json_text.h"

namespace zomboss::policies::llm {
namespace {

constexpr size_t kKeyBytes = 16 * 1024;

std::string trimmed(std::string text) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && space(text.back())) text.pop_back();
  size_t begin = 0;
  while (begin < text.size() && space(text[begin])) ++begin;
  return text.substr(begin);
}

bool header_safe(const std::string& value) {
  return std::none_of(value.begin(), value.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; });
}

Result<std::string> key_from_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed_precondition("policy llm: the file of option 'api_key_file' cannot be opened");
  struct stat info {};
  std::string text(kKeyBytes, '\0');
  const bool known = ::fstat(file, &info) == 0;
  const ssize_t size = known ? ::read(file, text.data(), text.size()) : -1;
  ::close(file);
  if (!known || size < 0 || !S_ISREG(info.st_mode))
    return failed_precondition("policy llm: the file of option 'api_key_file' cannot be read");
  if ((info.st_mode & 077) != 0)
    return failed_precondition(
        "policy llm: the file of option 'api_key_file' may be read by others; make its mode 0600");
  text.resize(static_cast<size_t>(size));
  text = trimmed(text);
  if (text.empty()) return failed_precondition("policy llm: the file of option 'api_key_file' is empty");
  return text;
}

// Empty when none is configured, or when it is unset and the server is on this machine.
Result<std::string> read_key(const LlmOptions& options, bool loopback) {
  std::string key;
  if (!options.api_key_file.empty()) {
    ZB_ASSIGN(key, key_from_file(options.api_key_file));
  } else if (!options.api_key_env.empty()) {
    const char* value = std::getenv(options.api_key_env.c_str());
    key = trimmed(value == nullptr ? "" : value);
    if (key.empty() && !loopback)
      return failed_precondition("policy llm: the environment variable of option 'api_key_env', " +
                                 options.api_key_env + ", is not set");
  }
  if (!header_safe(key)) return failed_precondition("policy llm: the API key holds control characters");
  return key;
}

struct Url {
  std::string scheme, host;
  bool credentials = false;
};

Result<Url> take_apart(const std::string& text) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> handle(curl_url(), curl_url_cleanup);
  if (handle == nullptr || curl_url_set(handle.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK)
    return invalid_argument(
        "policy llm: option 'base_url' is no URL; expected e.g. http://127.0.0.1:8080/v1");
  const auto part = [&](CURLUPart which) {
    char* value = nullptr;
    std::string result;
    if (curl_url_get(handle.get(), which, &value, 0) == CURLUE_OK && value != nullptr) result = value;
    curl_free(value);
    return result;
  };
  Url url{part(CURLUPART_SCHEME), part(CURLUPART_HOST), false};
  url.credentials = !part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty();
  if (url.scheme != "http" && url.scheme != "https")
    return invalid_argument("policy llm: option 'base_url' must start with http:// or https://");
  if (url.credentials || !part(CURLUPART_QUERY).empty() || !part(CURLUPART_FRAGMENT).empty())
    return invalid_argument(
        "policy llm: option 'base_url' must not hold a user, a query or a fragment; keys go through "
        "'api_key_env'");
  return url;
}

bool is_loopback(const std::string& host) {
  if (host == "localhost" || host == "[::1]" || host == "::1") return true;
  // 127.a.b.c, numbers alone: "127.0.0.1.example.org" is another machine.
  return host.rfind("127.", 0) == 0 && host.find_first_not_of("0123456789.") == std::string::npos;
}

// "Name:VARIABLE, Name:VARIABLE".
Status add_headers(const std::string& list, Endpoint& endpoint) {
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string item = trimmed(list.substr(begin, end - begin));
    begin = end + 1;
    if (item.empty()) continue;
    const size_t colon = item.find(':');
    const std::string name = trimmed(item.substr(0, colon));
    const std::string variable = colon == std::string::npos ? "" : trimmed(item.substr(colon + 1));
    const bool good =
        name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
        std::string::npos;
    if (name.empty() || !good || variable.empty())
      return invalid_argument(
          "policy llm: option 'headers' must be a list of Name:ENVIRONMENT_VARIABLE, separated by commas");
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || !header_safe(value))
      return failed_precondition("policy llm: the environment variable " + variable +
                                 " of option 'headers' is not set, or holds control characters");
    endpoint.headers.push_back(name + ": " + value);
    endpoint.secrets.add(value);
  }
  return {};
}

}  // namespace

void Secrets::add(std::string secret) {
  if (secret.size() < 4) return;  // would redact half of any text, and is no secret
  const std::string quoted = canonical(Json(secret));
  const std::string inner = quoted.substr(1, quoted.size() - 2);
  if (inner != secret) secrets_.push_back(inner);
  secrets_.push_back(std::move(secret));
}

std::string Secrets::redact(std::string text) const {
  constexpr std::string_view kMark = "[redacted]";
  for (const std::string& secret : secrets_) {
    for (size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + kMark.size()))
      text.replace(at, secret.size(), kMark);
  }
  return text;
}

std::string chat_url(std::string base_url) {
  constexpr std::string_view kTail = "/chat/completions";
  while (!base_url.empty() && base_url.back() == '/') base_url.pop_back();
  if (base_url.size() >= kTail.size() && base_url.ends_with(kTail)) return base_url;
  const size_t host = base_url.find("://");
  const bool bare = host != std::string::npos && base_url.find('/', host + 3) == std::string::npos;
  return base_url + (bare ? "/v1" : "") + std::string(kTail);
}

Result<Endpoint> Endpoint::open(const LlmOptions& options) {
  ZB_ASSIGN(const Url url, take_apart(options.base_url));
  Endpoint endpoint;
  endpoint.url = chat_url(options.base_url);
  endpoint.loopback = is_loopback(url.host);
  ZB_ASSIGN(const std::string key, read_key(options, endpoint.loopback));
  ZB_TRY(add_headers(options.headers, endpoint));
  if ((!key.empty() || !endpoint.headers.empty()) && url.scheme == "http" && !endpoint.loopback)
    return failed_precondition(
        "policy llm: an API key is not sent over http:// to another machine; use https:// in 'base_url'");
  endpoint.headers.push_back("Authorization: Bearer " + (key.empty() ? "none" : key));
  endpoint.secrets.add(key);
  return endpoint;
}

}  // namespace zomboss::policies::llm
