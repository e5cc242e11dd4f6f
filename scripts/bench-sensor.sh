#!/usr/bin/env bash
# What the sensor's queues cost, with peers in the same run (pipe, Unix socket, ZeroMQ, libnids, libpcap), and NCAP's figures.
# Writes target/bench-sensor/bench-sensor.md, .json and .svg plots. QUICK=1: few and short measurements, under four minutes.
# DOCS=1: put the figures of this run into docs/bench-sensor.md. ROWS="queue readers": only rows whose names contain one of these words. KEEP=1: keep the recording of real traffic
# (TIDEWIRE_BENCH_DIR, default /dev/shm/tidewire-bench) for the next run. Rows over interfaces need root and two cores.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build bench
[ "$(id -u)" -ne 0 ] || scripts/setup.sh lab

if [ "$(nproc)" -lt 2 ]; then
  echo "bench-sensor: skipped: the two ends of a queue need a core each, and there is one" >&2; exit 0
fi
quick=${QUICK:-0}
name=tidewire-bench
[ "$quick" = 0 ] || name=tidewire-bench-quick
default=/dev/shm/$name
[ -d /dev/shm ] || default=/tmp/$name
folder=${TIDEWIRE_BENCH_DIR:-$default}
target=${CARGO_TARGET_DIR:-target}
profile=${PROFILE:-release}
mkdir -p "$target/bench-sensor" "$folder"
rm -f "$target"/bench-sensor/*.svg
[ "${KEEP:-0}" != 0 ] || trap 'rm -rf "$folder"' EXIT

cargo build --locked --profile "$profile" -p tidewire-cli
cargo build --locked --profile "$profile" -p tidewire-bench --features nids
gcc -O2 -Wall -DWITH_ZMQ -o "$target/bench-sensor/transport" crates/tidewire-bench/peers/transport.c -lzmq

options=(--output "$target/bench-sensor" --programs "$target/$profile" --transport "$target/bench-sensor/transport" --folder "$folder")
[ "$quick" = 0 ] || options+=(--quick)
read -ra rows <<<"${ROWS:-}"
# The recording is of 14 s of real traffic, as `make bench` makes it; without root the row about it says that it is absent.
if [[ -z "${ROWS:-}" || "$ROWS" = *capture* ]] && [ "$(id -u)" -eq 0 ]; then
  seconds=14
  [ "$quick" = 0 ] || seconds=3
  if [ ! -s "$folder/big.pcap" ] && scripts/record.sh "$folder/big.unfinished" "$seconds" >&2; then
    mv "$folder/big.unfinished" "$folder/big.pcap"
  fi
  [ ! -s "$folder/big.pcap" ] || options+=(--big "$folder/big.pcap")
fi
"$target/$profile/tidewire-bench" sensor "${options[@]}" "${rows[@]}"
echo "written: $target/bench-sensor/bench-sensor.md, bench-sensor.json and plots"
if [ "${DOCS:-0}" != 0 ]; then
  publish_figures bench-sensor "$target/bench-sensor/bench-sensor.md" "###"
fi
