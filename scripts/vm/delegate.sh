#!/bin/bash
# delegate.sh: in a guest, as root: what brig doctor --delegate prints is run, and uid 54321 starts brig in the groups that it made.
set -euo pipefail
brig doctor --delegate 54321 >/tmp/delegate
sh /tmp/delegate >/tmp/delegate.out # it names the groups to enter
sed -n 's/.*echo PID >//p' /tmp/delegate.out | while read -r procs; do echo $$ >"$procs"; done
exec setpriv --reuid 54321 --regid 54321 --clear-groups brig run --memory 64m --cpus 0.5 --pids-limit 64 -- echo held
