#!/usr/bin/env bash
# What protocol fields cost live: CPU seconds of `tidewire flows`, where the kernel discards what lies behind 16 KiB of each direction, against
# all of it delivered, while nginx serves files of 1 to 10 MB to wrk over a cable between two network namespaces as fast as the machine
# offers. CPU is that of the process (user and system), for each GB that went over the cable; with it what was lost.
# SECONDS_EACH (10), RUNS (3), TIDEWIRE: the command to measure. Needs root, nginx and wrk; skips where they lack.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ "$(id -u)" = 0 ] || { echo "bench-exports-live: skipped: namespaces and packet sockets need root" >&2; exit 0; }
for tool in ip nginx wrk python3; do
  command -v "$tool" >/dev/null || { echo "bench-exports-live: skipped: $tool is missing (scripts/setup.sh lab)" >&2; exit 0; }
done
program=$(realpath "${TIDEWIRE:-${CARGO_TARGET_DIR:-target}/release/tidewire}")
seconds=${SECONDS_EACH:-10} runs=${RUNS:-3}
[ "${QUICK:-0}" = 0 ] || { seconds=3; runs=1; }
here=tw-here-$$ there=tw-there-$$
folder=$(mktemp -d /tmp/tidewire-bench-exports-live.XXXXXX)
cleanup() {
  [ ! -f "$folder/pid" ] || kill "$(cat "$folder/pid")" 2>/dev/null || true
  ip netns del "$here" 2>/dev/null || true
  ip netns del "$there" 2>/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT
ip netns add "$here"
ip netns add "$there"
ip -n "$here" link add tap type veth peer name tap netns "$there"
for end in "$here" "$there"; do ip -n "$end" link set lo up; ip -n "$end" link set tap up; done
ip -n "$here" address add 10.99.1.1/24 dev tap
ip -n "$there" address add 10.99.1.2/24 dev tap
mkdir "$folder/www"
for megabytes in 1 2 5 10; do head -c "${megabytes}M" /dev/urandom >"$folder/www/$megabytes"; done
chmod -R a+rX "$folder"
cat >"$folder/nginx.conf" <<NGINX
daemon on; worker_processes 1; pid $folder/pid; error_log $folder/errors;
events {}
http { access_log off; sendfile on; keepalive_requests 4;
  client_body_temp_path $folder/a; proxy_temp_path $folder/b; fastcgi_temp_path $folder/c; uwsgi_temp_path $folder/d; scgi_temp_path $folder/e;
  server { listen 10.99.1.2:80; root $folder/www; } }
NGINX
ip netns exec "$there" nginx -e "$folder/errors" -c "$folder/nginx.conf"
cat >"$folder/ask.lua" <<'LUA'
local files, count = { "/1", "/2", "/1", "/5", "/1", "/10" }, 0
request = function()
  count = count + 1
  return wrk.format("GET", files[count % #files + 1], { ["User-Agent"] = "bench/1.0" })
end
LUA
ip netns exec "$here" python3 scripts/bench-exports-live.py "$program" "$folder/ask.lua" "$seconds" "$runs"
