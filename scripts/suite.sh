#!/usr/bin/env bash
# suite.sh OPTIONS...: builds the tests that `cargo test OPTIONS` would run, and runs several test programs at once: most of them wait
# for networks, timers and other programs. TEST_JOBS: how many (the processors and one more). What a program printed follows in one piece when it has ended.
# All of them run whatever fails; those that failed are named at the end.
set -euo pipefail
. "$(dirname "$0")/common.sh"
jobs=${TEST_JOBS:-$(($(nproc) + 1))}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The ones that take longest begin first, so that none of them is alone at the end.
slowest=(live command sensor recorder run corpus memory programs store delivery kernel)

cargo test --no-run --message-format=json-render-diagnostics "$@" >"$work/messages"
jq -r 'select(.profile.test? == true and .executable != null) | [.target.name, .executable, (.manifest_path | sub("/Cargo.toml$"; ""))] | @tsv' \
  "$work/messages" | sort -u >"$work/programs"
[ -s "$work/programs" ] || { echo "suite: no test program was built" >&2; exit 1; }
{
  for name in "${slowest[@]}"; do awk -F '\t' -v name="$name" '$1 == name' "$work/programs"; done
  awk -F '\t' -v names=" ${slowest[*]} " '!index(names, " " $1 " ")' "$work/programs"
} >"$work/ordered"

# run EXECUTABLE FOLDER: runs one program in its crate's folder, as cargo does.
run() {
  local begun=$SECONDS code=0 output
  output=$(mktemp "$work/output.XXXXXX")
  (cd "$2" && CARGO_MANIFEST_DIR=$2 exec "$root/scripts/run-test.sh" "$1") >"$output" 2>&1 || code=$?
  {
    flock 9
    echo "     Running ${1##*/} ($((SECONDS - begun)) s)"
    cat "$output"
  } 9>"$work/lock"
  rm -f "$output"
  [ $code = 0 ] || echo "${2##*/}: ${1##*/}" >>"$work/failed"
}
export -f run
root=$PWD work=$work
export root work
# xargs hands on no signal that bash would not: an interrupt ends the group.
cut -f 2,3 "$work/ordered" | tr '\t' '\n' | xargs -d '\n' -n 2 -P "$jobs" bash -c 'set -euo pipefail; run "$@"' run
if [ -s "$work/failed" ]; then
  echo "suite: failed:" >&2
  sed 's/^/  /' "$work/failed" >&2
  exit 1
fi
echo "suite: $(wc -l <"$work/ordered") test programs passed"
