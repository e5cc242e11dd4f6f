#!/usr/bin/env bash
# Builds a program of a stranger's, outside of the workspace, that reads capture files and nothing else: without libpcap, eBPF
# and seccomp, and runs it on the bundled capture. Says how long that took. Then builds every published crate from its package.
set -euo pipefail
. "$(dirname "$0")/common.sh"
scripts/setup.sh build
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/src"
cp Cargo.lock "$folder" # the versions that are tested here
cat >"$folder/Cargo.toml" <<END
[package]
name = "stranger"
version = "0.0.0"
edition = "2024"

[dependencies]
tidewire = { path = "$PWD/crates/tidewire", default-features = false, features = ["files"] }
END
cat >"$folder/src/main.rs" <<'END'
fn main() -> Result<(), tidewire::Error> {
    let path = std::env::args().nth(1).expect("a capture");
    let mut bytes = 0;
    let outcome = tidewire::Capture::file(path).on_data(|_, chunk| bytes += chunk.bytes.len()).run()?;
    println!("{} packets, {bytes} bytes", outcome.ledger.received);
    Ok(())
}
END
begun=$SECONDS
(cd "$folder" && cargo build --quiet --offline)
took=$((SECONDS - begun))
program=$folder/target/debug/stranger
if ldd "$program" | grep -E 'libpcap|libelf|libbpf'; then
  echo "parts: a program that only reads files needs these libraries" >&2; exit 1
fi
"$program" tests/corpus/demo/demo.pcap
echo "parts: built in $took s; libraries: $(ldd "$program" | awk '{print $1}' | tr '\n' ' ')"
scripts/package.sh --verify
