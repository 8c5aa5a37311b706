#!/bin/bash
# test.sh: the tests of all packages, but those that take long. test.sh long: these alone (package internal/test/long).
# bin has the programs: no package builds them again. The compiler has static.sh's flags, so that what make build has
# compiled is not compiled again.
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go} BRIG_NEED_PROMTOOL=1
export BRIG_TEST_BINARY=$PWD/bin/brig
go=(scripts/in-tmp.sh scripts/static.sh)

# long: PACKAGE REGEXP of each package with tests that call long.Test.
long() {
	grep -rlE --include='*_test.go' 'long\.Test\(' . | xargs -r dirname | sort -u | while read -r dir; do
		echo "$dir" "$(awk '/^func Test/ { sub(/\(.*/, "", $2); name = $2 } /long\.Test\(/ { print name }' "$dir"/*_test.go |
			sort -u | paste -sd'|')"
	done
}

if [ "${1:-}" = long ]; then
	export BRIG_TEST_LONG=1
	long | while read -r dir names; do "${go[@]}" test -vet=off -count=1 -run "^($names)\$" "$dir" </dev/null; done
	exit
fi
# The longest first. The egress suite waits more than it works.
exec "${go[@]}" test -vet=off -count=1 ./nsjail $("$GO" list ./... | grep -vE '/internal/test/egress$|^brig/nsjail$')
