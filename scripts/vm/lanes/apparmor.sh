# shellcheck shell=bash
# AppArmor: the payload starts in the profile that --apparmor names, which denies what brig's other fences permit.
# quick: 6.12
apparmor_parser -rK <<-'P'
	abi <abi/3.0>,
	profile lane flags=(attach_disconnected,mediate_deleted) {
	  file,
	  network,
	  signal,
	  unix,
	  deny /input/denied r,
	}
	profile silent flags=(attach_disconnected,mediate_deleted) {
	  file,
	}
	profile complains flags=(complain) {
	}
	profile outer flags=(attach_disconnected,mediate_deleted) {
	  capability,
	  change_profile -> &lane,
	  file,
	  mount,
	  network,
	  pivot_root,
	  ptrace,
	  signal,
	  umount,
	  unix,
	}
P
mkdir /tmp/in
echo plain >/tmp/in/plain
echo secret >/tmp/in/denied
chmod -R a+rX /tmp/in
roles=user
if full; then roles='root user'; fi
for role in $roles; do
	jail() { "as_$role" brig run --input /tmp/in "$@"; }
	expect 0 '^secret$' jail -- cat /input/denied
	expect 0 '^plain$' jail --apparmor lane -- cat /input/plain
	expect 1 'Permission denied' jail --apparmor lane -- cat /input/denied
	expect 0 '"apparmor": "the profile lane, in enforce mode"' jail --apparmor lane --json -- true
	expect 125 '^brig: .*apparmor.* no profile of this name: apparmor_parser -r FILE loads one' jail --apparmor lan -- true
	expect 125 '^brig: .*apparmor.* another mode than enforce' jail --apparmor complains -- true
	expect 125 '^brig: selinux: SELinux is not in force here' jail --selinux-label u:r:t:s0 -- true

	# a caller that a profile confines: it can only add another to it
	confined() { "as_$role" aa-exec -p outer -- brig run --input /tmp/in "$@"; }
	expect 0 '^outer \(enforce\)$' confined -- cat /proc/self/attr/current
	expect 0 '^lane//&outer \(enforce\)$' confined --apparmor lane -- cat /proc/self/attr/current
	expect 1 'Permission denied' confined --apparmor lane -- cat /input/denied
	expect 125 'must permit it: change_profile -> &PROFILE' confined --apparmor silent -- true

	# a profile that lets no signal in: all ends all the same
	expect 124 'the wall-clock limit of 1s ended the jail' jail --apparmor silent --timeout 1s -- sh -c 'sleep 1000 & sleep 1000'
	expect 0 '1 process was still running when the command ended, and ended with it: [0-9]+ (sh|sleep)' jail --apparmor silent -- sh -c 'sleep 1000 &'
	expect 1 '' pgrep -x sleep
done

# the package's profile, as far as this parser knows it: userns came with AppArmor 4
sed -e 's,abi/4.0,abi/3.0,; /userns,/d; s,/usr/bin/brig ,/brig/bin/brig ,' /brig/packaging/apparmor >/tmp/packaged
expect 0 '' apparmor_parser -rK /tmp/packaged
for role in $roles; do
	expect 0 '^/brig/bin/brig \(unconfined\)$' "as_$role" brig run -- cat /proc/self/attr/current
	expect 0 '^lane \(enforce\)$' "as_$role" brig run --apparmor lane -- cat /proc/self/attr/current
done
expect 0 '' apparmor_parser -RK /tmp/packaged

export BRIG_TEST_APPARMOR=lane
for role in $roles; do suite "$role" nsjail -test.run='^TestLabels$'; done
