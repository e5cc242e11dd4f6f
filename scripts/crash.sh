#!/usr/bin/env bash
# Kills readers and publishers of a queue, spooler and collector, then the capture and the analyzers of a whole sensor, with SIGKILL at random moments, and
# checks what the others see: every record read, missed or lost to the last one, no reader disturbed by another's death, no silence
# of the publisher, places free again, no descriptor, page, socket or process left behind. The sensor needs root (namespaces). Then
# analyzers that emit events and the event processor: no acknowledged event lost, none stored twice, each analyzer's in order. Then recorders
# of packets (what was written is there, from the first packet on), signals at random moments to every command, and archives over a storage that loses what was not synced.
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
# Spooler and collector: a test of the crate, for so many seconds.
delivery=(cargo test --locked --profile quick -p tidewire-delivery --test delivery)
"${delivery[@]}" --no-run
kills=kills::kills_of_spooler_and_collector_lose_nothing_and_double_nothing
with_sensor=0
if [ "$(id -u)" -eq 0 ]; then
  with_sensor=1
  cargo build --locked --profile quick -p tidewire-cli
  cargo build --locked --profile quick -p tidewire-bench --bin tidewire-bench --bin queue-loop
else
  echo "crash: the rounds over a whole sensor are skipped: network namespaces need root" >&2
fi

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
  # Half a minute of each: a sensor waits longer before each restart of a part, so that a new one begins every round.
  part=$((left < 60 ? (left + 1) / 2 : 30))
  round=$((round + 1))
  "$queue_crash" seconds="$part" seed="$((seed + round))" >>"$log" || failed "queue" "$((seed + round))"
  TIDEWIRE_TEST_SECONDS=$part SEED=$((seed + round)) "${delivery[@]}" -- --exact "$kills" --nocapture >"$output/delivery.log" 2>&1 ||
    failed "delivery: $output/delivery.log" "$((seed + round))"
  # What a round leaves behind shows after it.
  count=$(running "$queue_crash")
  [ "$count" -eq 0 ] || failed "$count processes are left" "$((seed + round))"
  if [ "$with_sensor" -eq 1 ]; then
    "$target/quick/tidewire-bench" crash --programs "$target/quick" --seconds "$part" --seed "$((seed + round))" >>"$log" ||
      failed "sensor" "$((seed + round))"
    count=$(($(running "$target/quick/tidewire") + $(running "$target/quick/queue-loop")))
    [ "$count" -eq 0 ] || failed "$count processes of the sensor are left" "$((seed + round))"
  fi
  # About as long: a kill and a start take some hundredths of a second.
  TIDEWIRE_TEST_KILLS=$((part * 8)) SEED=$((seed + round)) cargo test --locked --profile quick -p tidewire-sensor --test events -- \
    kills --nocapture 2>/dev/null | sed -n 's/^[^0-9]*\([0-9]*\) kills, \([0-9]*\) events$/{"kills_of_events":\1,"events":\2}/p' >>"$log" || failed "events" "$((seed + round))"
  KILLS=$((part * 4)) SEED=$((seed + round)) cargo test --locked --profile quick -p tidewire-cli --test command -- --exact \
    recorder_kills::a_killed_recorder_leaves_whole_packets_that_the_next_one_repairs >"$output/record.log" 2>&1 ||
    failed "recorder: $output/record.log" "$((seed + round))"
  echo "{\"kills_of_recorders\":$((part * 4))}" >>"$log"
  # 96 signals a round, over commands, inputs and outputs.
  ROUNDS=$(((part + 7) / 8)) SEED=$((seed + round)) cargo test --locked --profile quick -p tidewire-cli --test command -- --exact \
    signals::one_signal_ends_every_command_whatever_it_reads_and_writes >"$output/signals.log" 2>&1 ||
    failed "signals: $output/signals.log" "$((seed + round))"
  echo "{\"signals_of_commands\":$(((part + 7) / 8 * 96))}" >>"$log"
  ROUNDS=$((part * 200)) SEED=$((seed + round)) cargo test --locked --profile quick -p tidewire-archive --lib -- storage \
    >"$output/power.log" 2>&1 || failed "power failures: $output/power.log" "$((seed + round))"
  echo "{\"power_failures_of_archives\":$((part * 200))}" >>"$log"
  echo "crash: round $round, $(($(date +%s) - begun)) of $total s: $(tail -n $((5 + with_sensor)) "$log" | tr '\n' ' ')" >&2
done
echo "crash: $round round(s) without a violation: $log"
