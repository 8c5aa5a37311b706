#!/bin/bash
# Attacks brigd and a sandbox from the page of another sandbox, in Debian's Chromium: see ports.mjs. Nothing but loopback
# is used.
#
#   scripts/ports.sh [BRIGD]      the default is bin/brigd
set -euo pipefail
cd "$(dirname "$0")/.."
brigd=${1:-bin/brigd}

[ -x "$brigd" ] || { echo "ports: there is no $brigd; run make build" >&2; exit 1; }
command -v node chromium >/dev/null || { echo "ports: node and chromium are needed; install the packages nodejs and chromium" >&2; exit 1; }
exec node scripts/ports.mjs "$(realpath "$brigd")" chromium
