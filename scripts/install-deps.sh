#!/usr/bin/env bash
# Installs the Debian 12 packages that Zomboss builds with, if any is missing. Needs root or sudo for that.
set -euo pipefail

packages=(
  build-essential cmake ninja-build ccache python3
  libboost-dev libboost-filesystem-dev libz3-dev libflatbuffers-dev flatbuffers-compiler flatbuffers-compiler-dev
  libtomlplusplus-dev libfmt-dev libcli11-dev nlohmann-json3-dev libxxhash-dev libssl-dev zlib1g-dev
  libsqlite3-dev libcurl4-openssl-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)
if [[ "${1:-}" == "--developer" ]]; then
  # Second compiler, style tools, a browser for the report tests, compiler and emulator for exported kernels.
  packages+=(clang clang-format clang-tidy chromium gcc-riscv64-unknown-elf qemu-user)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q "install ok installed" || missing+=("$package")
done
if [[ ${#missing[@]} -eq 0 ]]; then
  exit 0
fi
echo "zomboss: installing Debian packages: ${missing[*]}"
as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "zomboss: these packages are missing and sudo is not there; install them as root" >&2; exit 2; }
  as_root=(sudo)
fi
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
