#!/usr/bin/env bash
# What protocol fields cost live: CPU seconds of `tidewire flows`, where the kernel discards what lies behind 16 KiB of each direction, against
# all of it delivered, while nginx serves files of 1 to 10 MB to wrk over a cable between two network namespaces as fast as the machine
# offers. CPU is that of the process (user and system), for each GB that went over the cable; with it what was lost.
# SECONDS_EACH (10), RUNS (3), TIDEWIRE: the command to measure. Needs root, nginx and wrk; skips where they lack.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ "$(id -u)" = 0 ] || { echo "bench-exports-live: skipped: namespaces and packet sockets need root" >&2; exit 0; }
for tool in ip nginx wrk python3; do
  command -v "$tool" >/dev/null || { echo "bench-exports-live: skipped: $tool is missing (scripts/setup.sh lab)" >&2; exit 0; }
done
program=$(realpath "${TIDEWIRE:-${CARGO_TARGET_DIR:-target}/release/tidewire}")
seconds=${SECONDS_EACH:-10} runs=${RUNS:-3}
[ "${QUICK:-0}" = 0 ] || { seconds=3; runs=1; }
. scripts/web-server.sh
folder=$(mktemp -d /tmp/tidewire-bench-exports-live.XXXXXX)
cleanup() {
  end_web
  rm -rf "$folder"
}
trap cleanup EXIT
begin_web "$folder"
ip netns exec "$here" python3 scripts/bench-exports-live.py "$program" "$folder/large.lua" "$seconds" "$runs"
