#include "plugins/targets/plena/sim/tests/vectors.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

#include "core/config/toml_reader.h"

namespace zomboss::plena::testing {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Bytes read_bytes(const std::string& path) {
  if (!std::filesystem::exists(path)) return {};
  const std::string text = read_text(path);
  return {text.begin(), text.end()};
}

uint64_t little_endian(const Bytes& bytes, size_t at) {
  uint64_t value = 0;
  for (size_t n = 0; n < 8; ++n) value |= uint64_t{bytes.at(at + n)} << (8 * n);
  return value;
}

std::vector<SparseRecord> read_sparse(const std::string& path) {
  const Bytes bytes = read_bytes(path);
  std::vector<SparseRecord> records;
  for (size_t at = 0; at < bytes.size();) {
    const uint64_t size = little_endian(bytes, at + 8);
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(at + 16);
    records.push_back({little_endian(bytes, at), Bytes(first, first + static_cast<std::ptrdiff_t>(size))});
    at += 16 + size;
  }
  return records;
}

// The text after `"key": ` up to the end of the line, without quotes and comma; "" when the key is absent.
std::string json_field(const std::string& json, const std::string& key) {
  const std::string start = "\"" + key + "\": ";
  const size_t at = json.find(start);
  if (at == std::string::npos) return "";
  std::string value = json.substr(at + start.size(), json.find('\n', at) - at - start.size());
  value.erase(
      std::remove_if(value.begin(), value.end(), [](char c) { return c == '"' || c == ',' || c == '}'; }),
      value.end());
  return value;
}

uint64_t json_number(const std::string& json, const std::string& key) {
  const std::string text = json_field(json, key);
  return text.empty() || text == "null" ? 0 : std::stoull(text);
}

std::vector<std::pair<size_t, uint64_t>> read_trace(const std::string& path) {
  std::vector<std::pair<size_t, uint64_t>> trace;
  if (!std::filesystem::exists(path)) return trace;
  std::istringstream lines(read_text(path));
  size_t pc = 0;
  double time = 0;
  while (lines >> pc >> time) trace.emplace_back(pc, static_cast<uint64_t>(time));
  return trace;
}

void flatten(const toml::table& table, const std::string& prefix, std::map<std::string, SettingValue>& out) {
  for (const auto& [key, node] : table) {
    const std::string path = prefix + std::string(key.str());
    if (const auto* inner = node.as_table()) flatten(*inner, path + ".", out);
    if (const auto* value = node.as_integer()) out.emplace(path, value->get());
    if (const auto* value = node.as_boolean()) out.emplace(path, value->get());
    if (const auto* value = node.as_string()) out.emplace(path, value->get());
  }
}

}  // namespace

Result<Settings> read_settings(const std::string& text, const std::string& name) {
  const toml::table* section = nullptr;
  std::map<std::string, SettingValue> keys;
  const Source source(name, text);
  Diagnostics diagnostics(source);
  const auto table = config::parse_toml(source, diagnostics);
  if (table.has_value()) section = (*table)["TRANSACTIONAL"].as_table();
  if (section == nullptr) return invalid_argument(name + ": no table TRANSACTIONAL");
  flatten(*section, "", keys);
  return settings_from_keys(keys);
}

std::vector<std::string> list_vectors(const std::string& folder) {
  std::vector<std::string> names;
  if (!std::filesystem::is_directory(folder)) return names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (std::filesystem::exists(entry.path() / "result.json")) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Vector read_vector(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name + "/";
  const std::string json = read_text(path + "result.json");
  auto settings = read_settings(read_text(path + "settings.toml"), path + "settings.toml");
  if (!settings.ok()) throw std::runtime_error(settings.status().message());
  Vector vector;
  vector.name = name;
  vector.settings = *settings;
  vector.settings.hbm_bytes = json_number(json, "hbm_size");
  vector.assembly = read_text(path + "program.asm");
  vector.words_text = read_text(path + "program.mem");
  vector.hbm = read_bytes(path + "hbm.bin");
  vector.fp_sram = read_bytes(path + "fpsram.bin");
  vector.int_sram = read_bytes(path + "intsram.bin");
  vector.has_vector_sram = std::filesystem::exists(path + "vram.bin");
  vector.vector_sram = read_bytes(path + "vram.bin");
  vector.aborts = json_number(json, "rc") != 0;
  vector.traced_completely = json_field(json, "trace_complete") == "true";
  vector.latency_ns = json_number(json, "latency_ns");
  vector.instructions = json_number(json, "instructions_executed");
  vector.hbm_read_bytes = json_number(json, "hbm_bytes_read");
  vector.hbm_written_bytes = json_number(json, "hbm_bytes_written");
  vector.trace = read_trace(path + "trace.txt");
  vector.hbm_final = read_sparse(path + "hbm.sparse");
  vector.fp_sram_final = read_sparse(path + "fpsram.sparse");
  vector.int_sram_final = read_sparse(path + "intsram.sparse");
  vector.vector_sram_final = read_sparse(path + "vram.sparse");
  vector.matrix_sram_final = read_sparse(path + "mram.sparse");
  return vector;
}

}  // namespace zomboss::plena::testing
