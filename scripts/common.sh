# Sourced by the other scripts: goes to the project's root, and finds the Rust toolchain where rustup put it.
# A shell that was open while rustup was installed, a CI job or `sudo` need not have it on PATH.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v cargo >/dev/null; then
  PATH="${CARGO_HOME:-${HOME:-/root}/.cargo}/bin:$PATH"
  export PATH
fi
