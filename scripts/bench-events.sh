#!/usr/bin/env bash
# What the event processor does under floods of events from four processes: docs/bench-events.md. Writes target/bench-events/bench-events.md.
# QUICK=1: 3 s a flood instead of 20; not for quoting. ROWS="scan": only floods whose names contain this. TIDEWIRE_BENCH_DIR: where the
# store is made, a disk (default: target/bench-events); the disk's flushes are a part of what is measured.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build

seconds=20
[ "${QUICK:-0}" = 0 ] || seconds=3
target=${CARGO_TARGET_DIR:-target}
profile=${PROFILE:-release}
output=$target/bench-events
mkdir -p "$output"
cargo build --locked --profile "$profile" -p tidewire-sensor --example events_load
cargo build --locked --profile "$profile" -p tidewire-delivery --example spool_speed
{
  echo "$(nproc) processors, load $(cut -d ' ' -f 1-3 /proc/loadavg), Linux $(uname -r)"
  echo
  TIDEWIRE_BENCH_DIR=${TIDEWIRE_BENCH_DIR:-$output} "$target/$profile/examples/events_load" "$seconds" "${ROWS:-}"
  # Spooler and collector together on one processor.
  for how in encrypted plain; do
    echo
    taskset -c 0 "$target/$profile/examples/spool_speed" "${TIDEWIRE_BENCH_DIR:-$output}" $((seconds * 20000)) "$how"
  done
} | tee "$output/bench-events.md"
