#!/usr/bin/env bash
# record-demo.sh [OUT.pcap]: records the capture that `make demo` shows (tests/corpus/demo/demo.pcap).
#
# Three network namespaces: a client, a router, a server; real kernels, a real web server, curl, a small name server.
# The router loses packets for a while (its route to the server becomes a black hole), so the client's kernel sends
# again. Recorded on the client's side. Needs root. Everything is removed whatever happens.
set -euo pipefail
[ "$(id -u)" -eq 0 ] || { echo "record-demo.sh: needs root (network namespaces, packet capture)" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:-$here/../tests/corpus/demo/demo.pcap}")
"$here/setup.sh" lab

scratch=$(mktemp -d)
client=tidewire-demo-c-$$
router=tidewire-demo-r-$$
server=tidewire-demo-s-$$
children=()
cleanup() {
  trap - EXIT INT TERM
  local name
  for name in "${children[@]:-}"; do [ -z "$name" ] || kill "$name" 2>/dev/null || true; done
  for name in "$client" "$router" "$server"; do ip netns del "$name" 2>/dev/null || true; done
  rm -rf "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

for name in "$client" "$router" "$server"; do
  ip netns add "$name"
  ip -n "$name" link set lo up
done
ip link add wire0 netns "$client" type veth peer name left netns "$router"
ip link add right netns "$router" type veth peer name wire0 netns "$server"
for end in "$client wire0" "$router left" "$router right" "$server wire0"; do
  read -r name device <<<"$end"
  ip netns exec "$name" ethtool -K "$device" gso off tso off gro off tx off rx off sg off >/dev/null
  ip -n "$name" link set "$device" up
done
address() { ip -n "$1" addr add "$3" dev "$2" ${4:-}; }
address "$client" wire0 192.0.2.10/24
address "$router" left 192.0.2.1/24
address "$router" right 198.51.100.1/24
address "$server" wire0 198.51.100.80/24
address "$client" wire0 2001:db8:1::10/64 nodad
address "$router" left 2001:db8:1::1/64 nodad
address "$router" right 2001:db8:2::1/64 nodad
address "$server" wire0 2001:db8:2::80/64 nodad
ip netns exec "$router" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip -n "$client" route add default via 192.0.2.1
ip -n "$server" route add default via 198.51.100.1
ip -n "$client" -6 route add default via 2001:db8:1::1
ip -n "$server" -6 route add default via 2001:db8:2::1

mkdir "$scratch/www"
python3 - "$scratch/www" <<'PY'
import pathlib, random, sys
root, chance = pathlib.Path(sys.argv[1]), random.Random(5)
(root / "index.html").write_text("<html><h1>tidewire</h1><p>From packets to streams.</p></html>\n")
(root / "tides.txt").write_text("".join(f"{hour:02d}:00 {chance.uniform(-2, 3):+.2f} m at the tidewire gauge\n" for hour in range(24)) * 40)
(root / "noise.bin").write_bytes(chance.randbytes(40_000))
PY
cat >"$scratch/web.py" <<'PY'
"""A web server for both families that also takes uploads, and a name server and a sink beside it."""
import http.server, os, socket, sys, threading
os.chdir(sys.argv[1])

class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = b"%d bytes, thank you\n" % len(body)
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6

def names():
    service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    service.bind(("198.51.100.80", 53))
    while True:
        question, peer = service.recvfrom(2048)
        end = question.index(b"\0", 12) + 5
        record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + bytes([198, 51, 100, 80])
        service.sendto(question[:2] + b"\x81\x80\0\1\0\1\0\0\0\0" + question[12:end] + record, peer)

def echo():
    service = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    service.bind(("198.51.100.80", 7))
    while True:
        datagram, peer = service.recvfrom(65535)
        service.sendto(b"%d bytes arrived whole" % len(datagram), peer)

for task in (names, echo):
    threading.Thread(target=task, daemon=True).start()
Server(("::", 80), Handler).serve_forever()
PY
cat >"$scratch/talk.py" <<'PY'
"""talk.py names | datagram | upload: what curl does not do."""
import os, socket, sys, time
if sys.argv[1] == "names":
    for label in (b"www", b"gauge"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.settimeout(1)
            name = bytes([len(label)]) + label + b"\x08tidewire\x07example\0"
            asker.sendto(os.urandom(2) + b"\1\0\0\1\0\0\0\0\0\0" + name + b"\0\1\0\1", ("198.51.100.80", 53))
            asker.recvfrom(2048)
elif sys.argv[1] == "datagram":
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(1)
        sender.sendto(b"a datagram too large for the wire, so it is sent in fragments. " * 70, ("198.51.100.80", 7))
        sender.recvfrom(2048)
else:
    body = b"level +1.27 m, wind 14 m/s, all is well\n" * 300
    head = b"POST /report HTTP/1.1\r\nHost: gauge.tidewire.example\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("198.51.100.80", 80), 10) as connection:
        connection.sendall(head + body[:4000])
        time.sleep(0.2)
        print("break", flush=True)     # the router now loses what comes
        sys.stdin.readline()
        connection.sendall(body[4000:8000])
        print("mend", flush=True)
        sys.stdin.readline()
        connection.sendall(body[8000:])
        print(connection.recv(2000).decode().splitlines()[-1], flush=True)
PY

ip netns exec "$server" python3 "$scratch/web.py" "$scratch/www" >/dev/null 2>&1 & children+=($!)
sleep 1
ip netns exec "$client" ping -qc1 198.51.100.80 >/dev/null # neighbours are known from here on
ip netns exec "$client" ping -qc1 2001:db8:2::80 >/dev/null
ip netns exec "$client" tcpdump -i wire0 -s 0 -U -Z root -w "$out" 2>"$scratch/tcpdump.log" & dump=$!
children+=("$dump")
sleep 1

at_client=(ip netns exec "$client")
get=("${at_client[@]}" curl -s -o /dev/null -A tidewire-demo)
"${at_client[@]}" python3 "$scratch/talk.py" names
"${get[@]}" http://198.51.100.80/ http://198.51.100.80/tides.txt http://198.51.100.80/missing
"${get[@]}" "http://[2001:db8:2::80]/noise.bin"
"${at_client[@]}" ping -qc2 -i 0.2 198.51.100.80 >/dev/null
"${at_client[@]}" python3 "$scratch/talk.py" datagram
"${get[@]}" --connect-timeout 2 http://198.51.100.80:8080/ || true # nobody listens: a reset

# The upload: for 0.3 s the router loses everything for the server, and the client's kernel has to send again.
coproc upload { "${at_client[@]}" python3 "$scratch/talk.py" upload; }
read -r _ <&"${upload[0]}"
ip -n "$router" route replace blackhole 198.51.100.80/32
echo >&"${upload[1]}"
read -r _ <&"${upload[0]}"
sleep 0.3
ip -n "$router" route del blackhole 198.51.100.80/32
echo >&"${upload[1]}"
read -r answer <&"${upload[0]}"
echo "upload: $answer"

sleep 1
kill -TERM "$dump"
wait "$dump" || true
cat "$scratch/tcpdump.log" >&2
ls -l "$out"
