#!/usr/bin/env bash
# sanitize.sh [--if-possible] [loom|miri|tsan ...]: what model checkers and sanitisers find in the parts that share memory; all of
# them without a word. loom runs on the toolchain that there is; the other two need a nightly one, with miri and rust-src, which
# are added to it here. Each says what it does not look at. --if-possible: where crates cannot be fetched, say so and succeed.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build
optional=0
if [ "${1:-}" = --if-possible ]; then optional=1; shift; fi
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(loom miri tsan)
target=$(rustc -vV | sed -n 's/^host: //p')

nightly() {
  if ! command -v rustup >/dev/null || ! rustup toolchain list | grep -q '^nightly'; then
    echo "sanitize: $1 needs a nightly toolchain: rustup toolchain install nightly" >&2; return 1
  fi
  rustup component add --toolchain nightly "${@:2}" >/dev/null
}

for part in "${parts[@]}"; do
  case "$part" in
    loom)
      # Rings of AF_XDP, the protocol by which directions are cut off and ended, and queues in shared memory: every order of steps of
      # two or three threads (of queues: with at most two or three preemptions).
      echo "sanitize: loom: rings, the cut-off protocol, queues in shared memory"
      if [ $optional = 1 ] && ! cargo fetch --quiet --locked --manifest-path sanitize/Cargo.toml 2>/dev/null; then
        echo "sanitize: skipped: loom's crates cannot be fetched"; continue
      fi
      cargo test --quiet --locked --manifest-path sanitize/Cargo.toml --target-dir target/sanitize --release
      ;;
    miri)
      # No system calls but memory's: the rings' memory and its headers, and what the engine asks the cache for. The other crates
      # forbid unsafe code.
      nightly Miri miri rust-src
      echo "sanitize: Miri: memory of rings, headers, prefetches (no sockets, no programs in the kernel, no C libraries)"
      export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-permissive-provenance"
      cargo +nightly miri test --locked --target-dir target/miri -p tidewire-live --lib -- sys::packet::blocks sys::arena
      cargo +nightly miri test --locked --target-dir target/miri -p tidewire-queue --lib -- sys::copy
      cargo +nightly miri test --locked --target-dir target/miri -p tidewire-core --test engine -- frames::a_datagram frames::an_aggregate frames::cut_headers
      ;;
    tsan)
      # Threads that share tables, counters and blocks; as root also rings of AF_XDP and maps of programs, of whose other side, in
      # the kernel, it sees nothing. The standard library is built for it, or its locks would look like races; without
      # optimisation, which takes longer to build than it saves. There are no suppressions.
      nightly ThreadSanitizer rust-src
      echo "sanitize: ThreadSanitizer: tables shared with programs in the kernel, counters of tidewire run, workers"
      export RUSTFLAGS="-Zsanitizer=thread" CARGO_TARGET_DIR=target/tsan
      cargo +nightly test --locked -Zbuild-std --target "$target" -p tidewire-live --lib -- \
        kernel sys::shared_counters sys::mmap_array xsk
      cargo +nightly test --locked -Zbuild-std --target "$target" -p tidewire-queue --lib --test queue -- ring groups hold
      cargo +nightly test --locked -Zbuild-std --target "$target" -p tidewire --features filter --test runs
      ;;
    *) echo "sanitize: unknown part '$part' (loom, miri, tsan)" >&2; exit 2 ;;
  esac
done
echo "sanitize: passed"
