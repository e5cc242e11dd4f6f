#!/usr/bin/env bash
# Every test that needs network namespaces: captures, steering and generators over cables of their own, with real programs.
# Where privileges lack, each says so and passes; REQUIRE=1 makes that a failure.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build test live programs
if ! unshare -n true 2>/dev/null; then
  echo "live: no network namespace of our own (root is needed): the tests below are skipped" >&2
  [ "${REQUIRE:-}" != 1 ] || exit 1
fi
tests() { scripts/view.sh build test live programs -- cargo test --locked --profile quick "$@"; }
tests -p tidewire-live --lib --test 'live*'
tests -p tidewire --features live --test 'live*'
tests -p tidewire-gen
tests -p tidewire-lab --test kernel --test host --test engine
tests -p tidewire-pcap
tests -p tidewire-cli --test live
echo "live: passed"
