#!/usr/bin/env bash
# Builds what a tag publishes, publishes nothing, and installs each thing into an empty folder with an empty HOME, where the first
# command of the README must run. It prints a table: what was installed, its size, and how long it took.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
export CGO_ENABLED=0 AUR_KEY=none CHANGES=none

# A test file that does not compile elsewhere shows here, before the workflow runs there.
for os in windows darwin; do GOOS=$os go vet ./...; done

goreleaser() { GOFLAGS= go run github.com/goreleaser/goreleaser/v2@v2.15.1 "$@"; }
if [ "${1:-}" != installed ]; then # "installed" tries what an earlier run has built
  goreleaser check
  # Signatures and the bill of materials need cosign, syft and the workflow's identity.
  goreleaser release --snapshot --clean --skip=sign,sbom,publish
  make packages
fi

arch=$(go env GOARCH)
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
table=$work/table

# The flake is evaluated with stand-ins for nixpkgs, and its hash is held against the modules. Nothing is built with Nix here.
if command -v nix-instantiate >/dev/null && command -v nix-hash >/dev/null; then
  git clone -q "$root" "$work/flake"
  (cd "$work/flake" && GOFLAGS= go mod vendor)
  want=sha256-$(nix-hash --type sha256 "$work/flake/vendor" | python3 -c 'import base64, sys; print(base64.b64encode(bytes.fromhex(sys.stdin.read())).decode())')
  got=$(nix-instantiate --eval --strict --json -E "
    let
      pkgs = { buildGoModule = x: x; lib.licenses.mit = \"MIT\"; };
      nixpkgs = { lib.genAttrs = names: f: builtins.listToAttrs (map (name: { inherit name; value = f name; }) names); legacyPackages.x86_64-linux = pkgs; };
    in ((import $root/flake.nix).outputs { self = \"\"; inherit nixpkgs; }).packages.x86_64-linux.default.vendorHash" | tr -d '"')
  [ "$want" = "$got" ] || { echo "flake.nix has the vendorHash $got; it must be $want" >&2; exit 1; }
  echo "flake.nix: vendorHash $got"
else
  echo "flake.nix is not checked: there is no nix-instantiate"
fi

# try NAME FILE COMMAND...: runs an installation in a folder of its own, then the program that it leaves at ./winnow.
try() {
  local name=$1 file=$2 began
  shift 2
  mkdir -p "$work/$name/home"
  began=$(date +%s%N)
  (cd "$work/$name" && HOME=$work/$name/home "$@") >"$work/$name.log" 2>&1 || { cat "$work/$name.log" >&2; echo "$name: not installed" >&2; exit 1; }
  printf '%s\t%s\t%s\n' "$name" "$(du -h "$file" | cut -f1)" "$((($(date +%s%N) - began) / 1000000)) ms" >>"$table"
  (cd "$work/$name" && HOME=$work/$name/home ./winnow inspect "$root/examples/long-session.json") >"$work/$name.out"
  grep -q 'Expiry tracking for larder' "$work/$name.out" || { cat "$work/$name.out" >&2; echo "$name: inspect does not run" >&2; exit 1; }
}

archive=$(ls "$root"/build/release/winnow-*-linux-"$arch".tar.gz)
try archive "$archive" tar -xzf "$archive"
for wanted in man/man1/winnow.1 completions/winnow.bash completions/_winnow completions/winnow.fish LICENSE README.md; do
  [ -f "$work/archive/$wanted" ] || { echo "the archive has no $wanted" >&2; exit 1; }
done

mkdir -p "$work/served/latest"
ln -s "$root/build/release" "$work/served/latest/download"
python3 -m http.server --bind 127.0.0.1 --directory "$work/served" 48917 >/dev/null 2>&1 &
server=$!
for _ in $(seq 50); do curl -fs http://127.0.0.1:48917/ >/dev/null && break; sleep 0.1; done
try install.sh "$archive" env FROM=http://127.0.0.1:48917 TO="$work/install.sh" sh "$root/install.sh"
mkdir -p "$work/forged/latest/download"
cp build/release/checksums.txt "$work/forged/latest/download"
head -c 1000 "$archive" >"$work/forged/latest/download/$(basename "$archive")"
kill "$server"; wait "$server" 2>/dev/null || true
python3 -m http.server --bind 127.0.0.1 --directory "$work/forged" 48917 >/dev/null 2>&1 &
server=$!
for _ in $(seq 50); do curl -fs http://127.0.0.1:48917/ >/dev/null && break; sleep 0.1; done
if FROM=http://127.0.0.1:48917 TO="$work/nothing" sh install.sh >"$work/forged.log" 2>&1 || ! grep -q 'not what checksums.txt says' "$work/forged.log"; then
  cat "$work/forged.log" >&2; echo "install.sh takes an archive with another checksum" >&2; exit 1
fi

deb() {
  mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates root/var/lib/dpkg/triggers
  touch root/var/lib/dpkg/status
  dpkg --root="$PWD/root" --force-depends -i "$1"
  [ -f root/usr/share/man/man1/winnow.1 ] || [ -f root/usr/share/man/man1/winnow.1.gz ]
  ln -s root/usr/bin/winnow winnow
}
package=$(ls "$root"/build/release/winnow_*_"$arch".deb)
if command -v dpkg >/dev/null && [ "$(id -u)" = 0 ]; then try deb "$package" deb "$package"; fi

npmed() {
  npm install --silent --no-audit --no-fund --offline "$1" "$2"
  ln -s node_modules/.bin/winnow winnow
  node --input-type=module -e '
    import { Winnow } from "@winnowhq/winnow";
    const winnow = await Winnow.start({ command: undefined });
    const { session } = await winnow.create({});
    if (!session) throw new Error("no session");
    for (const [name, hook] of [["ai-sdk", "pruneStep"], ["mastra", "pruneProcessor"], ["langchain", "pruneModelCall"]]) {
      (await import("@winnowhq/winnow/" + name))[hook](winnow);
    }
    await winnow.close();'
}
platform=linux-$([ "$arch" = amd64 ] && echo x64 || echo "$arch")
try npm "$(ls "$root"/build/packages/npm/winnowhq-winnow-"$platform"-*.tgz)" npmed \
  "$root"/build/packages/npm/winnowhq-winnow-"$platform"-*.tgz "$(ls "$root"/build/packages/npm/winnowhq-winnow-[0-9]*.tgz)"

# A client of the Model Context Protocol starts what server.json names, from the package that npm has installed.
cd "$work/npm"
npm install --silent --no-audit --no-fund @modelcontextprotocol/sdk@1
HOME=$work/npm/home node --input-type=module -e '
  import { readFileSync } from "node:fs";
  import { Client } from "@modelcontextprotocol/sdk/client/index.js";
  import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
  const [of] = JSON.parse(readFileSync(process.argv[1])).packages;
  const args = ["--no", of.identifier, ...of.packageArguments.map((a) => a.value)];
  const client = new Client({ name: "check", version: "1" });
  await client.connect(new StdioClientTransport({ command: "npx", args, env: process.env }));
  const { tools } = await client.listTools();
  if (!tools.some((t) => t.name === "recall")) throw new Error("no recall among " + tools.map((t) => t.name));
  await client.close();
  console.log("server.json: " + tools.map((t) => t.name).join(", "));' "$root/server.json"
cd "$root"

pipped() {
  python3 -m venv env
  env/bin/pip install --quiet --no-index --disable-pip-version-check "$1"
  ln -s env/bin/winnow winnow
  PATH=/usr/bin:/bin env/bin/python -c '
from winnow import Winnow
from winnow_prune import Pruner
with Winnow() as winnow:
    assert winnow.create()["session"]
    assert Pruner(winnow=winnow).decide([{"role": "user", "content": "Hello."}]) is None'
}
wheel=$(ls "$root"/build/packages/python/*manylinux*"$(uname -m)"*.whl)
try wheel "$wheel" pipped "$wheel"

column -t -s"$(printf '\t')" "$table" 2>/dev/null || cat "$table"
