# shellcheck shell=bash
# All tests of seccomp, with the presets as this machine's architecture has them; make test runs them on amd64.
# sets: arm64
for role in root user; do
	expect 0 '' as_"$role" brig run -- true
	expect 0 '^42$' as_"$role" brig run -- python3 -c 'print(6 * 7)'
done
suite root seccomp
suite user seccomp
