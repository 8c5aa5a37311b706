#!/bin/bash
# egress.sh GO COUNT: the attacks on --net egress in the pretended internet, which mostly wait, and meanwhile, with what
# processor time they leave, the fuzzers of what reads a jail's network, COUNT inputs each (fuzz-net.sh).
set -euo pipefail
out=$(mktemp)
trap 'rm -f "$out"' EXIT
nice -n 19 scripts/fuzz-net.sh "$1" "$2" >"$out" 2>&1 &
fuzz=$!
code=0
"$1" test -count=1 ./internal/test/egress || code=$?
wait "$fuzz" || code=$?
cat "$out"
exit "$code"
