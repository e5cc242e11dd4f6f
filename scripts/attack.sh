#!/usr/bin/env bash
# Floods that aim at memory and time, at 16, 64 and 1,024 MiB, each alone and among honest connections: peak memory, time a
# packet, honest connections whole. Writes target/attack/attack.md. QUICK=1: few packets. FLOODS="midstream holes": only
# floods whose names hold one of these. CURVES=1: honest connections whole against the attacker's share of the packets
# (writes target/attack/curves.md).
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build
target=${CARGO_TARGET_DIR:-target}
cargo build --locked --release -p tidewire-lab
mkdir -p "$target/attack"
options=()
[ "${QUICK:-0}" = 0 ] || options+=(--quick)
output=$target/attack/attack.md
if [ "${CURVES:-0}" != 0 ]; then options+=(--curves); output=$target/attack/curves.md; fi
read -ra floods <<<"${FLOODS:-}"
# A part of the floods does not take the place of all.
[ ${#floods[@]} -eq 0 ] || output=${output%.md}-part.md
"$target/release/tidewire-lab" attack "${options[@]}" "${floods[@]}" | tee "$output"
echo "written: $output"
