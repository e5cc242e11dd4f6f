#!/usr/bin/env bash
# generate.sh: makes everything that is generated and committed:
#   crates/*/objects/*.bpf.o                                          by scripts/bpf.sh (clang)
#   docs/man/*.1, docs/completions/*, docs/terminal.svg, and the
#   output of commands in README.md and docs/*.md                     by tests of the command (TIDEWIRE_BLESS=1)
# generate.sh --check: whether all of it is fresh. Objects are compared by the digests of their sources if this clang is not
# the one that made them; the picture is skipped without python3, which records it. `make test` builds the same.
set -euo pipefail
. "$(dirname "$0")/common.sh"
tests() { cargo test --quiet --locked --workspace --features tidewire-cli/parquet --profile quick --test command -- documents:: manual:: "$@"; }

case "${1:-}" in
  "")
    scripts/setup.sh build test
    scripts/bpf.sh
    TIDEWIRE_BLESS=1 tests
    echo "generate: done; read the difference (git diff)" ;;
  --check)
    scripts/bpf.sh --check
    skipped=()
    if ! command -v python3 >/dev/null; then
      echo "generate: no python3; docs/terminal.svg is not compared"
      skipped=(--skip the_picture_is_fresh)
    fi
    tests "${skipped[@]}" || { echo "generate: not fresh: make generated" >&2; exit 1; }
    echo "generate: all is fresh" ;;
  *) echo "usage: generate.sh [--check]" >&2; exit 2 ;;
esac
