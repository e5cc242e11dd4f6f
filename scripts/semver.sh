#!/usr/bin/env bash
# Compares the public API of every published crate with the last release (the newest tag v… below this commit): a change that breaks
# users needs a version that says so. BASELINE=REVISION compares with another commit.
# --if-possible: says what is missing instead of building the tool (ten minutes on two cores) and passes.
set -euo pipefail
. "$(dirname "$0")/common.sh"
skip() { echo "semver: SKIPPED: $1" >&2; exit 0; }
baseline=${BASELINE:-$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || true)}
[ -n "$baseline" ] || skip "no release to compare with (no tag v… in this clone)"
git rev-parse --quiet --verify "$baseline^{commit}" >/dev/null || { echo "semver: no commit is called '$baseline'" >&2; exit 1; }
crates=()
for manifest in $(grep -L '^publish = false' crates/*/Cargo.toml); do
  folder=$(dirname "$manifest")
  # What has not changed has the same API; each crate that is compared takes about a minute.
  git diff --quiet "$baseline" -- "$folder/src" "$manifest" || crates+=(-p "$(basename "$folder")")
done
if [ ${#crates[@]} -eq 0 ]; then echo "semver: no published crate has changed since $baseline"; exit 0; fi
wanted=$(scripts/setup.sh --version cargo-semver-checks)
if [ "${1:-}" = --if-possible ] && [ "$(cargo semver-checks --version 2>/dev/null)" != "cargo-semver-checks $wanted" ]; then
  skip "no cargo-semver-checks $wanted here (make semver installs it)"
fi
scripts/setup.sh build cargo-semver-checks
cargo semver-checks --baseline-rev "$baseline" "${crates[@]}"
echo "semver: $((${#crates[@]} / 2)) crates, compared with $baseline"
