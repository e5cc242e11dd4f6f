#!/usr/bin/env bash
# Makes the package of every crate that is published; with --verify, builds each from its package alone, too.
set -euo pipefail
. "$(dirname "$0")/common.sh"
options=(--no-verify)
[ "${1:-}" != --verify ] || options=()
crates=()
for manifest in $(grep -L '^publish = false' crates/*/Cargo.toml); do
  crates+=(-p "$(basename "$(dirname "$manifest")")")
done
said=$(cargo package --locked --offline --allow-dirty "${options[@]}" "${crates[@]}" 2>&1) || { echo "$said" >&2; exit 1; }
if grep '^warning' <<<"$said" >&2; then exit 1; fi
echo "package: $((${#crates[@]} / 2)) crates"
