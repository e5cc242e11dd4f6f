#!/usr/bin/env bash
# picture.sh [OUTPUT]: records README's picture (docs/terminal.svg): real commands in a terminal of 80 columns, as an animated SVG.
# BUILT: a folder with a `tidewire` that was built before; then nothing is built.
set -euo pipefail
. "$(dirname "$0")/common.sh"
output=$(realpath -m "${1:-docs/terminal.svg}")
if [ -z "${BUILT:-}" ]; then
  scripts/setup.sh build
  cargo build --locked --release -p tidewire-cli
fi
PATH="$(realpath "${BUILT:-${CARGO_TARGET_DIR:-target}/release}"):$PATH"
recorder=$PWD/scripts/picture.py
# The name of the capture is short, as a user's would be.
cd tests/corpus/demo
python3 "$recorder" "$output" \
  'tidewire flows demo.pcap' \
  'tidewire streams demo.pcap -F tcp' \
  'tidewire follow demo.pcap 6 --cutoff 250' \
  "tidewire match demo.pcap -e 'HTTP/1.1 404' -e '|05|gauge'"
