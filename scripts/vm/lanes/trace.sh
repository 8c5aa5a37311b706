# shellcheck shell=bash
# Rings of processes that trace each other's exit, which SIGKILL does not end: in no jail but an unconfined one, whose keeper
# gives up. What is left there goes with the guest.
# layout: v2
# sets: full
cat >/tmp/ring <<'END'
flags=() # JAIL-FLAG... -- HOW MEMBERS
while [ "$1" != -- ]; do flags+=("$1"); shift; done
timeout -s KILL 60 brig run --timeout "${LIMIT:-20s}" --ro-bind /tmp/payload /p --env PYTHONPATH=/p "${flags[@]}" -- python3 /p/ring.py "$2" "$3" 2>&1
END
cp -r /brig/testdata/payload /tmp/payload # /brig cannot be mapped
chmod -R a+rX /tmp/payload
printf '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": []}' >/tmp/allow.json
chmod 644 /tmp/allow.json
none_left() { sleep 1; ! pgrep -f ring.py; }
for who in as_root as_user; do
	for how in seize options old thread; do
		for n in 2 3 5; do
			expect 3 'refused: EPERM' $who bash /tmp/ring -- "$how" "$n"
		done
		expect 3 'refused: EPERM' $who bash /tmp/ring --seccomp debug -- "$how" 2
		expect 3 'refused: EPERM' $who bash /tmp/ring --seccomp /tmp/allow.json -- "$how" 2
	done
	expect 3 'refused: EPERM' $who bash /tmp/ring --no-init -- child 1
	expect 3 'refused: EPERM' $who bash /tmp/ring --seccomp unconfined -- child 1 # process 1 is init
	expect 124 'the ring stands' $who env LIMIT=3s bash /tmp/ring --no-init --seccomp unconfined -- child 1
done
timed 'nothing is left' none_left
for who in as_root as_user; do
	expect 125 'did not end within 10s of SIGKILL' $who env LIMIT=3s bash /tmp/ring --seccomp unconfined -- seize 2
	expect 125 'did not end within 10s of SIGKILL' $who env LIMIT=3s bash /tmp/ring --no-init --seccomp unconfined -- thread 3
done
