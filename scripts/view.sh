#!/usr/bin/env bash
# view.sh PURPOSE... -- COMMAND...: runs COMMAND where only those programs are to be found that a fresh machine has after
# `setup.sh PURPOSE...`: the packages of these purposes and all that they depend on, what every Debian has (essential and
# required packages), and the Rust toolchain. So a test that needs another package fails everywhere, and not only there
# where somebody tries it first. Nothing is installed here.
# PATH is one folder of links; HOME is empty; of other variables only those pass that cargo, rustc and the tests know.
# Elsewhere than on Debian it says so, and COMMAND sees all of the machine's programs.
set -euo pipefail
. "$(dirname "$0")/common.sh"
purposes=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do purposes+=("$1"); shift; done
[ "${1:-}" = -- ] && [ $# -gt 1 ] || { echo "view.sh: usage: view.sh PURPOSE... -- COMMAND..." >&2; exit 2; }
shift
if ! command -v dpkg-query >/dev/null; then
  echo "view: not a Debian system: tests see all programs of this machine, and skip what needs a missing one" >&2
  exec "$@"
fi

# Installed packages of the closure, one a line; `missing NAME` for those of the purposes that are not installed.
closure() {
  dpkg-query -W -f='${db:Status-Status}\t${Package}\t${Essential}\t${Priority}\t${Pre-Depends}, ${Depends}\t${Provides}\n' |
    awk -F '\t' -v purposes="$(scripts/setup.sh --list "${purposes[@]}" | tr '\n' ' ')" '
      function bare(name) { gsub(/\([^)]*\)|\[[^]]*\]|<[^>]*>|:[a-z0-9]+| /, "", name); return name }
      function add(name) { if (!(name in taken)) { taken[name] = 1; queue[++last] = name } }
      # The first alternative that is there, as it is or by what it provides.
      function need(group,   n, i, names, name) {
        n = split(group, names, "|")
        for (i = 1; i <= n; i++) { name = bare(names[i]); if (name in taken) return }
        for (i = 1; i <= n; i++) { name = bare(names[i]); if (name in depends) { add(name); return } }
        for (i = 1; i <= n; i++) { name = bare(names[i]); if (name in provider) { add(provider[name]); return } }
      }
      $1 == "installed" {
        depends[$2] = $5
        n = split($6, names, ",")
        for (i = 1; i <= n; i++) { name = bare(names[i]); if (name != "" && !(name in provider)) provider[name] = $2 }
        if ($3 == "yes" || $4 == "required") base[$2] = 1
      }
      END {
        for (name in base) add(name)
        n = split(purposes, names, " ")
        for (i = 1; i <= n; i++) if (names[i] in depends) add(names[i]); else print "missing " names[i]
        for (at = 1; at <= last; at++) {
          n = split(depends[queue[at]], groups, ",")
          for (i = 1; i <= n; i++) need(groups[i])
        }
        for (name in taken) print name
      }' | sort -u
}

# Links to the programs of the packages on standard input; a folder's name is what it is made of, so that it is made once.
programs() {
  local package list owned
  owned=$(mktemp)
  while read -r package; do
    for list in /var/lib/dpkg/info/"$package".list /var/lib/dpkg/info/"$package":*.list; do
      [ ! -f "$list" ] || cat "$list"
    done
  done | sed -nE 's#^(/usr)?(/s?bin/.)#/usr\2#p' >"$owned"
  local folder path target other
  for folder in /usr/sbin /usr/bin /sbin /bin; do
    find "$folder/" -mindepth 1 -maxdepth 1 ! -type d -printf '%p\t%l\n'
  done | sed -E 's#^/(s?bin)/#/usr/\1/#' | sort -u | awk -F '\t' -v OFS='\t' '
    FILENAME != "-" { owned[$1] = 1; next }
    { print (($1 in owned) ? "own" : $2 == "" ? "foreign" : "link"), $1 }' "$owned" - |
    while IFS=$'\t' read -r kind path; do
      case $kind in
        own) printf '%s\n' "$path" ;;
        link) # an alternative, or a name for another program: allowed where that is
          target=$(readlink -f "$path" | sed -E 's#^/(s?bin)/#/usr/\1/#')
          if [ -n "$target" ] && grep -qxF -- "$target" "$owned"; then printf '%s\n' "$path"
          else
            # Another alternative than the one that this machine prefers: the one that a fresh machine has.
            other=$(update-alternatives --list "${path##*/}" 2>/dev/null |
              while read -r other; do ! grep -qxF -- "$(readlink -f "$other")" "$owned" || { echo "$other"; break; }; done || true)
            [ -z "$other" ] || printf '%s\t%s\n' "$other" "${path##*/}"
          fi ;;
      esac
    done
  rm -f "$owned"
}

