#!/usr/bin/env bash
# Peers and Tidewire listening in turn to the same traffic, over a cable in network namespaces of their own: loss by place,
# CPU of process and soft interrupts, rates held, system calls. Writes target/bench-live/bench-live.md, .json and .svg plots.
# DOCS=1: put the figures of this run into docs/bench-live.md.
# QUICK=1: few and short measurements, under four minutes. ROWS="cutoff work": only these rows (and ten-million, which is not measured
# else: ten minutes for 10^7 streams at once). THREADED=1: frames are received
# in a thread of the kernel on the core of the program under test, not on the generator's core. Needs root and two cores.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build bench

if [ "$(id -u)" -ne 0 ]; then
  echo "bench-live: skipped: network namespaces, XDP and packet sockets need root" >&2; exit 0
fi
if [ "$(nproc)" -lt 2 ]; then
  echo "bench-live: skipped: the generator and what is measured need a core each, and there is one" >&2; exit 0
fi
target=${CARGO_TARGET_DIR:-target}
cargo build --locked --release -p tidewire-cli
cargo build --locked --release -p tidewire-bench --features nids

options=(--output "$target/bench-live" --programs "$target/release")
[ "${QUICK:-0}" = 0 ] || options+=(--quick)
[ "${THREADED:-0}" = 0 ] || options+=(--threaded)
read -ra rows <<<"${ROWS:-}"
"$target/release/tidewire-bench" live "${options[@]}" "${rows[@]}"
echo "written: $target/bench-live/bench-live.md, bench-live.json and plots"
[ "${DOCS:-0}" = 0 ] || publish_figures bench-live "$target/bench-live/bench-live.md" "##"
