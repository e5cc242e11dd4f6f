#!/usr/bin/env bash
# Builds tidewire-lab (captures to order, attacks, comparisons with the kernel) and tidewire-bench (figures).
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build
cargo build --locked --release -p tidewire-lab -p tidewire-bench
