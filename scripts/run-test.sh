#!/bin/sh
# Cargo's runner for tests: ends a test program that does not end by itself. The harness has said by then which of its tests
# have been running for over a minute.
most=${TEST_SECONDS_MAX:-1800}
timeout --kill-after=30 "$most" "$@"
code=$?
case $code in
  124) echo "run-test: ${1##*/} did not end within $most s (TEST_SECONDS_MAX): see above for the tests that it waits for" >&2 ;;
  137) echo "run-test: ${1##*/} was killed: by the system (out of memory?), or $most s (TEST_SECONDS_MAX) were over and it did not heed that" >&2 ;;
esac
exit $code
