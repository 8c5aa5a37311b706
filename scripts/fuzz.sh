#!/bin/bash
# fuzz.sh GO TIME: run every fuzz test of the module for TIME, one after the other, and stop at the first that fails.
set -euo pipefail
go=$1 time=$2
"$go" list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r package dir; do
	{ grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go 2>/dev/null || true; } | sed 's/func //' | while read -r name; do
		echo "== $package $name for $time"
		# the suites that run again as an ordinary user have nothing to fuzz there
		BRIG_TEST_ONLY=root "$go" test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$package" </dev/null
	done
done
