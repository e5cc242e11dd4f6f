#!/usr/bin/env bash
# What exports cost: CPU seconds of `tidewire flows` for each format against JSON, over a capture of many short connections that is made
# here (FLOWS, default 100,000: DNS queries, HTTP requests, TLS hellos and plain TCP); with protocol fields and without; a run that
# writes nothing is the floor, and what a format adds to it its writing. The encoders alone, over streams in memory (example encode_speed). Captures given as arguments are measured with protocol fields and
# without. nfstream (Python package 6.6) and Suricata (SURICATA: its program, else what the PATH has) are peers where they are found;
# Suricata reads captures given as arguments, too. Median of RUNS (5).
# Writes target/bench-exports/bench-exports.md. QUICK=1: 20,000 flows, 3 runs. FEATURES=: without Parquet and Arrow.
set -euo pipefail
. "$(dirname "$0")/common.sh"
flows=${FLOWS:-100000} runs=${RUNS:-5}
[ "${QUICK:-0}" = 0 ] || { flows=20000; runs=3; }
target=${CARGO_TARGET_DIR:-target}
features=${FEATURES-parquet}
if [ -z "${TIDEWIRE:-}" ]; then
  scripts/setup.sh build
  cargo build --locked --release -p tidewire-cli --features "$features"
  cargo build --locked --release -p tidewire-exports --features "$features" --example encode_speed
  export ENCODER=${ENCODER:-$target/release/examples/encode_speed}
fi
program=${TIDEWIRE:-$target/release/tidewire}
command -v python3 >/dev/null || { echo "bench-exports: skipped: python3 makes the capture and measures" >&2; exit 0; }
output=$target/bench-exports
mkdir -p "$output"
place=/dev/shm
[ -d "$place" ] || place=/tmp
folder=$(mktemp -d "$place/tidewire-bench-exports.XXXXXX")
trap 'rm -rf "$folder"' EXIT
python3 scripts/bench-exports.py make "$folder/flows.pcap" "$flows"
python3 scripts/bench-exports.py measure "$program" "$folder" "$flows" "$runs" "$@" | tee "$output/bench-exports.md"
TIDEWIRE=$program scripts/bench-exports-live.sh | tee -a "$output/bench-exports.md"
echo "written: $output/bench-exports.md"
