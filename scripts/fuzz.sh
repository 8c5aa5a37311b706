#!/bin/bash
# fuzz.sh GO COUNT: run COUNT inputs (20000x) against every fuzz test of both modules, one after the other, and stop at the first
# that fails. fuzz-net.sh says why this is no duration.
set -euo pipefail
go=$1 count=$2
export GOWORK=$PWD/scripts/go.work
"$go" list -f '{{.ImportPath}} {{.Dir}}' ./... ./brigd/... | while read -r package dir; do
	{ grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go 2>/dev/null || true; } | sed 's/func //' | while read -r name; do
		echo "== $package $name, $count"
		# the suites that run again as an ordinary user have nothing to fuzz there
		BRIG_TEST_ONLY=root "$go" test -run '^$' -fuzz "^$name\$" -fuzztime "$count" "$package" </dev/null
	done
done
