#!/usr/bin/env bash
# Content that a stranger makes dear (names by pointers, lines of one byte, handshakes without end) against benign content of the
# same shape: instructions of a packet in each command and format, their ratio, and whether they grow with the length of the
# input. Writes target/bench-hostile/bench-hostile.md; fails if a row is beyond its bound (8 times). QUICK=1: small captures and
# three commands. TIME=1: CPU time instead of instructions, an estimate in a fraction of the time.
# ROWS="dns http": only rows whose names contain one of these.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build bench
target=${CARGO_TARGET_DIR:-target}
profile=${PROFILE:-release}
cargo build --locked --profile "$profile" -p tidewire-cli --features parquet
cargo build --locked -p tidewire-bench
mkdir -p "$target/bench-hostile"
# Callgrind reads symbols at each start, for seconds.
strip -o "$target/bench-hostile/tidewire" "$target/$profile/tidewire"
options=(--output "$target/bench-hostile" --program "$target/bench-hostile/tidewire")
[ "${QUICK:-0}" = 0 ] || options+=(--quick)
[ "${TIME:-0}" = 0 ] || options+=(--time)
read -ra rows <<<"${ROWS:-}"
status=0
"$target/debug/tidewire-bench" hostile "${options[@]}" "${rows[@]}" >"$target/bench-hostile/bench-hostile.md" || status=$?
cat "$target/bench-hostile/bench-hostile.md"
echo "written: $target/bench-hostile/bench-hostile.md"
exit "$status"