list=$(closure)
missing=$(sed -n 's/^missing //p' <<<"$list")
list=$(grep -v '^missing ' <<<"$list")
cargo=$(dirname "$(command -v cargo)")
root=${CARGO_TARGET_DIR:-target}/view
digest=$({ echo "$list"; echo "$cargo"; cat scripts/view.sh; stat -c %y /var/lib/dpkg/status; } | sha256sum | cut -c1-16)
view=$root/$digest
if [ ! -d "$view" ]; then
  mkdir -p "$root"
  work=$(mktemp -d "$root/making.XXXXXX")
  mkdir "$work/bin"
  programs <<<"$list" | while IFS=$'\t' read -r path name; do ln -sf "$path" "$work/bin/${name:-${path##*/}}"; done
  # The toolchain, wherever it is: names by which rustup knows what is meant.
  for path in "$cargo"/cargo* "$cargo"/rust* "$cargo"/clippy-driver; do
    [ ! -x "$path" ] || ln -sf "$path" "$work/bin/${path##*/}"
  done
  chmod 755 "$work"
  mv -T "$work" "$view" 2>/dev/null || rm -rf "$work" # another one was faster
fi
view=$(cd "$view" && pwd)

promised=all
if [ -n "$missing" ]; then
  promised="all but $(tr '\n' ' ' <<<"$missing")"
  echo "view: not installed, so that tests skip what needs a missing program: ${promised#all but }" >&2
fi
# Of this run alone, by the number that its process keeps: what a program leaves there must not help the next one. Those of
# runs that are over are removed.
for home in "$root"/home.*; do
  [ ! -d "/proc/${home##*.}" ] || continue
  [ ! -L "$home/.reachable" ] || rm -rf "$(readlink "$home/.reachable")"
  rm -rf "$home"
done
home=$(cd "$root" && pwd)/home.$$
rm -rf "$home"
mkdir "$home"
# Tests start programs as other users, who do not reach a checkout in a home that is closed to them, as root's is.
is_reachable() {
  local path=$1
  while [ "$path" != / ]; do
    case $(stat -c %A "$path") in *x | *t) path=$(dirname "$path") ;; *) return 1 ;; esac
  done
}
if ! is_reachable "$view"; then
  reachable=$(mktemp -d "${TMPDIR:-/tmp}/tidewire-view.XXXXXX")
  ln -s "$reachable" "$home/.reachable"
  cp -a "$view/bin" "$reachable/"
  chmod 755 "$reachable"
  view=$reachable
fi
environment=(PATH="$view/bin" HOME="$home" LC_ALL=C.UTF-8 TIDEWIRE_PROMISED="$promised"
  CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}")
while IFS= read -r -d '' variable; do
  name=${variable%%=*}
  case "$name" in
    CARGO_HOME | RUSTUP_HOME | TIDEWIRE_PROMISED) ;;
    CARGO* | RUST* | SSL_CERT* | CURL_CA* | *_proxy | *_PROXY | TIDEWIRE_* | TEST_* | FUZZ_* | ONLY | REQUIRE | TERM | TMPDIR)
      environment+=("$variable") ;;
  esac
done < <(env -0)
# Every test program has an end.
triple=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
environment+=("CARGO_TARGET_${triple}_RUNNER=$PWD/scripts/run-test.sh")
exec env -i "${environment[@]}" "$@"
