#!/usr/bin/env bash
# What dependencies are (deny.toml): licences, sources, known weaknesses. What cannot be looked at is said, and is no error: the
# tool where it can neither be found nor installed, the database of weaknesses (RustSec) where it cannot be fetched.
set -euo pipefail
. "$(dirname "$0")/common.sh"
wanted=$(scripts/setup.sh --version cargo-deny)
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
