#!/usr/bin/env bash
# Builds and installs the command, the drop-in libpcap and the library of queues with their headers, manual pages and
# completion scripts.
# PREFIX: where to (/usr/local); DESTDIR: put before it, for packages. UNINSTALL=1 takes the same files away.
# FEATURES: what is not built otherwise, as parquet or parquet,kafka. BUILT: a folder with what was built before; then nothing is built.
set -euo pipefail
. "$(dirname "$0")/common.sh"
prefix=${PREFIX:-/usr/local}
case "$prefix" in /*) ;; *) echo "install: PREFIX must be an absolute path, not '$prefix'" >&2; exit 2 ;; esac
to=${DESTDIR:-}$prefix
library=$to/lib/tidewire

# What programs that are linked with libpcap ask the loader for: Debian's name, then everybody else's.
names=(libpcap.so.0.8 libpcap.so.1)

# The library of queues and events: what programs ask the loader for, and what the linker looks for.
queue_names=(libtidewire_queue.so.0 libtidewire_queue.so)

# Completion scripts, and where each shell looks for them.
completions=(
  "tidewire.bash share/bash-completion/completions/tidewire"
  "tidewire.fish share/fish/vendor_completions.d/tidewire.fish"
  "_tidewire share/zsh/site-functions/_tidewire"
)

if [ "${UNINSTALL:-}" = 1 ]; then
  rm -f "$to/bin/tidewire" "$library/libtidewire_pcap.so" "${names[@]/#/$library/}" \
    "$to/include/tidewire/pcap-fanout.h" "$to/lib/pkgconfig/tidewire-pcap.pc" \
    "$to/include/tidewire/queue.h" "$to/include/tidewire/event.h" "$to/lib/pkgconfig/tidewire-queue.pc" "$to/lib/libtidewire_queue.a" \
    "$to"/lib/libtidewire_queue.so.0.* "${queue_names[@]/#/$to/lib/}" \
    "$to/lib/systemd/system/tidewire-sensor.service" "$to/lib/systemd/system/tidewire-collect.service" \
    "$to/lib/systemd/system/tidewire-record.service" "$to/lib/sysusers.d/tidewire.conf" "$to/share/doc/tidewire/record.toml"
  for page in docs/man/*.[1-8]*; do section=${page##*.}; rm -f "$to/share/man/man${section:0:1}/$(basename "$page")"; done
  for entry in "${completions[@]}"; do rm -f "$to/${entry#* }"; done
  rmdir "$library" "$to/include/tidewire" "$to/share/doc/tidewire" 2>/dev/null || true
  echo "install: taken away from $to"
  exit 0
fi

built=${BUILT:-${CARGO_TARGET_DIR:-target}/release}
if [ -z "${BUILT:-}" ]; then
  scripts/setup.sh build
  features=()
  for feature in $(printf '%s' "${FEATURES:-}" | tr ',' ' '); do features+=(--features "tidewire-cli/$feature"); done
  cargo build --locked --release -p tidewire-cli -p tidewire-pcap -p tidewire-queue-c "${features[@]}"
fi
for name in tidewire libtidewire_pcap.so libtidewire_queue_c.so libtidewire_queue_c.a; do
  [ -f "$built/$name" ] || { echo "install: $name is not in $built: build it, or unset BUILT" >&2; exit 2; }
done
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

install -D -m 755 "$built/tidewire" "$to/bin/tidewire"
install -D -m 644 "$built/libtidewire_pcap.so" "$library/libtidewire_pcap.so"
for name in "${names[@]}"; do ln -sf libtidewire_pcap.so "$library/$name"; done
install -D -m 644 crates/tidewire-pcap/include/tidewire/pcap-fanout.h "$to/include/tidewire/pcap-fanout.h"
for name in queue event; do install -D -m 644 "crates/tidewire-queue-c/include/tidewire/$name.h" "$to/include/tidewire/$name.h"; done
install -D -m 644 "$built/libtidewire_queue_c.a" "$to/lib/libtidewire_queue.a"
install -D -m 644 "$built/libtidewire_queue_c.so" "$to/lib/libtidewire_queue.so.$version"
for name in "${queue_names[@]}"; do ln -sf "libtidewire_queue.so.$version" "$to/lib/$name"; done
mkdir -p "$to/lib/pkgconfig"
for package in tidewire-pcap/tidewire-pcap tidewire-queue-c/tidewire-queue; do
  sed -e "s|@PREFIX@|$prefix|; s|@VERSION@|$version|" "crates/$package.pc.in" > "$to/lib/pkgconfig/${package#*/}.pc"
done
mkdir -p "$to/lib/systemd/system"
for unit in tidewire-sensor tidewire-collect tidewire-record; do
  sed -e "s|@PREFIX@|$prefix|" "packaging/$unit.service" > "$to/lib/systemd/system/$unit.service"
done
install -D -m 644 packaging/tidewire.conf "$to/lib/sysusers.d/tidewire.conf"
install -D -m 644 packaging/record.toml "$to/share/doc/tidewire/record.toml"
for page in docs/man/*.[1-8]*; do
  section=${page##*.}
  install -D -m 644 "$page" "$to/share/man/man${section:0:1}/$(basename "$page")"
done
for entry in "${completions[@]}"; do install -D -m 644 "docs/completions/${entry%% *}" "$to/${entry#* }"; done
echo "install: $to/bin/tidewire, $library, $to/lib/libtidewire_queue.so, manual pages, completions (UNINSTALL=1 make install takes them away)"
