#!/bin/bash
# in-tmp.sh COMMAND...: run COMMAND with a directory of its own for temporary files, and remove that in any case.
set -euo pipefail
umask 022 # an ordinary user's tests read what root's have made, whatever the caller's umask is
dir=$(mktemp -d /tmp/bXXXXX) # short: the paths of sockets have 107 bytes
trap 'rm -rf --one-file-system "$dir"' EXIT
chmod 1777 "$dir" # the suites run again as an ordinary user
TMPDIR=$dir "$@"
