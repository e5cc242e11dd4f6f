#!/usr/bin/env bash
# Programs as they are over the system's libpcap and over the drop-in one, alone and as 1, 2 and 4 instances that share their
# packets: loss by place and CPU; what the library costs where nothing is asked of it; and what locality saves them. Writes
# target/bench-pcap/bench-pcap.md and .svg plots. Then what the order of packets does to applications with large tables:
# locality.md there. QUICK=1: few and short measurements. ROWS="capture shim misses": only these rows.
# Needs root and two cores.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build bench

if [ "$(id -u)" -ne 0 ]; then
  echo "bench-pcap: skipped: network namespaces, XDP and packet sockets need root" >&2; exit 0
fi
if [ "$(nproc)" -lt 2 ]; then
  echo "bench-pcap: skipped: the generator and what is measured need a core each, and there is one" >&2; exit 0
fi
target=${CARGO_TARGET_DIR:-target}
cargo build --locked --release -p tidewire-pcap
cargo build --locked --release -p tidewire-bench
mkdir -p "$target/bench-pcap"
gcc -O2 -Wall -o "$target/bench-pcap/ndpi-loop" crates/tidewire-bench/peers/ndpi.c -lndpi -lpcap

options=(--output "$target/bench-pcap" --programs "$target/release" --ndpi "$target/bench-pcap/ndpi-loop")
[ "${QUICK:-0}" = 0 ] || options+=(--quick)
captures=../shared/corpus/captures
[ ! -d "$captures" ] || options+=(--captures "$captures")
read -ra rows <<<"${ROWS:-}"
"$target/release/tidewire-bench" pcap "${options[@]}" "${rows[@]}"
options=(--output "$target/bench-pcap")
[ "${QUICK:-0}" = 0 ] || options+=(--quick)
taskset -c 1 "$target/release/tidewire-bench" locality "${options[@]}" "${rows[@]}"
echo "written: $target/bench-pcap/bench-pcap.md, locality.md and plots"
