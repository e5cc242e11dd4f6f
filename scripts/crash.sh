#!/usr/bin/env bash
# Kills readers and publishers of a queue with SIGKILL at random moments and checks what the others see: every record read, missed or
# lost to the last one, no reader disturbed by another's death, places free again, no descriptor, page or process left behind.
# DURATION (`make crash SECONDS=...`): how long, seconds (default: an hour); SEED (default: the time): repeats the choices of a run,
# not the scheduler's. The first violation ends the run and names its seed. Writes target/crash/rounds.jsonl.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build

total=${DURATION:-3600}
seed=${SEED:-$(date +%s)}
target=${CARGO_TARGET_DIR:-target}
output=$target/crash
mkdir -p "$output"
log=$output/rounds.jsonl
: >"$log"
cargo build --locked --profile quick -p tidewire-queue --example queue_crash
queue_crash=$target/quick/examples/queue_crash

# Processes of a program, by the file that they run.
running() {
  local program count=0 process
  program=$(realpath "$1")
  for process in /proc/[0-9]*/exe; do
    [ "$(readlink "$process" 2>/dev/null || true)" != "$program" ] || count=$((count + 1))
  done
  echo "$count"
}

begun=$(date +%s)
round=0
failed() {
  echo "crash: violation in round $round: $1 (seed $2); rounds so far: $log" >&2
  exit 1
}
while :; do
  left=$((total - ($(date +%s) - begun)))
  [ "$left" -gt 0 ] || break
  part=$((left < 30 ? left : 30))
  round=$((round + 1))
  "$queue_crash" seconds="$part" seed="$((seed + round))" >>"$log" || failed "queue" "$((seed + round))"
  # What a round leaves behind shows after it.
  count=$(running "$queue_crash")
  [ "$count" -eq 0 ] || failed "$count processes are left" "$((seed + round))"
  echo "crash: round $round, $(($(date +%s) - begun)) of $total s: $(tail -n 1 "$log")" >&2
done
echo "crash: $round round(s) without a violation: $log"
