#!/usr/bin/env bash
# What a cutoff saves on web traffic: bytes written and CPU seconds of `tidewire record --cutoff 10K` against those of recording everything,
# while nginx serves files to wrk over a cable between two network namespaces as fast as the machine offers: files of 1 to 10 MB, and
# pages of 32 KB in the mean. To memory (/dev/shm). SECONDS_EACH (8), RUNS (3), TIDEWIRE: the command to measure. Needs root, nginx and wrk;
# skips where they lack.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ "$(id -u)" = 0 ] || { echo "bench-record-web: skipped: namespaces and packet sockets need root" >&2; exit 0; }
for tool in ip nginx wrk python3; do
  command -v "$tool" >/dev/null || { echo "bench-record-web: skipped: $tool is missing (scripts/setup.sh lab)" >&2; exit 0; }
done
program=$(realpath "${TIDEWIRE:-${CARGO_TARGET_DIR:-target}/release/tidewire}")
seconds=${SECONDS_EACH:-8} runs=${RUNS:-3}
[ "${QUICK:-0}" = 0 ] || { seconds=3; runs=1; }
. scripts/web-server.sh
folder=$(mktemp -d /dev/shm/tidewire-bench-record-web.XXXXXX)
cleanup() {
  end_web
  rm -rf "$folder"
}
trap cleanup EXIT
begin_web "$folder"
ip netns exec "$here" python3 scripts/bench-record-web.py "$program" "$folder" "$seconds" "$runs"
