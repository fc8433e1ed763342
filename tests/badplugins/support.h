// Shared by the tests of this folder.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "host/loader/loader.h"

namespace zomboss::badplugins {

inline const std::string kPlugins = ZB_BINARY_DIR "/tests/badplugins";

// A folder of its own for one test, removed afterwards.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path().string() + "/zomboss-test-XXXXXX";
    path_ = std::filesystem::canonical(::mkdtemp(name.data())).string();
    ::chmod(path_.c_str(), 0755);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(*this / name, std::ios::binary) << text;
    ::chmod((*this / name).c_str(), 0644);
  }
  // The good plugin, as plugin `id`.
  void copy_good() const {
    for (const char* name : {"good.so", "good.plugin.toml"}) {
      std::filesystem::copy_file(kPlugins + "/" + name, *this / name);
      ::chmod((*this / name).c_str(), 0644);
    }
  }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// `text` with the folder replaced by $DIR.
inline std::string without_folder(std::string text, const std::string& folder) {
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at))
    text.replace(at, folder.size(), "$DIR");
  return text;
}

inline std::string load_message(loader::Loader& loader, const std::string& folder, std::string_view id,
                                loader::Kind kind = loader::Kind::kPolicy) {
  const auto plugin = loader.load(id, kind);
  return plugin.ok() ? "loaded" : without_folder(plugin.status().message(), folder);
}
inline std::string load_message(const std::string& folder, std::string_view id,
                                loader::Kind kind = loader::Kind::kPolicy) {
  loader::Loader loader({loader::search_path_of({folder}), {}});
  return load_message(loader, folder, id, kind);
}

}  // namespace zomboss::badplugins
