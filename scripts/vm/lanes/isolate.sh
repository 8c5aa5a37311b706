# shellcheck shell=bash
# isolate itself beside brig, with --cg: payload by payload the same meta files, statuses and exit codes. Called by name:
#   ISOLATE=PATH scripts/vm/run.sh 6.12 isolate
# PATH is isolate, built from its source: make isolate CONFIG=/etc/isolate LDFLAGS=-static CFLAGS_HARDEN=
# With 2.6 itself "nofile" and "many files" differ, since its --open-files is 64; later source has 1024.
# VM_RUN names sets of options, with commas between: plain,many,limits,files,merged,judge.
# layout: v2
# sets: named
compare=/brig/scripts/isolate-compare.py
if [ ! -x /brig/bin/isolate ]; then
	expect 0 '^skipped: ' python3 "$compare" /nowhere brig
	return
fi
# In place of isolate-cg-keeper: a group without processes, whose children have all controllers.
enable_controllers /sys/fs/cgroup
mkdir /sys/fs/cgroup/isolate
enable_controllers /sys/fs/cgroup/isolate
for name in isolate brig; do
	cat >/etc/$name <<-F
		box_root = /tmp/$name
		lock_root = /tmp/$name.locks
		cg_root = /sys/fs/cgroup/isolate
		first_uid = 60000
		first_gid = 60000
		num_boxes = 1000
	F
done
mkdir -p /tmp/bin
ln -s /brig/bin/brig /tmp/bin/isolate
export BRIG_ISOLATE_CONFIG=/etc/brig
for set in $(tr , ' ' <<<"${VM_RUN:-plain,many,limits,files,merged,judge}"); do
	timed "isolate --cg, $set" python3 "$compare" /brig/bin/isolate /tmp/bin/isolate --cg --sets "$set" --slow 25 # Python needs three seconds to start here
done
