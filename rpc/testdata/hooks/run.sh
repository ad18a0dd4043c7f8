#!/usr/bin/env bash
# Runs agents of Python frameworks with the hooks of rpc/bindings/python. It installs the newest of each framework
# into a temporary folder, unless BINDINGS_PYTHONPATH names folders that have them.
set -euo pipefail
cd "$(dirname "$0")/../../.."
if [ -z "${BINDINGS_PYTHONPATH:-}" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check 'pydantic-ai-slim[openai]' openai-agents \
    langchain langchain-openai langgraph llama-index-core llama-index-llms-openai
  "$folder/bin/pip" list --disable-pip-version-check | grep -iE '^(pydantic-ai|openai|lang|llama)'
  export BINDINGS_PYTHON=$folder/bin/python
fi
go test -vet=off ./rpc -run TestPythonHooks -count=1 -v -timeout 30m
