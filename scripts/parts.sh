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

# The examples of the guide, each with the features that its first line names. Lines that begin with '# ' are hidden in documents.
mkdir -p "$folder/guide/src"
: >"$folder/guide/src/lib.rs"
cp Cargo.lock "$folder/guide"
awk -v to="$folder/guide/examples" '
  /^```rust/ { inside = 1; text = ""; feature = ""; main = 0; next }
  inside && /^```$/ {
    inside = 0; name = feature == "" ? "default" : feature; file = to "/" name "_" (++count) ".rs"
    system("mkdir -p " to)
    print "#![allow(unused)]\n" (main ? text : "fn main() {\n" text "}") >file; close(file); next
  }
  inside {
    if ($0 ~ /^\/\/ Feature: /) { feature = $3; next }
    line = $0; sub(/^#( |$)/, "", line); if (line ~ /^fn main/) main = 1; text = text line "\n"
  }
' docs/library.md
for feature in default filter live; do
  more=""; [ $feature = default ] || more=", features = [\"$feature\"]"
  {
    printf '[package]\nname = "guide"\nversion = "0.0.0"\nedition = "2024"\nautoexamples = false\n\n[dependencies]\n'
    printf 'tidewire = { path = "%s/crates/tidewire"%s }\n' "$PWD" "$more"
    for file in "$folder/guide/examples/${feature}"_*.rs; do
      printf '\n[[example]]\nname = "%s"\npath = "%s"\n' "$(basename "$file" .rs)" "$file"
    done
  } >"$folder/guide/Cargo.toml"
  (cd "$folder/guide" && cargo check --quiet --offline --examples)
  echo "parts: $(ls "$folder/guide/examples/${feature}"_*.rs | wc -l) examples of docs/library.md compile with the features: $feature"
done
scripts/package.sh --verify
