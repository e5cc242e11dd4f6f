#!/usr/bin/env bash
# Checks dependencies against deny.toml: licences, sources, known weaknesses. The rules of the house check licences and sources as well, without
# a tool. What cannot be checked is reported, and is no error: the database of weaknesses (RustSec) where it cannot be fetched.
# --if-possible: without the tool (minutes to build), report that and pass.
set -euo pipefail
. "$(dirname "$0")/common.sh"
wanted=$(scripts/setup.sh --version cargo-deny)
if [ "${1:-}" = --if-possible ] && [ "$(cargo deny --version 2>/dev/null)" != "cargo-deny $wanted" ]; then
  echo "deny: SKIPPED: advisories on dependencies: no cargo-deny $wanted here (make deny installs it)" >&2
  exit 0
fi
if ! scripts/setup.sh cargo-deny; then
  echo "deny: SKIPPED: licences, sources and advisories of dependencies: no cargo-deny $wanted here" >&2
  exit 0
fi
cargo deny --locked check licenses sources
if timeout 30 cargo deny --locked fetch db >/dev/null 2>&1; then
  cargo deny --locked check advisories
elif compgen -G "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs/*/crates" >/dev/null; then
  echo "deny: the database of advisories cannot be fetched: as of the last time" >&2
  cargo deny --locked --offline check advisories
else
  echo "deny: SKIPPED: advisories: their database (https://github.com/rustsec/advisory-db) cannot be fetched" >&2
fi
