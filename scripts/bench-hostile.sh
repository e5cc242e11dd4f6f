#!/usr/bin/env bash
# Measures expensive content (names by pointers, lines of one byte, handshakes without end) against benign content of the
# same shape: the instructions that cachegrind counts for a packet in each command and format, their ratio, how they grow with the length
# of the capture, and the bytes of output for each further byte of input. The start of a command counts in no packet. A quarter of an hour of one core.
# Writes target/bench-hostile/bench-hostile.md; fails if a row is beyond a bound: 8 times its benign content, growth by a half, 128 bytes of
# output for one of input. QUICK=1: three commands. TIME=1: CPU time instead of instructions, an estimate: a row is beyond its bound only
# where three runs of both sides leave no doubt, and growth is not judged. ROWS="dns http": only rows whose names contain one of these.
# MINUTES=25: begins no measurement later than that, and says how many are missing. DOCS=1: put the figures of this run into
# docs/bench-hostile.md.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build bench
target=${CARGO_TARGET_DIR:-target}
profile=${PROFILE:-release}
cargo build --locked --profile "$profile" -p tidewire-cli --features parquet
cargo build --locked -p tidewire-bench
mkdir -p "$target/bench-hostile"
# Valgrind reads symbols at each start, for seconds.
strip -o "$target/bench-hostile/tidewire" "$target/$profile/tidewire"
gcc -O2 -Wall -shared -fPIC -o "$target/bench-hostile/fork.so" crates/tidewire-bench/peers/fork.c
options=(--output "$target/bench-hostile" --program "$target/bench-hostile/tidewire" --fork "$target/bench-hostile/fork.so")
[ "${QUICK:-0}" = 0 ] || options+=(--quick)
[ "${TIME:-0}" = 0 ] || options+=(--time)
[ -z "${MINUTES:-}" ] || options+=(--minutes "$MINUTES")
read -ra rows <<<"${ROWS:-}"
status=0
"$target/debug/tidewire-bench" hostile "${options[@]}" "${rows[@]}" >"$target/bench-hostile/bench-hostile.md" || status=$?
cat "$target/bench-hostile/bench-hostile.md"
if [ "${DOCS:-0}" != 0 ]; then
  # Without the table of each command, of more than a thousand lines.
  sed '/^## Each command/,$d' "$target/bench-hostile/bench-hostile.md" >"$target/bench-hostile/greatest.md"
  publish_figures bench-hostile "$target/bench-hostile/greatest.md" "##"
fi
echo "written: $target/bench-hostile/bench-hostile.md"
exit "$status"
