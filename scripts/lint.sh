#!/usr/bin/env bash
# Format, lints, documentation and the rules of the house: all warnings are errors.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build
cargo fmt --all --check
scripts/generate.sh --check
cargo clippy --locked --workspace --features tidewire-cli/parquet --all-targets --profile quick -- -D warnings
cargo clippy --locked -p tidewire-cli --no-default-features --profile quick -- -D warnings # what `make demo` builds
RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --features tidewire-cli/parquet --no-deps --document-private-items --profile quick
cargo test --locked --profile quick -p tidewire-lab --test house
scripts/package.sh
scripts/semver.sh --if-possible
scripts/minimum-rust.sh --if-possible
scripts/deny.sh
echo "lint: passed"
