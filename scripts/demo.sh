#!/usr/bin/env bash
# Builds the part of the command that reads files, quickly, and runs it on the bundled capture: flows, streams, transactions with
# the names in them, datagrams and matches.
set -euo pipefail
. "$(dirname "$0")/common.sh"
tidewire=${CARGO_TARGET_DIR:-target}/demo/tidewire
if [ ! -x "$tidewire" ]; then
  echo "demo: builds the part of tidewire that reads capture files (the first time about 80 crates: one to two minutes on two cores)"
fi
scripts/setup.sh build
begun=$SECONDS
cargo build --locked --profile demo -p tidewire-cli --no-default-features
echo "demo: $tidewire is ready after $((SECONDS - begun)) s"
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
run transactions "$capture" --columns service,name,request,response
run datagrams "$capture"
run match "$capture" -e 'gauge.tidewire' -e 'HTTP/1.1 404' -e '|05|gauge'
echo
echo "This build reads files: $tidewire --help"
echo "The whole, with interfaces and the drop-in libpcap (some five minutes on two cores): make install (PREFIX=$HOME/.local without root)"
