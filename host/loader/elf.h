// What a shared object claims about itself, read without loading it.
//
// Our own reader, because Boost.DLL 1.74's library_info lists .symtab (absent from a stripped library) with
// the last string table of the file, and trusts every size in it. This one reads .dynsym, which is what dlsym
// sees, and checks every offset against the size of the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "host/loader/refusal.h"

namespace zomboss::loader {

struct ElfReport {
  Refusal refusal = Refusal::kNotSharedObject;  // meaningful when `problem` is not empty
  std::string problem;                          // why this process cannot load it, or ""
  std::vector<std::string> exports;             // defined global and weak symbols, in the order of the table
};

// Linear in bytes.size(); any bytes.
ElfReport inspect_elf(std::string_view bytes);

}  // namespace zomboss::loader
