#!/bin/sh
# Installs the compilers, emulators and network tools that the tests use, where this user may; elsewhere it says which are missing, and the tests that need them skip.
set -u
packages="gcc g++ clang lld libc6-dev qemu-user qemu-system-arm libsimde-dev cmake make valgrind binutils
  gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross
  gcc-arm-linux-gnueabihf g++-arm-linux-gnueabihf libc6-dev-armhf-cross
  gcc-riscv64-linux-gnu g++-riscv64-linux-gnu libc6-dev-riscv64-cross
  gobjc glslang-tools glslc spirv-tools mesa-vulkan-drivers vulkan-validationlayers libvulkan1 libvulkan-dev
  openssh-server openssh-client busybox iproute2 iptables adb chromium faketime pkg-config nodejs node-typescript wasi-libc
  libclang-rt-14-dev libclang-rt-14-dev-wasm32
  zsh fish"
command -v npm >/dev/null 2>&1 || packages="$packages npm" # nodejs from elsewhere than Debian brings it
{ command -v java && command -v javac; } >/dev/null 2>&1 || packages="$packages openjdk-17-jdk-headless"
if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "tests/setup.sh installs nothing here: it knows Debian's packages only"
  exit 0
fi
missing=""
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ]; then as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then as_root="sudo"
else
  echo "Some tests will be skipped, because only root can install what they need:"
  echo "  sudo apt-get install$missing"
  exit 0
fi
echo "installing for the tests:$missing"
$as_root sh -c 'DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND
  apt-get update -qq >/dev/null && apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1' install $missing ||
  echo "could not install all of them; the tests that need them will be skipped"
exit 0
