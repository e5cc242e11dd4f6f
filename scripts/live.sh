#!/usr/bin/env bash
# Every test that needs network namespaces: captures, steering and generators over cables of their own, with real programs.
# Where privileges lack, each says so and passes; REQUIRE=1 makes that a failure.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build live programs
if ! unshare -n true 2>/dev/null; then
  echo "live: no network namespace of our own (root is needed): the tests below are skipped" >&2
  [ "${REQUIRE:-}" != 1 ] || exit 1
fi
cargo test --locked --profile quick -p tidewire-capture --lib --test 'live*'
cargo test --locked --profile quick -p tidewire --test 'live*'
cargo test --locked --profile quick -p tidewire-gen
cargo test --locked --profile quick -p tidewire-lab --test 'kernel*' --test 'live*' --test applications \
  --test steering_kernel --test steering_live
cargo test --locked --profile quick -p tidewire-pcap
cargo test --locked --profile quick -p tidewire-cli --test 'live*' --test beside
echo "live: passed"
