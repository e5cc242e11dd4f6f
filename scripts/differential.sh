#!/usr/bin/env bash
# Random scripts of packets to the running kernel, in network namespaces of its own, and to the engine: what an application
# received against what was delivered. Needs root.
# DURATION (`make differential SECONDS=...`): how long, seconds (default: four hours); SEED: where to begin (default: the time);
# CASES: a folder for the smallest scripts of silent differences; TCP_ONLY=1: plain IP and link layers;
# SIDE: server or client, what the kernel is in each connection (default: both in turn).
set -euo pipefail
duration=${DURATION:-14400}
. "$(dirname "$0")/common.sh"
scripts/setup.sh build live
cargo build --locked --release -p tidewire-lab --bin tidewire-lab
arguments=(--seconds "$duration" --seed "${SEED:-$(date +%s)}")
[ -z "${CASES:-}" ] || arguments+=(--cases "$CASES")
[ -z "${SIDE:-}" ] || arguments+=(--host "$SIDE")
[ -z "${TCP_ONLY:-}" ] || arguments+=(--tcp-only)
"${CARGO_TARGET_DIR:-target}/release/tidewire-lab" differential "${arguments[@]}"
