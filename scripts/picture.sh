#!/usr/bin/env bash
# Records README's picture: real commands in a terminal of 80 columns, as an animated SVG (docs/terminal.svg).
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build
cargo build --locked --release -p tidewire-cli
PATH="$PWD/${CARGO_TARGET_DIR:-target}/release:$PATH"
output=$PWD/docs/terminal.svg
# The name of the capture is short, as a user's would be.
cd tests/corpus/demo
python3 ../../../scripts/picture.py "$output" \
  'tidewire flows demo.pcap' \
  'tidewire streams demo.pcap -F tcp' \
  'tidewire follow demo.pcap 6 | head -n 18' \
  "tidewire match demo.pcap -e 'HTTP/1.1 404' -e '|05|gauge'"
