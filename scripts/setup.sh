#!/usr/bin/env bash
# setup.sh PURPOSE...: installs what is missing for the purposes named (build, test, programs, live, lab, bpf, fuzz, bench, readers); says what it does.
# setup.sh --list PURPOSE...: prints the packages of these purposes and installs nothing.
# setup.sh --version TOOL: prints the version of a tool that is wanted.
# The only place where packages are installed. Debian 12 (and what is derived from it); elsewhere it names what is needed.
set -euo pipefail
. "$(dirname "$0")/common.sh"

packages_for() {
  case "$1" in
    build) echo gcc libc6-dev libpcap-dev pkg-config ;;             # linker, C sources of zstd and SQLite, filter expressions
    test) echo tshark tcpdump nfdump iproute2 python3 python3-jsonschema jq xz-utils bzip2 lz4 zstd g++ valgrind libc6-dbg ;; # oracles, a collector, network namespaces, the C library
    programs) echo softflowd fprobe nfdump p0f ngrep argus-server argus-client ssldump nmap libndpi-bin libnids-dev python3-scapy openssl ;; # what runs over the drop-in libpcap
    live) echo iproute2 iputils-ping tcpdump nginx-light curl iperf3 bind9-dnsutils util-linux ethtool ;; # namespaces, and what talks in them
    lab) echo nginx-light wrk iperf3 tcpdump ethtool iproute2 iputils-ping python3 curl ;; # real traffic
    bpf) echo clang llvm linux-libc-dev ;;                          # the kernel programs (bpf/)
    fuzz) echo g++ ;;                                               # libFuzzer
    bench) echo libnids-dev softflowd nfdump argus-server tcpflow tshark tcpdump util-linux iproute2 strace libndpi-bin libndpi-dev libzmq3-dev valgrind iperf3 netsniff-ng bzip2 xz-utils zstd lz4 ;;
    kafka) echo make g++ libssl-dev pkg-config openjdk-17-jdk-headless maven ;; # librdkafka (features kafka, kafka-tls), and a broker to test with
    *) echo "setup.sh: unknown purpose '$1' (build, test, programs, live, lab, bpf, fuzz, bench, kafka)" >&2; return 2 ;;
  esac
}

# Tools that cargo builds, each in one version: what it finds must not depend on when it was installed.
version_of() {
  case "$1" in
    cargo-deny) echo 0.20.2 ;;
    cargo-semver-checks) echo 0.51.0 ;;
    *) echo "setup.sh: unknown tool '$1' (cargo-deny, cargo-semver-checks)" >&2; return 2 ;;
  esac
}

# Into cargo's own folder (CARGO_HOME/bin), without optimisation: it is run for a second, and built for minutes.
install_tool() {
  local tool=$1 wanted log
  wanted=$(version_of "$tool")
  [ "$("$tool" --version 2>/dev/null || cargo "${tool#cargo-}" --version 2>/dev/null)" != "$tool $wanted" ] || return 0
  echo "setup: building $tool $wanted (cargo install; once)" >&2
  log=$(mktemp)
  if ! cargo install --quiet --locked --force --debug "$tool" --version "$wanted" >"$log" 2>&1; then
    tail -n 5 "$log" >&2; rm -f "$log"
    echo "setup: $tool $wanted cannot be installed" >&2; return 1
  fi
  rm -f "$log"
}

install_missing() {
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = "install ok installed" ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup: not root, and no sudo; as root: apt-get install ${missing[*]}" >&2; return 1; }
    sudo=(sudo)
  fi
  echo "setup: installing ${missing[*]} (apt-get)" >&2
  # Recommended packages stay out, services do not start: a tool is wanted, not a daemon.
  local log
  log=$(mktemp)
  if ! { "${sudo[@]}" apt-get -qq update && "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    cat "$log" >&2; rm -f "$log"
    echo "setup: apt-get failed; it is needed for: ${missing[*]}" >&2; return 1
  fi
  rm -f "$log"
}

# Programs that read columns: Python packages in a folder of the build, each in one version. They are some 80 MB, and no test needs
# them: what they read is skipped without them.
readers=${CARGO_TARGET_DIR:-target}/readers
install_readers() {
  local log
  [ "$(cat "$readers/versions" 2>/dev/null)" != "$READERS" ] || return 0
  log=$(mktemp)
  rm -rf "$readers"
  # shellcheck disable=SC2086 # a list
  if ! { python3 -m venv "$readers" && timeout 120 "$readers/bin/pip" install -q --only-binary :all: --timeout 15 --retries 1 $READERS; } >"$log" 2>&1; then
    tail -n 2 "$log" >&2; rm -rf "$log" "$readers"
    echo "setup: $READERS cannot be installed; what they read is skipped" >&2; return 0
  fi
  echo "$READERS" >"$readers/versions"
  rm -f "$log"
}
READERS="duckdb==2.0.0 pyarrow==26.0.1"

check_toolchain() {
  local wanted have
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
  if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
    echo "setup: no Rust toolchain found; Tidewire needs Rust $wanted or later: https://rustup.rs" >&2; return 1
  fi
  have=$(rustc --version | cut -d' ' -f2 | cut -d- -f1)
  if [ "$(printf '%s\n%s\n' "$wanted" "$have" | sort -V | head -n 1)" != "$wanted" ]; then
    echo "setup: Rust $have ($(command -v rustc)) is too old; Tidewire needs Rust $wanted or later (rustup update stable)" >&2; return 1
  fi
}

if [ "${1:-}" = --list ]; then
  shift
  for purpose in "$@"; do packages_for "$purpose"; done | tr ' ' '\n'
  exit
fi

if [ "${1:-}" = --version ]; then version_of "$2"; exit; fi

wanted=() others=()
for purpose in "$@"; do
  [ "$purpose" != build ] || check_toolchain
  case "$purpose" in cargo-*) install_tool "$purpose"; continue ;; readers) install_missing python3-venv && install_readers; continue ;; esac
  # Tests of a program that cannot be installed say so: none of these is needed for the others.
  if [ "$purpose" = programs ]; then read -ra others <<<"$(packages_for "$purpose")"; continue; fi
  read -ra names <<<"$(packages_for "$purpose")"
  wanted+=("${names[@]}")
done
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
  echo "setup: not a Debian system, so nothing is installed; needed (Debian's names): ${wanted[*]} ${others[*]}" >&2; exit 0
fi
install_missing "${wanted[@]}"
for package in "${others[@]}"; do
  install_missing "$package" 2>/dev/null || echo "setup: $package cannot be installed; what needs it is skipped" >&2
done
