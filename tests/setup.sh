#!/bin/sh
# Installs the compilers and emulators that the tests use, where this user may; tests say by name what they miss elsewhere.
set -u
packages="gcc g++ clang libc6-dev qemu-user libsimde-dev cmake valgrind binutils
  gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross
  gcc-arm-linux-gnueabihf g++-arm-linux-gnueabihf libc6-dev-armhf-cross
  gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"
command -v dpkg-query >/dev/null 2>&1 || exit 0
missing=""
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ]; then as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then as_root="sudo"
else echo "not installed (no root):$missing"; exit 0; fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends $missing >/dev/null || echo "could not install:$missing"
exit 0
