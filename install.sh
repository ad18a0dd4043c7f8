#!/bin/sh
# Installs winnow: fetches the archive of a release, compares it with its checksum, and puts the program into a folder.
#
#   sh install.sh             the newest release, into ~/.local/bin
#   VERSION=v1.2.3 TO=/usr/local/bin sh install.sh
#
# It needs curl or wget, tar, and sha256sum or shasum. FROM is another place of the releases.
set -eu

fail() { echo "install.sh: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

get() { # address, file
  if have curl; then curl -fsSL --retry 3 -o "$2" "$1"
  elif have wget; then wget -q -O "$2" "$1"
  else fail "curl or wget is needed"; fi || fail "$1 cannot be fetched"
}

main() {
  from=${FROM:-https://github.com/winnowhq/winnow/releases}
  to=${TO:-$HOME/.local/bin}
  case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) fail "there is no archive for $(uname -s); on Windows use scoop or winget" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no archive for $(uname -m)" ;;
  esac
  if [ -n "${VERSION:-}" ]; then files=$from/download/$VERSION; else files=$from/latest/download; fi

  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  get "$files/checksums.txt" "$folder/checksums.txt"
  line=$(grep -E "  winnow-[0-9][^ ]*-$os-$arch\.tar\.gz\$" "$folder/checksums.txt") || fail "this release has no archive for $os-$arch"
  sum=${line%% *}
  name=${line##* }
  get "$files/$name" "$folder/$name"
  if have sha256sum; then is=$(sha256sum "$folder/$name"); else is=$(shasum -a 256 "$folder/$name"); fi
  [ "${is%% *}" = "$sum" ] || fail "$name is not what checksums.txt says; nothing was installed"

  tar -xzf "$folder/$name" -C "$folder" winnow
  mkdir -p "$to"
  cp "$folder/winnow" "$to/winnow.new"
  chmod 755 "$to/winnow.new"
  mv "$to/winnow.new" "$to/winnow" # at once, also while it runs
  echo "$("$to/winnow" --version) is in $to"
  case :$PATH: in
    *:"$to":*) ;;
    *) echo "$to is not in PATH" ;;
  esac
}

main # at the end, so that half a script does nothing
