// The options of a policy: each has a name, a range and a default; anything else is an error that lists what
// there is.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "zomboss/sdk/message.h"
#include "zomboss/sdk/status.h"

namespace zomboss::policies {

class OptionReader {
 public:
  OptionReader(std::string policy, const wire::OptionsT& options)
      : policy_(std::move(policy)), options_(options) {}

  // A whole number of low..high; keeps `value` when the option is not given. Of ints, or digits given as text
  // alone (options.fbs says what the host fills in).
  Status integer(const char* name, int64_t low, int64_t high, int64_t& value) {
    const wire::AttributeT* option = find(name);
    if (option == nullptr) return {};
    bool good = option->ints.size() == 1;
    int64_t number = good ? option->ints[0] : 0;
    if (option->ints.empty() && option->floats.empty()) {
      const char* end = option->text.data() + option->text.size();
      const auto [stop, error] = std::from_chars(option->text.data(), end, number);
      good = error == std::errc() && stop == end;
    }
    if (!good || number < low || number > high)
      return bad(name, "must be a whole number of " + std::to_string(low) + ".." + std::to_string(high));
    value = number;
    return {};
  }

  // A number of low..high; keeps `value` when the option is not given.
  Status real(const char* name, double low, double high, double& value) {
    const wire::AttributeT* option = find(name);
    if (option == nullptr) return {};
    bool good = option->floats.size() == 1 || option->ints.size() == 1;
    double number = !option->floats.empty() ? option->floats[0]
                    : !option->ints.empty() ? static_cast<double>(option->ints[0])
                                            : 0;
    if (option->ints.empty() && option->floats.empty()) {
      const char* end = option->text.data() + option->text.size();
      const auto [stop, error] = std::from_chars(option->text.data(), end, number);
      good = error == std::errc() && stop == end;
    }
    if (!good || !(number >= low && number <= high))
      return bad(name, "must be a number of " + short_text(low) + ".." + short_text(high));
    value = number;
    return {};
  }

  // Any text; keeps `value` when the option is not given.
  Status text(const char* name, std::string& value) {
    const wire::AttributeT* option = find(name);
    if (option != nullptr) value = option->text;
    return {};
  }

  // A number of low..high; of floats, or ints, or text alone.
  Status number(const char* name, double low, double high, double& value) {
    const wire::AttributeT* option = find(name);
    if (option == nullptr) return {};
    bool good = option->ints.size() + option->floats.size() == 1;
    double number = 0;
    if (good) {
      number = option->floats.empty() ? static_cast<double>(option->ints[0]) : option->floats[0];
    } else if (option->ints.empty() && option->floats.empty()) {
      const char* end = option->text.data() + option->text.size();
      const auto [stop, error] = std::from_chars(option->text.data(), end, number);
      good = error == std::errc() && stop == end;
    }
    if (!good || !(number >= low && number <= high))
      return bad(name, "must be a number of " + shortest(low) + ".." + shortest(high));
    value = number;
    return {};
  }

  // One of the words.
  Status word(const char* name, const std::vector<std::string>& words, std::string& value) {
    const wire::AttributeT* option = find(name);
    if (option == nullptr) return {};
    if (!option->ints.empty() || !option->floats.empty() ||
        std::find(words.begin(), words.end(), option->text) == words.end())
      return bad(name, "must be one of: " + join(words));
    value = option->text;
    return {};
  }

  // Ok when every given option was asked for above, once.
  Status finish() const {
    for (size_t i = 0; i < options_.values.size(); ++i) {
      const std::string& key = options_.values[i]->key;
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        return invalid_argument("policy " + policy_ + " has no option '" + key +
                                "'; its options: " + join(known_));
      for (size_t j = 0; j < i; ++j)
        if (options_.values[j]->key == key)
          return invalid_argument("policy " + policy_ + ": option '" + key + "' is given twice");
    }
    return {};
  }

 private:
  static std::string join(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
    return out.empty() ? "none" : out;
  }
  static std::string short_text(double number) {
    char digits[32];
    return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
  }
  static std::string shortest(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
  }
  Status bad(const char* name, const std::string& rule) const {
    return invalid_argument("policy " + policy_ + ": option '" + name + "' " + rule);
  }
  const wire::AttributeT* find(const char* name) {
    known_.emplace_back(name);
    for (const auto& value : options_.values)
      if (value->key == name) return value.get();
    return nullptr;
  }

  std::string policy_;
  const wire::OptionsT& options_;
  std::vector<std::string> known_;
};

}  // namespace zomboss::policies
