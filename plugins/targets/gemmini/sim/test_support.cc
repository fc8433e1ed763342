#include "plugins/targets/gemmini/sim/test_support.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace zomboss::gemmini::testing {

Machine default_machine(uint32_t dim) {
  return {.dim = dim,
          .scratchpad_banks = 4,
          .scratchpad_rows = 16384,
          .accumulator_banks = 2,
          .accumulator_rows = 1024,
          .max_move_bytes = std::max(64u, 4 * dim),
          .load_states = 3,
          .load_entries = 8,
          .execute_entries = 16,
          .store_entries = 4};
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<uint8_t> read_gzip(const std::string& path) {
  std::vector<uint8_t> bytes;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return bytes;
  uint8_t buffer[65536];
  for (int count = 0; (count = gzread(file, buffer, sizeof buffer)) > 0;) {
    bytes.insert(bytes.end(), buffer, buffer + count);
  }
  gzclose(file);
  return bytes;
}

std::vector<Command> parse_trace(const std::string& text) {
  std::vector<Command> commands;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    Command command;
    if (fields >> command.funct >> std::hex >> command.rs1 >> command.rs2) commands.push_back(command);
  }
  return commands;
}

std::vector<Command> read_trace(const std::string& path) {
  const std::vector<uint8_t> bytes = read_gzip(path);
  return parse_trace({bytes.begin(), bytes.end()});
}

std::vector<std::string> list_folder(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

int64_t json_integer(const std::string& text, const std::string& key, int64_t fallback) {
  const std::string quoted = "\"" + key + "\":";
  const size_t at = text.find(quoted);
  if (at == std::string::npos) return fallback;
  const char* begin = text.c_str() + at + quoted.size();
  while (*begin == ' ' || *begin == '"') ++begin;
  char* end = nullptr;
  const long long value = std::strtoll(begin, &end, 0);
  return end == begin ? fallback : value;
}

Vector read_vector(const std::string& folder, const std::string& name) {
  const std::string path = folder + "/" + name + "/";
  Vector vector;
  vector.name = name;
  vector.meta = read_text(path + "meta.json");
  vector.commands = read_trace(path + "trace.txt");
  vector.expanded = read_trace(path + "expanded.txt.gz");
  vector.dram_base = static_cast<uint64_t>(json_integer(vector.meta, "dram_base", 0));
  vector.dram_init = read_gzip(path + "dram_init.bin.gz");
  vector.dram_final = read_gzip(path + "dram_final.bin.gz");
  vector.scratchpad_final = read_gzip(path + "spad_final.bin.gz");
  vector.accumulator_final = read_gzip(path + "acc_final.bin.gz");
  return vector;
}

std::vector<std::map<std::string, std::string>> read_tsv(const std::string& path) {
  std::ifstream file(path);
  const auto split = [](const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '\t');) cells.push_back(cell);
    return cells;
  };
  std::string line;
  if (!std::getline(file, line)) return {};
  const std::vector<std::string> header = split(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line);
    std::map<std::string, std::string>& row = rows.emplace_back();
    for (size_t n = 0; n < std::min(header.size(), cells.size()); ++n) row[header[n]] = cells[n];
  }
  return rows;
}

}  // namespace zomboss::gemmini::testing
