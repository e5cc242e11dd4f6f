#!/usr/bin/env bash
# bpf.sh: builds the kernel programs (bpf/*.bpf.c) into the objects that are committed in the crates that load them.
# bpf.sh --check: whether the committed objects are those of these sources, by their digest (bpf/built.sha256), and, where
# the clang that made them is here, by building them again.
set -euo pipefail
. "$(dirname "$0")/common.sh"

# FOLDER/NAME SOURCE OPTIONS: objects need not be of sources with their name.
objects=(
  "crates/tidewire-live/objects/capture_xdp capture -DREAD_XDP"
  "crates/tidewire-live/objects/capture_socket capture -DREAD_SOCKET"
  "crates/tidewire-gen/objects/generate generate"
  "crates/tidewire-live/objects/split split"
)
flags=(-target bpf -fdebug-compilation-dir=. -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare)
clang=${CLANG:-clang}

# Below the folder named; from bpf/, so that no path of this machine gets into an object.
build() {
  local out=$1 object name source options
  for object in "${objects[@]}"; do
    read -r name source options <<<"$object"
    mkdir -p "$out/$(dirname "$name")"
    # shellcheck disable=SC2086 # options are words
    (cd bpf && "$clang" "${flags[@]}" $options -c "$source.bpf.c" -o "$out/$name.bpf.o")
    "${LLVM_STRIP:-llvm-strip}" -g "$out/$name.bpf.o" # what debuggers want, not what the kernel does
  done
}

# What the objects depend on, and they themselves.
digests() { sha256sum bpf/*.c bpf/*.h crates/*/objects/*.o scripts/bpf.sh; }
version() { "$clang" --version 2>/dev/null | head -n 1 || true; }

if [ "${1:-}" != --check ]; then
  scripts/setup.sh bpf
  build "$PWD"
  { version; digests; } >bpf/built.sha256
  echo "bpf: built by $(version)"
  exit 0
fi

if ! diff <(tail -n +2 bpf/built.sha256) <(digests) >&2; then
  echo "bpf: the objects are not those of the sources in bpf/; build them: scripts/bpf.sh" >&2; exit 1
fi
scripts/setup.sh bpf
if [ "$(head -n 1 bpf/built.sha256)" != "$(version)" ]; then
  echo "bpf: digests agree; not built again: made by $(head -n 1 bpf/built.sha256), here is $(version)"
  exit 0
fi
again=$(mktemp -d)
trap 'rm -rf "$again"' EXIT
build "$again"
for object in crates/*/objects/*.o; do
  cmp "$again/$object" "$object" || { echo "bpf: $object is not what clang makes of it" >&2; exit 1; }
done
echo "bpf: objects are fresh"
