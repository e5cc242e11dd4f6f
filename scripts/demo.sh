#!/usr/bin/env bash
# Builds the release and runs it on the bundled capture: flows, streams, and what was odd about them.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build
cargo build --locked --release -p tidewire-cli
tidewire=${CARGO_TARGET_DIR:-target}/release/tidewire
capture=tests/corpus/demo/demo.pcap

bold= plain=
[ ! -t 1 ] || { bold=$'\033[1m'; plain=$'\033[0m'; }
say() {
  local word line="tidewire"
  for word in "$@"; do
    [[ $word =~ ^[A-Za-z0-9_./:=-]+$ ]] || word="'$word'"
    line+=" $word"
  done
  printf '\n%s$ %s%s\n' "$bold" "$line" "$plain"
}
run() { say "$@"; "$tidewire" "$@"; }

echo "A capture of real hosts in network namespaces (what it shows: tests/corpus/demo/README.md)."
run flows "$capture"
run streams "$capture"
run datagrams "$capture"
run match "$capture" -e 'gauge.tidewire' -e 'HTTP/1.1 404' -e '|05|gauge'
echo
echo "Everything else: tidewire --help"
