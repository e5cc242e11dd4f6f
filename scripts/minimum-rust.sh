#!/usr/bin/env bash
# Checks that the workspace builds with the oldest Rust that Cargo.toml states (rust-version), by rustup's toolchain of that version.
# --if-possible: says what is missing instead of installing it, and passes.
set -euo pipefail
. "$(dirname "$0")/common.sh"
wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
have=$(rustc --version | cut -d' ' -f2)
if [ "${1:-}" = --if-possible ] && [[ $have == "$wanted".* ]]; then
  echo "minimum Rust: $have, which everything else here is checked with"
  exit 0
fi
skip() { echo "minimum Rust: SKIPPED: $1" >&2; exit 0; }
command -v rustup >/dev/null || skip "no rustup here to get Rust $wanted by"
toolchain=$(rustup toolchain list | grep -oE "^$wanted(\.[0-9]+)?-[a-z0-9_-]+" | head -n 1 || true)
if [ -z "$toolchain" ]; then
  [ "${1:-}" != --if-possible ] || skip "no toolchain $wanted here (make minimum-rust installs it)"
  rustup toolchain install --profile minimal "$wanted" >&2
  toolchain=$wanted
fi
scripts/setup.sh build
# A folder of its own: the artefacts of two compilers do not mix, and would replace each other's.
RUSTUP_TOOLCHAIN=$toolchain CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/minimum-rust" cargo check --locked --workspace --all-targets --profile quick
echo "minimum Rust: builds with $toolchain"
