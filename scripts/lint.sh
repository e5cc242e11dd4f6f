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
# With the features of everything else, so that nothing is built twice.
cargo test --locked --workspace --features tidewire-cli/parquet --profile quick --test house
scripts/package.sh
scripts/semver.sh --if-possible
scripts/minimum-rust.sh --if-possible
scripts/deny.sh --if-possible
echo "lint: passed"
