#include "core/taidl/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "core/base/check.h"

namespace zomboss::taidl {

bool Domain::contains(int64_t value) const {
  if (!values.empty()) return std::binary_search(values.begin(), values.end(), value);
  if (value < low || value > high) return false;
  return any ||
         (static_cast<uint64_t>(value) - static_cast<uint64_t>(low)) % static_cast<uint64_t>(step) == 0;
}

uint64_t Domain::size() const {
  if (!values.empty()) return values.size();
  constexpr uint64_t kMost = uint64_t{1} << 63;
  if (any) return kMost;
  const uint64_t steps =
      (static_cast<uint64_t>(high) - static_cast<uint64_t>(low)) / static_cast<uint64_t>(step);
  return steps >= kMost ? kMost : steps + 1;
}

int64_t Domain::at(uint64_t index) const {
  ZB_CHECK(!any && index < size(), "index outside of a domain");
  if (!values.empty()) return values[index];
  return static_cast<int64_t>(static_cast<uint64_t>(low) + index * static_cast<uint64_t>(step));
}

int64_t Domain::last() const {
  return any ? high : at(size() - 1);
}

hlo::DType Format::value_dtype() const {
  return block != 0 ? hlo::DType::F32 : dtype;
}

namespace {

template <typename T>
const T* find_by_name(const std::vector<T>& items, std::string_view name) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const T& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

const Param* Model::find_param(std::string_view name) const {
  return find_by_name(params, name);
}
const Memory* Model::find_memory(std::string_view name) const {
  return find_by_name(memories, name);
}
const Regfile* Model::find_regfile(std::string_view name) const {
  return find_by_name(regfiles, name);
}
const State* Model::find_state(std::string_view name) const {
  return find_by_name(states, name);
}
const Instr* Model::find_instr(std::string_view name) const {
  return find_by_name(instrs, name);
}

Result<std::pair<std::string, int64_t>> parse_override(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return invalid_argument(fmt::format("parameter '{}': expected NAME=INTEGER, for example DIM=32", text));
  const std::string name(text.substr(0, equals));
  std::string_view number = text.substr(equals + 1);
  const std::string_view written = number;
  const bool negative = number.starts_with('-');
  if (negative) number.remove_prefix(1);
  const bool hex = number.starts_with("0x") || number.starts_with("0X");
  if (hex) number.remove_prefix(2);
  int64_t value = 0;
  const bool starts_with_digit = !number.empty() && number[0] != '-';
  const auto [stop, code] =
      std::from_chars(number.data(), number.data() + number.size(), value, hex ? 16 : 10);
  if (code == std::errc::result_out_of_range)
    return invalid_argument(fmt::format("parameter {}: {} does not fit in 64 bits", name, written));
  if (!starts_with_digit || code != std::errc() || stop != number.data() + number.size())
    return invalid_argument(fmt::format("parameter {}: '{}' is not an integer", name, written));
  return std::pair(name, negative ? -value : value);
}

}  // namespace zomboss::taidl
