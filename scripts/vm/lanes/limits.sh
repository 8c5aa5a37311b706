# shellcheck shell=bash
# Limits that need a disk of one's own, or a clock that may be set: on pure cgroup v2, where this guest is root.
# layout: v2
# sets: quick full
# quick: 6.12
dir=/tmp/io
mkdir -p "$dir" && chmod 777 "$dir"
dd if=/dev/urandom of="$dir/file" bs=1M count=8 2>/dev/null
sync

# field NAME: a number of the report in standard input; -1 where there is none.
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)["usage"].get(sys.argv[1], -1))' "$1"; }

# between NAME LOW HIGH VALUE: a result.
between() {
	local code=1
	if python3 -c 'import sys; low, high, v = map(float, sys.argv[1:]); sys.exit(not low <= v <= high)' "$2" "$3" "$4"; then code=0; fi
	echo "=== $1: $4, want $2 to $3"
	result "$code" 0 "$1: $4 in $2..$3"
}

# reads LIMIT...: how long reading the file takes in a jail, and how much the device gave.
reads() {
	echo 3 >/proc/sys/vm/drop_caches
	brig run "$@" --ro-bind "$dir" /input --json -- cp /input/file /dev/null >/tmp/report.json || cat /tmp/report.json
}

reads --device-read-iops "$dir:100000"
between 'io_read_bytes without a limit that binds' 8000000 12000000 "$(field io_read_bytes </tmp/report.json)"
reads --device-read-bps "$dir:2m"
between 'wall_ms of reading 8 MiB at 2 MiB/s' 2500 20000 "$(field wall_ms </tmp/report.json)"
brig run --device-write-bps "$dir:2m" --work "$dir" --json -- dd if=/dev/zero of=/work/out bs=256k count=32 oflag=direct >/tmp/report.json
between 'wall_ms of writing 8 MiB at 2 MiB/s' 2500 20000 "$(field wall_ms </tmp/report.json)"
between 'io_written_bytes' 8000000 12000000 "$(field io_written_bytes </tmp/report.json)"
rm -f "$dir/out"
expect 125 '^brig: --device-read-bps: .*no block device of its own' brig run --device-read-bps /proc:1m -- true

# stepped DATE: a wall-clock limit of 3 s while the system's time makes a step.
stepped() {
	local begin end code=0
	begin=$(cut -d. -f1 /proc/uptime)
	brig run --timeout 3s -- sleep 1000 &
	sleep 1
	date -s "$1" >/dev/null
	wait $! || code=$?
	end=$(cut -d. -f1 /proc/uptime)
	[ "$code" -eq 124 ] || echo "exit code $code"
	between "seconds until --timeout 3s ended the jail, over a step of $1" 2 30 $((end - begin))
}
stepped '+1 day'
stepped '-2 days'

# joining a group by clone3(2) against by a write to cgroup.procs
suite root cgroup -test.run=TestJoinTiming
