# Sourced: begin_web FOLDER serves files with nginx over a cable between two network namespaces that it makes, $here and $there; the
# interface is `tap` in both. $folder/large.lua asks for files of 1 to 10 MB four times a connection, $folder/mixed.lua for files of
# log-normal sizes (median 11 KB, mean 32 KB, at most 5 MB), once in seven connections of ten. end_web takes it down.
here=tw-here-$$ there=tw-there-$$

begin_web() {
  local end megabytes
  folder=$1
  ip netns add "$here"
  ip netns add "$there"
  ip -n "$here" link add tap type veth peer name tap netns "$there"
  for end in "$here" "$there"; do ip -n "$end" link set lo up; ip -n "$end" link set tap up; done
  ip -n "$here" address add 10.99.1.1/24 dev tap
  ip -n "$there" address add 10.99.1.2/24 dev tap
  ip netns exec "$here" sysctl -qw net.ipv4.ip_local_port_range="2000 65000" net.ipv4.tcp_tw_reuse=1
  mkdir "$folder/www"
  for megabytes in 1 2 5 10; do head -c "${megabytes}M" /dev/urandom >"$folder/www/$megabytes"; done
  python3 - "$folder/www" <<'PY'
import pathlib, random, sys
root, chance = pathlib.Path(sys.argv[1]), random.Random(2026)
for number in range(500):
    size = int(min(5e6, max(1000, chance.lognormvariate(9.3, 1.5))))
    (root / f"page{number}").write_bytes(chance.randbytes(size))
PY
  chmod -R a+rX "$folder"
  cat >"$folder/nginx.conf" <<NGINX
daemon on; worker_processes 1; pid $folder/pid; error_log $folder/errors;
events { worker_connections 4096; }
http { access_log off; sendfile on; keepalive_requests 4;
  client_body_temp_path $folder/a; proxy_temp_path $folder/b; fastcgi_temp_path $folder/c; uwsgi_temp_path $folder/d; scgi_temp_path $folder/e;
  server { listen 10.99.1.2:80; root $folder/www; } }
NGINX
  ip netns exec "$there" nginx -e "$folder/errors" -c "$folder/nginx.conf"
  cat >"$folder/large.lua" <<'LUA'
local files, count = { "/1", "/2", "/1", "/5", "/1", "/10" }, 0
request = function()
  count = count + 1
  return wrk.format("GET", files[count % #files + 1], { ["User-Agent"] = "bench/1.0" })
end
LUA
  cat >"$folder/mixed.lua" <<'LUA'
function init() math.randomseed(2026) end
request = function()
  local headers = { ["User-Agent"] = "bench/1.0" }
  if math.random() < 0.7 then headers["Connection"] = "close" end
  return wrk.format("GET", "/page" .. math.random(0, 499), headers)
end
LUA
}

end_web() {
  [ ! -f "$folder/pid" ] || kill "$(cat "$folder/pid")" 2>/dev/null || true
  ip netns del "$here" 2>/dev/null || true
  ip netns del "$there" 2>/dev/null || true
}
