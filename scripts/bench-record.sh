#!/usr/bin/env bash
# What recording costs, with peers in the same run: tidewire record, tcpdump, dumpcap, netsniff-ng (those that are installed).
# 1. TCP over loopback in a network namespace, as fast as it goes, to memory (/dev/shm); then the recorder with a cutoff of 10 KB:
#    packets lost, CPU seconds for each GB written. Writes target/bench-record/tcp.md.
# 2. tidewire-bench record: rates held by length of frames, to memory and to the disk of target/; work on each packet; look-back;
#    recall. Writes target/bench-record/bench-record.md, .json and .svg plots.
# LOAD_SECONDS (10): of each run of 1; ROUNDS (3): the median counts; QUICK=1: few and short measurements, not for quoting.
# ROWS="tcp disk recall": only these rows (tcp, memory, disk, cases, look-back, recall). Needs root, iperf3, two cores, 20 GB of memory
# and of disk for the whole (QUICK=1: a tenth).
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ "$(id -u)" -eq 0 ] || { echo "bench-record: skipped: network namespaces need root" >&2; exit 0; }
[ "$(nproc)" -ge 2 ] || { echo "bench-record: skipped: sender and recorder need a core each" >&2; exit 0; }
scripts/setup.sh build bench
command -v iperf3 >/dev/null || { echo "bench-record: skipped: iperf3 is not installed" >&2; exit 0; }
seconds=${LOAD_SECONDS:-10}
rounds=${ROUNDS:-3}
[ "${QUICK:-0}" = 0 ] || { seconds=3; rounds=1; }
target=${CARGO_TARGET_DIR:-target}
profile=${PROFILE:-release}
output=$target/bench-record
mkdir -p "$output"
folder=$(mktemp -d /dev/shm/tidewire-bench-record.XXXXXX)
trap 'rm -rf "$folder"' EXIT
wanted() { [ -z "${ROWS:-}" ] || [[ " $ROWS " == *" $1 "* ]]; }
[ -n "${TIDEWIRE:-}" ] || cargo build --locked --profile "$profile" -p tidewire-cli
program=${TIDEWIRE:-$target/$profile/tidewire}

