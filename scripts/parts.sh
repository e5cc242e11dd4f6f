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

# Calls of features that are off: the compiler names the feature (crates/tidewire/src/missing.rs). Of live, without files, too.
mkdir -p "$folder/missing/src"
cp Cargo.lock "$folder/missing"
refused() { # FEATURES MISSING STATEMENT
  printf '[package]\nname = "missing"\nversion = "0.0.0"\nedition = "2024"\n\n[dependencies]\n' >"$folder/missing/Cargo.toml"
  printf 'tidewire = { path = "%s/crates/tidewire", default-features = false, features = ["%s"] }\n' "$PWD" "$1" >>"$folder/missing/Cargo.toml"
  printf '#![allow(unused)]\nuse tidewire::Capture;\n\nfn main() {\n    %s;\n}\n' "$3" >"$folder/missing/src/main.rs"
  local said
  if said=$(cd "$folder/missing" && cargo check --quiet --offline 2>&1); then
    echo "parts: compiles without the feature $2: $3" >&2; exit 1
  fi
  if ! grep -qE "the feature .$2. of tidewire, which is off|gated behind the .$2. feature" <<<"$said"; then
    echo "parts: the compiler does not name the feature $2: $3" >&2; echo "$said" >&2; exit 1
  fi
}
refused files filter 'Capture::file("x").filter("tcp").for_each_stream(|_| ())'
refused files filter 'tidewire::StreamClass::matching("tcp")'
refused files filter 'tidewire::Application::new(()).filter("tcp")'
refused files live 'Capture::live(["eth0"])'
refused files live 'let settings = tidewire::live::LiveSettings::new(["eth0"])'
refused files protocols 'for _ in Capture::file("x").transactions() {}'
refused files protocols 'Capture::file("x").for_each_transaction(|_| ())'
refused files protocols 'Capture::file("x").run_transactions(|_| ())'
refused files protocols 'let fields: Option<tidewire::protocols::Fields> = None'
refused live files 'Capture::file("x")'
refused live files 'Capture::reader(std::io::stdin())'
echo "parts: calls of features that are off name the feature"

# The examples of the guide, each with the features or crates that its first line names. Lines that begin with '# ' are hidden in documents.
mkdir -p "$folder/guide/src"
: >"$folder/guide/src/lib.rs"
cp Cargo.lock "$folder/guide"
awk -v to="$folder/guide/examples" '
  /^```rust/ { inside = 1; text = ""; group = "default"; main = 0; next }
  inside && /^```$/ {
    inside = 0; file = to "/" group "/" (++count) ".rs"
    system("mkdir -p " to "/" group)
    print "#![allow(unused)]\n" (main ? text : "fn main() {\n" text "}") >file; close(file); next
  }
  inside {
    if ($0 ~ /^\/\/ Features?: /) { $1 = $2 = ""; gsub(/[ ,]+/, "+"); group = "features" $0; next }
    if ($0 ~ /^\/\/ Crates?: /) { $1 = $2 = ""; gsub(/[ ,]+/, "+"); group = "crates" $0; next }
    line = $0; sub(/^#( |$)/, "", line); if (line ~ /^fn main/) main = 1; text = text line "\n"
  }
' docs/library.md
for examples in "$folder/guide/examples"/*/; do
  group=$(basename "$examples")
  IFS=+ read -ra words <<<"$group"
  features=; crates=()
  case ${words[0]} in
    features) features=$(printf '"%s", ' "${words[@]:1}") ;;
    crates) crates=("${words[@]:1}") ;;
  esac
  {
    printf '[package]\nname = "guide"\nversion = "0.0.0"\nedition = "2024"\nautoexamples = false\n\n[dependencies]\nserde_json = "1"\n'
    printf 'tidewire = { path = "%s/crates/tidewire", features = [%s] }\n' "$PWD" "$features"
    for crate in "${crates[@]}"; do printf '%s = { path = "%s/crates/%s" }\n' "$crate" "$PWD" "$crate"; done
    for file in "$examples"*.rs; do
      printf '\n[[example]]\nname = "%s"\npath = "%s"\n' "$(basename "$file" .rs)" "$file"
    done
  } >"$folder/guide/Cargo.toml"
  (cd "$folder/guide" && cargo check --quiet --offline --examples)
  echo "parts: $(ls "$examples"*.rs | wc -l) examples of docs/library.md compile with: ${group//+/ }"
done
scripts/package.sh --verify
