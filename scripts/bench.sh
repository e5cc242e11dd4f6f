#!/usr/bin/env bash
# Peers and Tidewire in turn in one run: CPU seconds, packets and bits per CPU second, peak memory, ratios, goals.
# Writes target/bench/bench.md and bench.json. Traces are made in TIDEWIRE_BENCH_DIR (default: /dev/shm/tidewire-bench)
# and removed at the end unless KEEP=1. QUICK=1: small traces, under three minutes. ROWS="big match": only these rows.
# RUNS: measured runs of each program (default 3). Recording needs root; without it the rows that need no recording run.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build bench
[ "$(id -u)" -ne 0 ] || scripts/setup.sh lab

quick=${QUICK:-0}
name=tidewire-bench
[ "$quick" = 0 ] || name=tidewire-bench-quick
default=/dev/shm/$name
[ -d /dev/shm ] || default=/tmp/$name
folder=${TIDEWIRE_BENCH_DIR:-$default}
target=${CARGO_TARGET_DIR:-target}

cargo build --locked --release -p tidewire-cli
cargo build --locked --release -p tidewire-bench --features nids
mkdir -p "$target/bench"
gcc -O2 -Wall -o "$target/bench/floor" crates/tidewire-bench/peers/floor.c

[ "${KEEP:-0}" != 0 ] || trap 'rm -rf "$folder"' EXIT
options=(--folder "$folder" --record scripts/record.sh)
[ "$quick" = 0 ] || options+=(--quick)
"$target/release/tidewire-bench" traces "${options[@]}"
options+=(--output "$target/bench" --programs "$target/release" --floor "$target/bench/floor")
options+=(--runs "${RUNS:-3}")
read -ra rows <<<"${ROWS:-}"
"$target/release/tidewire-bench" files "${options[@]}" "${rows[@]}"
echo "written: $target/bench/bench.md, $target/bench/bench.json"
