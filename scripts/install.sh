#!/usr/bin/env bash
# Builds and installs the command, the drop-in libpcap and the library of queues with their headers, manual pages and
# completion scripts.
# PREFIX: where to (/usr/local); DESTDIR: put before it, for packages. UNINSTALL=1 (`make uninstall`) removes the same files.
# FEATURES: optional parts, as parquet or parquet,kafka. BUILT: a folder with an earlier build; then nothing is built.
# What is installed is stripped; SYMBOLS=1 keeps the symbols in `.debug` beside it, where debuggers look.
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

# Samples of the configuration that the units need.
samples=(record.toml sensor.toml)

# Completion scripts, and where each shell looks for them.
completions=(
  "tidewire.bash share/bash-completion/completions/tidewire"
  "tidewire.fish share/fish/vendor_completions.d/tidewire.fish"
  "_tidewire share/zsh/site-functions/_tidewire"
)

# Makes the loader's cache name the libraries, or no longer; packages leave that to their own scripts.
refresh_loader() {
  if [ -z "${DESTDIR:-}" ] && [ "$(id -u)" = 0 ] && searched_by_loader; then ldconfig; fi
}

# Whether the loader looks into the folder of libraries by itself.
searched_by_loader() {
  command -v ldconfig >/dev/null && ldconfig -v -N 2>/dev/null | sed -n 's/^\(\/[^:]*\):.*/\1/p' | grep -qxF "$prefix/lib"
}

# install_binary MODE FROM TO: installs a program or a shared library without its symbols.
install_binary() {
  install -D -m "$1" "$2" "$3"
  if [ "${SYMBOLS:-}" = 1 ]; then
    local symbols
    symbols=$(dirname "$3")/.debug/$(basename "$3").debug
    mkdir -p "$(dirname "$symbols")"
    objcopy --only-keep-debug "$3" "$symbols"
    strip --strip-unneeded "$3"
    objcopy --add-gnu-debuglink="$symbols" "$3"
  else
    strip --strip-unneeded "$3"
  fi
}

if [ "${UNINSTALL:-}" = 1 ]; then
  rm -f "$to/bin/tidewire" "$library/libtidewire_pcap.so" "${names[@]/#/$library/}" \
    "$to/include/tidewire/pcap-fanout.h" "$to/lib/pkgconfig/tidewire-pcap.pc" \
    "$to/include/tidewire/queue.h" "$to/include/tidewire/event.h" "$to/lib/pkgconfig/tidewire-queue.pc" "$to/lib/libtidewire_queue.a" \
    "$to"/lib/libtidewire_queue.so.0.* "${queue_names[@]/#/$to/lib/}" \
    "$to/lib/systemd/system/tidewire-sensor.service" "$to/lib/systemd/system/tidewire-collect.service" \
    "$to/lib/systemd/system/tidewire-record.service" "$to/lib/sysusers.d/tidewire.conf" \
    "${samples[@]/#/$to/share/doc/tidewire/}" \
    "$to"/bin/.debug/tidewire.debug "$library"/.debug/libtidewire_pcap.so.debug "$to"/lib/.debug/libtidewire_queue.so.*.debug
  for page in docs/man/*.[1-8]*; do section=${page##*.}; rm -f "$to/share/man/man${section:0:1}/$(basename "$page")"; done
  for entry in "${completions[@]}"; do rm -f "$to/${entry#* }"; done
  for folder in "$to/bin/.debug" "$library/.debug" "$to/lib/.debug" "$library" "$to/include/tidewire" "$to/share/doc/tidewire"; do
    rmdir "$folder" 2>/dev/null || true
  done
  refresh_loader
  echo "install: removed from $to"
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

install_binary 755 "$built/tidewire" "$to/bin/tidewire"
install_binary 644 "$built/libtidewire_pcap.so" "$library/libtidewire_pcap.so"
for name in "${names[@]}"; do ln -sf libtidewire_pcap.so "$library/$name"; done
install -D -m 644 crates/tidewire-pcap/include/tidewire/pcap-fanout.h "$to/include/tidewire/pcap-fanout.h"
for name in queue event; do install -D -m 644 "crates/tidewire-queue-c/include/tidewire/$name.h" "$to/include/tidewire/$name.h"; done
install -D -m 644 "$built/libtidewire_queue_c.a" "$to/lib/libtidewire_queue.a"
strip --strip-debug "$to/lib/libtidewire_queue.a"
install_binary 644 "$built/libtidewire_queue_c.so" "$to/lib/libtidewire_queue.so.$version"
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
for sample in "${samples[@]}"; do install -D -m 644 "packaging/$sample" "$to/share/doc/tidewire/$sample"; done
for page in docs/man/*.[1-8]*; do
  section=${page##*.}
  install -D -m 644 "$page" "$to/share/man/man${section:0:1}/$(basename "$page")"
done
for entry in "${completions[@]}"; do install -D -m 644 "docs/completions/${entry%% *}" "$to/${entry#* }"; done
refresh_loader
echo "install: $to/bin/tidewire, $library, $to/lib/libtidewire_queue.so, manual pages, completions (make uninstall removes them)"
echo "install: samples of configurations for the services are in $to/share/doc/tidewire"
if [ -z "${DESTDIR:-}" ] && ! searched_by_loader; then
  echo "install: programs that load libtidewire_queue.so.0 by name (Python's ctypes) need LD_LIBRARY_PATH=$prefix/lib"
fi
