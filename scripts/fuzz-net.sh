#!/bin/bash
# fuzz-net.sh GO COUNT: run COUNT inputs (100000x) against each parser of what a jail's network sends, two parsers at a time:
# DNS, ClientHello, HTTP, policies and names. What a fuzzer finds stands in the package's testdata/fuzz afterwards, and is a
# test from then on. A count, not a duration: at the end of a duration Go's fuzzer can fail for nothing (go.dev/issue/75804).
set -euo pipefail
go=$1 count=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fuzz() { # PACKAGE NAME; minimising what is merely interesting would eat the time
	local started=$SECONDS
	"$go" test -run '^$' -fuzz "^$2\$" -fuzztime "$count" -fuzzminimizetime 1x -parallel 1 "./$1" >"$dir/$2" 2>&1 </dev/null ||
		{ echo "== $1 $2"; cat "$dir/$2"; return 1; }
	echo "$2: $((SECONDS - started)) s, $(grep -o 'execs: [0-9]*' "$dir/$2" | tail -n 1)"
}
fuzz netns/egress/wire FuzzAnswer & a=$!
fuzz netns/egress/wire FuzzHello & b=$!
wait $a && wait $b
fuzz netns/egress/wire FuzzRequest & a=$!
fuzz netns/egress/policy FuzzParsePolicy & b=$!
wait $a && wait $b
fuzz netns/egress/policy FuzzNormalizeName
