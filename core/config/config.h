// The resolved configuration. Precedence, low to high: built-in defaults, /etc/zomboss/config.toml,
// $XDG_CONFIG_HOME/zomboss/config.toml, ./zomboss.toml, --config FILE, ZB_* environment, --set key=value, and
// the dedicated flags of a command. Sections [target.ID] and [policy.ID] hold a plugin's own options, and
// [target.ID.params] overrides of its TAIDL parameters; those are checked by the plugin and by the TAIDL
// loader.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/source.h"
#include "zomboss/sdk/message.h"

namespace zomboss::config {

struct OptionInfo {
  std::string key, type, default_value, doc;
};
// The rows of options.inc.
const std::vector<OptionInfo>& option_table();

class Config {
 public:
  using Environment = std::function<std::optional<std::string>(const std::string& name)>;

  // Built-in defaults only.
  Config();

  // Each layer overrides what stands there. All problems of one layer are reported together.
  Status add_file(const std::string& path);  // must exist
  Status add_file_if_present(const std::string& path);
  Status add_environment(const Environment& get);  // ZB_SEARCH_SEED for search.seed
  // "key=value"; `origin` names it in `origin()`: "--set" or a flag such as "--seed".
  Status add_setting(const std::string& assignment, const std::string& origin);

  // The key must be in options.inc with that type.
  int64_t integer(const std::string& key) const;
  double number(const std::string& key) const;
  const std::string& text(const std::string& key) const;
  std::vector<std::string> texts(const std::string& key) const;
  const std::string& origin(const std::string& key) const;  // "built-in", "zomboss.toml:3:1", "--set", ...

  // [target.ID] / [policy.ID] as the plugin gets it, keys sorted; and [target.ID.params].
  wire::OptionsT plugin_options(const std::string& kind, const std::string& id) const;
  std::map<std::string, int64_t> target_params(const std::string& id) const;

  // All values with origins, plugin sections included, sorted by key: (key, value, origin).
  std::vector<std::array<std::string, 3>> all() const;

 private:
  struct Value {
    std::string text;
    std::string origin;
    std::vector<std::string> list;
  };
  Status set_option(const std::string& key, Value value);
  Status set_plugin_option(const std::string& key, Value value);
  Status read(const Source& source);

  std::map<std::string, Value> values_;   // keys of options.inc
  std::map<std::string, Value> plugins_;  // "target.gemmini.latency" -> value
};

// The layers of files and environment that every command reads, in order. `config_file` is --config or empty.
Result<Config> load_config(const std::string& config_file, const Config::Environment& get);

}  // namespace zomboss::config
