#!/bin/sh
# Installs the newest frameworks into a temporary folder and runs the hooks of rpc/bindings in them, against the scripted
# provider. Without Node 22.18 or newer the tests of TypeScript are skipped.
#   internal/bindings/run.sh [go test flags…]
set -eu
cd "$(dirname "$0")/../.."
BINDINGS=$(mktemp -d)
export BINDINGS npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
trap 'rm -rf "$BINDINGS"' EXIT

typescript() {
	node -e 'process.exit(process.features.typescript ? 0 : 1)' 2>/dev/null || { echo 'TypeScript: no Node 22.18 or newer' >&2; return; }
	mkdir "$BINDINGS/typescript"
	echo '{"type": "module"}' >"$BINDINGS/typescript/package.json"
	npm install --loglevel error --prefix "$BINDINGS/typescript" typescript@7.0.2 @types/node@22 zod ai @ai-sdk/anthropic \
		@ai-sdk/openai-compatible @mastra/core langchain @langchain/core @langchain/anthropic @langchain/openai
	npm ls --depth 0 --prefix "$BINDINGS/typescript"
}

CGO_ENABLED=0 go build -o "$BINDINGS/winnow" ./cmd/winnow
typescript
go test ./internal/bindings -count=1 -v -timeout 60m "$@"
