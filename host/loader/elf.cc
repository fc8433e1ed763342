#include "host/loader/elf.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace zomboss::loader {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr uint16_t kMachine = EM_RISCV;
#else
#error "add the ELF machine number of this processor"
#endif
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
constexpr unsigned char kByteOrder = ELFDATA2LSB;
#else
constexpr unsigned char kByteOrder = ELFDATA2MSB;
#endif
static_assert(sizeof(void*) == 8, "version 1 of the ABI is LP64");

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_386:
      return "x86";
    case EM_AARCH64:
      return "AArch64";
    case EM_ARM:
      return "ARM";
    case EM_RISCV:
      return "RISC-V";
    default:
      return fmt::format("ELF machine {}", machine);
  }
}

bool inside(std::string_view bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

// The struct at `offset`, copied since the file need not be aligned.
template <typename T>
std::optional<T> read_at(std::string_view bytes, uint64_t offset) {
  if (!inside(bytes, offset, sizeof(T))) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

ElfReport problem(Refusal refusal, std::string text) {
  return {refusal, std::move(text), {}};
}
ElfReport damaged(std::string text) {
  return problem(Refusal::kNotSharedObject, "the file is a damaged shared object: " + std::move(text));
}

std::optional<ElfReport> identity_problem(std::string_view bytes) {
  if (bytes.substr(0, SELFMAG) != std::string_view(ELFMAG, SELFMAG))
    return problem(Refusal::kNotSharedObject, "the file is not a shared object (no ELF header)");
  if (bytes.size() < EI_NIDENT) return damaged(fmt::format("it ends after {} bytes", bytes.size()));
  if (bytes[EI_CLASS] != ELFCLASS64)
    return problem(Refusal::kWrongMachine, "the file is a 32-bit library, this program is 64-bit");
  if (static_cast<unsigned char>(bytes[EI_DATA]) != kByteOrder)
    return problem(Refusal::kWrongMachine, "the file has the other byte order than this machine");
  return std::nullopt;
}

// The kernel maps what lies outside of the file as memory that kills the process when touched.
bool segments_inside(std::string_view bytes, const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment || (segment->p_type == PT_LOAD && !inside(bytes, segment->p_offset, segment->p_filesz)))
      return false;
  }
  return true;
}

// All names of .dynsym that a dlsym could find, or the damage.
ElfReport read_exports(std::string_view bytes, const Elf64_Shdr& symbols, const Elf64_Shdr& strings) {
  if (!inside(bytes, symbols.sh_offset, symbols.sh_size) ||
      !inside(bytes, strings.sh_offset, strings.sh_size))
    return damaged("its symbol table lies outside of the file");
  const std::string_view names = bytes.substr(strings.sh_offset, strings.sh_size);
  ElfReport report;
  for (uint64_t i = 0; i < symbols.sh_size / sizeof(Elf64_Sym); ++i) {
    const auto symbol = *read_at<Elf64_Sym>(bytes, symbols.sh_offset + i * sizeof(Elf64_Sym));
    const unsigned visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL || symbol.st_shndx == SHN_UNDEF) continue;
    if (visibility != STV_DEFAULT && visibility != STV_PROTECTED) continue;
    const size_t end = names.find('\0', symbol.st_name);
    if (symbol.st_name >= names.size() || end == std::string_view::npos)
      return damaged("a symbol name lies outside of its string table");
    report.exports.emplace_back(names.substr(symbol.st_name, std::min<size_t>(end - symbol.st_name, 256)));
  }
  return report;
}

}  // namespace

ElfReport inspect_elf(std::string_view bytes) {
  if (auto report = identity_problem(bytes)) return *report;
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  if (!header) return damaged(fmt::format("it ends after {} bytes", bytes.size()));
  if (header->e_machine != kMachine)
    return problem(Refusal::kWrongMachine,
                   fmt::format("the file is for {}, this program is for {}", machine_name(header->e_machine),
                               machine_name(kMachine)));
  if (header->e_type != ET_DYN)
    return problem(Refusal::kNotSharedObject, "the file is an ELF object or program, not a shared object");
  if (header->e_shentsize != sizeof(Elf64_Shdr)) return damaged("it has no section table");
  const auto section = [&](uint64_t index) {
    return read_at<Elf64_Shdr>(bytes, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  if (!inside(bytes, header->e_shoff, uint64_t{header->e_shnum} * sizeof(Elf64_Shdr)))
    return damaged(fmt::format("its section table lies outside of the {} bytes of the file", bytes.size()));
  if (!segments_inside(bytes, *header))
    return damaged(fmt::format("a segment lies outside of the {} bytes of the file", bytes.size()));
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const Elf64_Shdr symbols = *section(i);
    if (symbols.sh_type != SHT_DYNSYM) continue;
    if (symbols.sh_entsize != sizeof(Elf64_Sym) || symbols.sh_link >= header->e_shnum)
      return damaged("its symbol table is malformed");
    return read_exports(bytes, symbols, *section(symbols.sh_link));
  }
  return damaged("it has no dynamic symbol table");
}

}  // namespace zomboss::loader
