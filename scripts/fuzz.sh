#!/usr/bin/env bash
# fuzz.sh [--if-possible] [TARGET...]: each fuzz target for FUZZ_SECONDS (default: one hour), from the committed seeds.
# --if-possible: without cargo-fuzz or a nightly toolchain say so and succeed. New inputs go to fuzz/corpus (not
# committed), crashes to fuzz/artifacts. The seeds are also replayed by the ordinary tests.
set -euo pipefail
. "$(dirname "$0")/common.sh"
seconds=${FUZZ_SECONDS:-3600}
optional=0
if [ "${1:-}" = --if-possible ]; then optional=1; shift; fi

why=
command -v rustup >/dev/null && rustup toolchain list | grep -q '^nightly' || why="no nightly toolchain (rustup toolchain install nightly)"
[ -n "$why" ] || cargo fuzz --version >/dev/null 2>&1 || why="no cargo-fuzz (cargo install cargo-fuzz)"
[ -d fuzz/fuzz_targets ] || why="no fuzz targets here"
if [ -n "$why" ]; then
  if [ $optional = 1 ]; then echo "fuzz: skipped: $why"; exit 0; fi
  echo "fuzz: $why" >&2; exit 1
fi

scripts/setup.sh build fuzz
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for file in fuzz/fuzz_targets/*.rs; do targets+=("$(basename "$file" .rs)"); done
fi
for target in "${targets[@]}"; do
  mkdir -p "fuzz/corpus/$target"
  folders=("fuzz/corpus/$target")
  [ ! -d "fuzz/seeds/$target" ] || folders+=("fuzz/seeds/$target")
  echo "fuzz: $target for $seconds s"
  log=$(mktemp)
  if ! cargo +nightly fuzz run "$target" "${folders[@]}" -- -max_total_time="$seconds" -timeout=30 -rss_limit_mb=4096 >"$log" 2>&1; then
    tail -n 40 "$log" >&2; rm -f "$log"; echo "fuzz: $target FAILED" >&2; exit 1
  fi
  grep -E '^Done|^#[0-9]+.*DONE' "$log" | tail -n 1 || true
  rm -f "$log"
done
