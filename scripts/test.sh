#!/usr/bin/env bash
# Every test of the workspace, live ones included (make live runs these alone), then loom's models.
# The seeds of fuzz targets are replayed among them. TEST_FUZZ_SECONDS=5: each target for so long, too, where cargo-fuzz and a nightly
# toolchain are; building them takes longer than all tests.
# Profile `quick`: optimised, with debug assertions and overflow checks, so that whole captures can be run.
# Tests see no programs but those of a fresh machine (scripts/view.sh).
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build test live programs
scripts/setup.sh readers
# With the optional outputs, so that everything is built once.
TIDEWIRE_READERS=$(realpath -m "${CARGO_TARGET_DIR:-target}/readers")
export TIDEWIRE_READERS
view() { scripts/view.sh build test live programs -- "$@"; }
what=(--locked --workspace --features tidewire-cli/parquet --profile quick)
view scripts/suite.sh "${what[@]}"
view cargo test "${what[@]}" --doc
scripts/sanitize.sh --if-possible loom
[ -z "${TEST_FUZZ_SECONDS:-}" ] || FUZZ_SECONDS=$TEST_FUZZ_SECONDS scripts/fuzz.sh --if-possible
echo "test: passed"
