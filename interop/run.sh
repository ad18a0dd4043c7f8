#!/bin/sh
# Runs the real products against the scripted upstream, with no network but loopback.
#   interop/run.sh [NODE_MODULES] [go test flags…]
# NODE_MODULES is a node_modules folder that holds the products; without it they are installed from npm into a
# temporary folder. Needs the right to make a network namespace (root, or unprivileged user namespaces).
set -eu
here=$(cd "$(dirname "$0")" && pwd)

modules=
case "${1:-}" in
'' | -*) ;;
*) modules=$(cd "$1" && pwd); shift ;;
esac
if [ -z "$modules" ]; then
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
	npm install --silent --no-audit --no-fund --prefix "$folder" \
		@anthropic-ai/claude-code@2.1.197 @openai/codex@0.169.0 opencode-ai@1.18.33 @mariozechner/pi-coding-agent@0.73.1
	modules=$folder/node_modules
fi

cd "$here"
go mod download
go vet -tags interop ./... # compiles everything while there is still a network
namespace='unshare -n'
[ "$(id -u)" = 0 ] || namespace='unshare -rn'
status=0
WINNOW_CLIENTS=$modules $namespace sh -c 'ip link set lo up && exec go test -tags interop -count=1 "$@" ./...' run "$@" || status=$?
exit $status
