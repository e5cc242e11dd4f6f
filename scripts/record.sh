#!/usr/bin/env bash
# record.sh OUT.pcap [SECONDS]: records real traffic between two network namespaces of its own.
#
# Real kernels and real servers: nginx serves 2,000 files of mixed sizes (1 KB to 5 MB, few of them large) to several
# hundred wrk connections over IPv4 and IPv6; two iperf3 transfers and a DNS-shaped UDP exchange run beside them.
# Offloads are off, so no frame is larger than 1,514 bytes. 14 s (the default) give about 2 GB.
# Needs root. The namespaces and everything in them are removed whatever happens.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "record.sh: needs root (network namespaces, packet capture)" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "$1")
seconds=${2:-14}
"$here/setup.sh" lab

scratch=$(mktemp -d)
server=tidewire-server-$$
client=tidewire-client-$$
children=()
cleanup() {
  trap - EXIT INT TERM
  local child
  for child in "${children[@]:-}"; do [ -z "$child" ] || kill "$child" 2>/dev/null || true; done
  [ ! -f "$scratch/nginx.pid" ] || kill "$(cat "$scratch/nginx.pid")" 2>/dev/null || true
  sleep 0.3
  ip netns del "$server" 2>/dev/null || true
  ip netns del "$client" 2>/dev/null || true
  rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# Two namespaces, one cable, 16 addresses of each family on each side.
ip netns add "$server"
ip netns add "$client"
ip link add wire0 netns "$server" type veth peer name wire0 netns "$client"
for side in "$server 1" "$client 2"; do
  read -r namespace net <<<"$side"
  ip -n "$namespace" link set lo up
  ip netns exec "$namespace" ethtool -K wire0 gso off tso off gro off tx off rx off sg off >/dev/null
  ip netns exec "$namespace" sysctl -qw net.ipv4.ip_local_port_range="2000 65000" net.ipv4.tcp_tw_reuse=1 \
    net.core.somaxconn=8192
  ip -n "$namespace" link set wire0 mtu 1500 up
  for host in $(seq 1 16); do
    ip -n "$namespace" addr add "10.77.$net.$host/16" dev wire0
    ip -n "$namespace" -6 addr add "fd77::$net:$(printf %x "$host")/64" dev wire0 nodad
  done
done

# What is served: sizes log-normal around 11 KB, a third of it noise and the rest text.
mkdir "$scratch/www"
python3 - "$scratch/www" <<'PY'
import pathlib, random, sys
root, chance, names = pathlib.Path(sys.argv[1]), random.Random(2026), []
for number in range(2000):
    size = int(min(5e6, max(1000, chance.lognormvariate(9.3, 1.5))))
    noise = number % 3 == 0
    name = f"{number}.{'bin' if noise else 'html'}"
    line = b"<p>%06d the tide comes in, the tide goes out, and every wave is counted</p>\n" % number
    (root / name).write_bytes(chance.randbytes(size) if noise else (line * (size // len(line) + 1))[:size])
    names.append("/" + name)
(root / "list.txt").write_text("\n".join(names))
PY
cat >"$scratch/nginx.conf" <<NGINX
user root; worker_processes 2; daemon on; pid $scratch/nginx.pid; error_log $scratch/nginx.log;
events { worker_connections 4096; }
http {
  access_log off; sendfile on; keepalive_requests 20; limit_rate_after 128k; limit_rate 2m;
  server { listen 80 backlog=4096; listen [::]:80 backlog=4096; root $scratch/www; }
}
NGINX
cat >"$scratch/ask.lua" <<'LUA'
-- Random files from all 16 server addresses; seven connections in ten serve one request only.
local names, count = {}, 0
for line in io.lines(os.getenv("NAMES")) do names[#names + 1] = line end
local form = os.getenv("ADDRESS")
function setup(thread)
  thread.addr = wrk.lookup(string.format(form, count % 16 + 1), "80")[1]
  thread:set("seed", count)
  count = count + 1
end
function init() math.randomseed(os.time() * 31 + seed) end
function request()
  local headers = {Host = "www.example.test", ["User-Agent"] = "tidewire-lab", Accept = "*/*"}
  if math.random() < 0.7 then headers.Connection = "close" end
  return wrk.format("GET", names[math.random(#names)], headers)
end
function delay() return math.random(0, 180) end
LUA
cat >"$scratch/names.py" <<'PY'
"""names.py serve | names.py ask COUNT: a DNS-shaped exchange over real sockets, one socket a question."""
import os, socket, sys, time
at = ("10.77.1.1", 53)
if sys.argv[1] == "serve":
    service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    service.bind(at)
    while True:
        question, peer = service.recvfrom(2048)
        record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + os.urandom(4)
        service.sendto(question[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question[12:] + record, peer)
for number in range(int(sys.argv[2])):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.settimeout(0.2)
        asker.sendto(os.urandom(2) + b"\1\0\0\1\0\0\0\0\0\0\7h%06d\7example\4test\0\0\1\0\1" % number, at)
        try:
            asker.recvfrom(2048)
        except TimeoutError:
            pass
    time.sleep(0.003)
PY

# Simple commands, not functions: what is put into the background must be the process itself, so that it can be ended.
at_server=(ip netns exec "$server")
at_client=(ip netns exec "$client")
"${at_server[@]}" nginx -c "$scratch/nginx.conf"
"${at_server[@]}" python3 "$scratch/names.py" serve & children+=($!)
for port in 5201 5202; do "${at_server[@]}" iperf3 -s -p $port >/dev/null 2>&1 & children+=($!); done
"${at_server[@]}" tcpdump -i wire0 -s 0 -B 1500000 -Z root -w "$out" 2>"$scratch/tcpdump.log" & dump=$!
children+=("$dump")
sleep 1.5

"${at_client[@]}" python3 "$scratch/names.py" ask $((seconds * 300)) & children+=($!)
"${at_client[@]}" iperf3 -c 10.77.1.9 -p 5201 -t "$seconds" -b 60M >/dev/null & children+=($!)
"${at_client[@]}" iperf3 -c 10.77.1.10 -p 5202 -t "$seconds" -b 45M -R -P 2 >/dev/null & children+=($!)
export NAMES=$scratch/www/list.txt
wrk=("${at_client[@]}" timeout $((seconds + 20)) wrk -d "$seconds" -s "$scratch/ask.lua")
ADDRESS=10.77.1.%d "${wrk[@]}" -t 8 -c 280 http://10.77.1.1/ >/dev/null & first=$!
children+=("$first")
ADDRESS=fd77::1:%x "${wrk[@]}" -t 4 -c 60 "http://[fd77::1:1]/" >/dev/null
wait $first
sleep 1
kill -TERM "$dump"
wait "$dump" || true
cat "$scratch/tcpdump.log" >&2