# One run in a namespace: what is recorded, then load. Prints "bytes sent, CPU seconds of the recorder, its output".
cat >"$folder/run" <<'RUN'
set -eu
folder=$1 seconds=$2
shift 2
ip link set lo up
# A large MTU would make few packets of it, a small one is what links have: segments of up to 64 KiB come either way, as from a card
# that merges them.
iperf3 -s -1 >/dev/null 2>&1 &
"$@" >"$folder/out" 2>"$folder/err" &
recorder=$!
sleep 1
iperf3 -c 127.0.0.1 -t "$seconds" -J >"$folder/iperf.json"
sleep 1
# User and system time of the process and its threads, in ticks.
ticks=$(cut -d' ' -f14,15 "/proc/$recorder/stat" | tr ' ' '+')
kill -INT "$recorder"
wait "$recorder" || true
sent=$(sed -n '/"sum_sent"/,/}/s/.*"bytes":[^0-9]*\([0-9]*\).*/\1/p' "$folder/iperf.json" | head -n 1)
echo "$sent $((ticks))"
RUN
hertz=$(getconf CLK_TCK)
measure() {
  rm -rf "$folder/archive" "$folder/file"
  # Otherwise the system takes pages from the cache that builds left, in the middle of a run.
  sync
  echo 3 >/proc/sys/vm/drop_caches 2>/dev/null || true
  unshare -n bash "$folder/run" "$folder" "$seconds" "$@"
}
# What each program says of its losses; netsniff-ng counts what loopback shows twice among them.
lost() {
  case $1 in
    tidewire*) sed -n 's/.*"shed_packets":\([0-9]*\),.*"dropped_packets":\([0-9]*\).*/\1 + \2/p' "$folder/out" | head -n 1 | awk "{ print \$1 + \$3 }" ;;
    tcpdump*) sed -n 's/^\([0-9]*\) packets* dropped by kernel.*/\1/p' "$folder/err" ;;
    dumpcap*) sed -n 's/.*received\/dropped on interface.*: \([0-9]*\)\/\([0-9]*\).*/\2/p' "$folder/err" ;;
  esac
}
got() {
  case $1 in
    tidewire*) sed -n 's/.*"elapsed_ns":[0-9]*,"received_packets":\([0-9]*\),.*/\1/p' "$folder/out" ;;
    tcpdump*) sed -n 's/^\([0-9]*\) packets* captured.*/\1/p' "$folder/err" ;;
    dumpcap*) sed -n 's/.*received\/dropped on interface.*: \([0-9]*\)\/\([0-9]*\).*/\1/p' "$folder/err" ;;
  esac
}
row() {
  local name=$1 round result all=() bytes captured
  shift
  for round in $(seq "$rounds"); do
    result=$(measure "$@")
    bytes=$({ du -sb "$folder/archive" "$folder/file" 2>/dev/null || true; } | awk '{ sum += $1 } END { print sum + 0 }')
    # With a cutoff: by what crossed the interface.
    captured=$(sed -n 's/.*"elapsed_ns":[0-9]*,"received_packets":[0-9]*,"received_bytes":\([0-9]*\),.*/\1/p' "$folder/out")
    [[ $name == *cutoff* ]] || captured=
    all+=("$(awk -v sent="${result% *}" -v ticks="${result#* }" -v hertz="$hertz" -v bytes="$bytes" -v captured="${captured:-$bytes}" -v lost="$(lost "$name")" -v got="$(got "$name")" \
      'BEGIN { gb = sent / 1e9; lost += 0; got += 0; all = lost + got; printf "%.3f %.2f %.2f %s\n", ticks / hertz / (captured / 1e9), gb, bytes / 1e9, all ? sprintf("%.2f %%", lost * 100 / all) : "–" }')")
  done
  printf '%s\n' "${all[@]}" | sort -n | sed -n "$(((rounds + 1) / 2))p" |
    awk -v name="$name" '{ printf "| %s | %s | %s | %s %s | %s |\n", name, $2, $3, $4, $5, $1 }' | tee -a "$output/tcp.md"
}

tcp() {
  printf '# Recording\n\n%s, %s cores, Linux %s; %s s of TCP over loopback, the median of %s.\n\n' \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)" "$seconds" "$rounds" >"$output/tcp.md"
  printf '| program | GB sent | GB written | packets lost | CPU s for each GB written |\n|---|---|---|---|---|\n' | tee -a "$output/tcp.md"
  record=("$program" record -i lo -q --json -o "$folder/archive" --ring 64M)
  row "tidewire record" "${record[@]}"
  row "tidewire record, cutoff 10 KB" "${record[@]}" --cutoff 10K
  row "tcpdump, 64 MB" tcpdump -i lo -w "$folder/file" -B 65536 -s 0 -Z root
  row "tcpdump" tcpdump -i lo -w "$folder/file" -s 0 -Z root
  ! command -v dumpcap >/dev/null || row "dumpcap, 64 MB" dumpcap -q -i lo -B 64 -w "$folder/file"
  ! command -v netsniff-ng >/dev/null || row "netsniff-ng, 64 MB" netsniff-ng -i lo -o "$folder/file" -S 64MiB -s
  echo "written: $output/tcp.md"
}
! wanted tcp || tcp
[ "${ROWS:-}" != tcp ] || exit 0
cargo build --locked --profile "$profile" -p tidewire-pcap
cargo build --locked --profile "$profile" -p tidewire-bench
options=(--output "$output" --programs "$target/$profile" --disk "$output")
[ "${QUICK:-0}" = 0 ] || options+=(--quick)
read -ra rows <<<"${ROWS:-}"
"$target/$profile/tidewire-bench" record "${options[@]}" "${rows[@]}"
echo "written: $output/bench-record.md, bench-record.json and plots"
