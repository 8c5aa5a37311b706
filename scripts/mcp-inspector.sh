#!/bin/bash
# Drives brigd mcp with the MCP inspector's command line, over stdio and HTTP: every tool, also those of
# docs/tools.example.yaml, error cases, and a cancelled call. Nothing but loopback is used once the inspector is there.
#
#   scripts/mcp-inspector.sh [BRIGD]      the default is bin/brigd
#
# The inspector is installed into bin/inspector, where no commit finds it, and pinned: versions from 2 on need a later Node
# than Debian has.
set -euo pipefail
cd "$(dirname "$0")/.."
version=1.0.3
brigd=${1:-bin/brigd}
tools=bin/inspector

[ -x "$brigd" ] || { echo "mcp-inspector: there is no $brigd; run make build" >&2; exit 1; }
command -v node npm >/dev/null || { echo "mcp-inspector: node and npm are needed; install the packages nodejs and npm" >&2; exit 1; }

if [ "$(cat "$tools/version" 2>/dev/null)" != "$version" ]; then
	mkdir -p "$tools"
	rm -f "$tools/version"
	npm install --prefix "$tools" --ignore-scripts --no-audit --no-fund --loglevel=error "@modelcontextprotocol/inspector@$version" >&2
	echo "$version" >"$tools/version"
fi
exec node scripts/mcp-inspector.mjs "$(realpath "$brigd")" "$tools"
