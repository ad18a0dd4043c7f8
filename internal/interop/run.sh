#!/bin/sh
# Runs the real products against the scripted upstream, with no network but loopback, and prints what was tried with
# which version.
#   internal/interop/run.sh [NODE_MODULES] [go test flags…]
# NODE_MODULES is a node_modules folder that holds the products. Without it the newest that npm has and can install are
# installed into a temporary folder, and after them those of an older version that is pinned below. Needs npm, Node 22
# (fetched from npm where the machine's is older), and the right to make a network namespace (root, or unprivileged user
# namespaces).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false

# command, package, and package and version that is pinned, if one is
products='claude @anthropic-ai/claude-code @anthropic-ai/claude-code@2.1.197
codex @openai/codex @openai/codex@0.169.0
opencode opencode-ai opencode-ai@1.18.33
pi @earendil-works/pi-coding-agent @mariozechner/pi-coding-agent@0.73.1
qwen @qwen-code/qwen-code
gemini @google/gemini-cli
cline cline
copilot @github/copilot
kilo @kilocode/cli'

modules=
case "${1:-}" in
'' | -*) ;;
*) modules=$(cd "$1" && pwd); shift ;;
esac

# add FOLDER PACKAGE@VERSION installs, with the scripts of the package, which newer npm runs only when they are approved.
add() {
	npm install --loglevel error --prefix "$1" "$2" >"$folder/log" 2>&1 || return 1
	if npm --prefix "$1" install-scripts approve "${2%@*}" >/dev/null 2>&1; then
		npm --loglevel error --prefix "$1" rebuild "${2%@*}" >"$folder/log" 2>&1 || return 1
	fi
}

# addNewest FOLDER PACKAGE installs the newest version that can be: some that npm lists need packages that it lacks.
addNewest() {
	latest=$(npm view "$2" version 2>/dev/null)
	for version in $(npm view "$2" versions --json 2>/dev/null | grep -oE '"[0-9]+\.[0-9]+\.[0-9]+"' | tr -d '"' |
		sort -rV | awk -v latest="$latest" '$0 == latest { on = 1 } on' | head -n 12); do
		add "$1" "$2@$version" && return
		echo "$2 $version cannot be installed: $(grep -m 1 -o 'No matching version.*' "$folder/log" || tail -n 1 "$folder/log")" >&2
	done
	return 1
}

# manifest MODULES COMMAND is the package.json of what the command belongs to.
manifest() {
	at=$(dirname "$(readlink -f "$1/.bin/$2" 2>/dev/null || echo /none/none)")
	while [ "$at" != / ] && ! grep -qs '"version"' "$at/package.json"; do at=$(dirname "$at"); done
	echo "$at/package.json"
}

# versions MODULES lists command and version of the products that are there.
versions() {
	echo "$products" | while read -r command _; do
		file=$(manifest "$1" "$command")
		[ ! -f "$file" ] || echo "$command $(sed -nE 's/^[[:space:]]*"version": *"([^"]*)".*/\1/p' "$file" | head -n 1)"
	done
}

# missing VERSIONS lists the products that are not in a list of versions: the table names them.
missing() { echo "$products" | while read -r command _; do grep -q "^$command " "$1" || echo "$command"; done; }

node=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
if [ "$node" -lt 22 ]; then
	platform=linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')
	if add "$folder/node" "node-$platform@24"; then
		PATH=$folder/node/node_modules/node-$platform/bin:$PATH
		export PATH
	else
		echo "interop: the products need Node 22 or newer, and npm has no node-$platform: install Node, then run this again" >&2
		exit 1
	fi
fi

sets=
if [ -n "$modules" ]; then
	mkdir "$folder/given"
	ln -s "$modules" "$folder/given/node_modules"
	sets=given
else
	echo "$products" | while read -r command package _; do
		addNewest "$folder/newest" "$package" || echo "$package: no version can be installed" >&2
	done
	versions "$folder/newest/node_modules" >"$folder/have"
	mkdir -p "$folder/pinned/node_modules"
	echo "$products" | while read -r command _ pinned; do
		[ -z "$pinned" ] || grep -qxF "$command ${pinned##*@}" "$folder/have" || add "$folder/pinned" "$pinned" || {
			echo "$pinned cannot be installed:" >&2
			cat "$folder/log" >&2
		}
	done
	sets='newest pinned'
fi

cd "$here"
go mod download
go vet -tags interop ./... # compiles everything while there is still a network
go build -o "$folder/table" ./table
namespace='unshare -n'
[ "$(id -u)" = 0 ] || namespace='unshare -rn'
tried=
for set in $sets; do
	versions "$folder/$set/node_modules" >"$folder/$set/versions"
	[ -s "$folder/$set/versions" ] || continue
	printf '%s: %s\n' "$set" "$(paste -sd , "$folder/$set/versions")"
	[ "$set" = pinned ] || missing "$folder/$set/versions" >>"$folder/$set/versions"
	WINNOW_CLIENTS=$folder/$set/node_modules $namespace sh -c 'ip link set lo up && exec go test -tags interop -count=1 -timeout 90m -json "$@" .' run "$@" |
		tee "$folder/$set/tests.json" | sed -unE 's/.*"Output":"(--- (PASS|FAIL): [^\\/]*|ok [^"]*|FAIL[^"]*)\\n".*/\1/; t show; d; :show; s/\\t/ /g; p'
	tried="$tried $folder/$set"
done

status=0
"$folder/table" $tried || status=$?

echo "$products" | while read -r command package _; do
	latest=$(npm view "$package" version 2>/dev/null) || continue
	if ! grep -qxF "$command $latest" "$folder"/*/versions; then
		echo "npm has $package $latest, newer than what was tried"
	elif ! grep -qF "$latest" ../../docs/formats.md; then
		echo "docs/formats.md does not name $package $latest, which was tried"
	fi
done
exit $status
