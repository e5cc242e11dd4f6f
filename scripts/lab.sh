#!/usr/bin/env bash
# Builds tidewire-lab: traffic, adversaries, oracles, figures.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build
cargo build --locked --release -p tidewire-lab
