#!/bin/bash
# test.sh: the tests of all packages, but those that take long. test.sh long: these alone (package internal/test/long).
# bin has the programs: no package builds them again. The compiler has static.sh's flags, so that what make build has
# compiled is not compiled again.
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go} GOWORK=$PWD/scripts/go.work BRIG_NEED_PROMTOOL=1
export BRIG_TEST_BINARY=$PWD/bin/brig
go=(scripts/in-tmp.sh scripts/static.sh)

# long: PACKAGE REGEXP of each package with tests that -short leaves out or makes shorter.
long() {
	grep -rlE --include='*_test.go' 'long\.(Test|Again)\(|testing\.Short\(|runRole\(' brigd cgroup changes cmd examples image internal layer learn netns nsjail rootfs seccomp |
		xargs dirname | sort -u | while read -r dir; do
		echo "./$dir" "$(awk '/^func / { sub(/\(.*/, "", $2); name = $2 } /long\.(Test|Again)\(|testing\.Short\(|runRole\(/ && name ~ /^Test/ { print name }' \
			"$dir"/*_test.go | sort -u | paste -sd'|')"
	done
}

if [ "${1:-}" = long ]; then
	long | while read -r dir names; do "${go[@]}" test -vet=off -count=1 -run "^($names)\$" "$dir" </dev/null; done
	exit
fi
# The longest first, so that none is left at the end with a processor for itself. All of them also wait, for clocks and
# processes: three packages at once keep two processors at work. The egress suite waits the most, and is make test-net.
first=(nsjail cmd/brig brigd/cmd/brigd brigd/engine changes gitview brigd/internal/api brigd/lang internal/lint)
exec "${go[@]}" test -short -vet=off -count=1 -p $((($(nproc) * 3 + 1) / 2)) "${first[@]/#/./}" \
	$("$GO" list ./... ./brigd/... | grep -vxE "brig/($(IFS='|' && echo "${first[*]}")|internal/test/egress)")
