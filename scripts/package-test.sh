#!/bin/bash
# package-test.sh DEB: install, upgrade, remove and purge the package in new roots of Debian: one with nothing but the
# essential packages of Debian 12, one with systemd and AppArmor of Debian 13. Each is the root of a private mount and
# pid namespace, in memory; what mmdebstrap has made is kept in the cache (see vm/lib.sh). Needs root.
# exit: 0 passed, 1 not
if [ "$(id -u)" -ne 0 ]; then exec sudo "$0" "$@"; fi
. "$(dirname "$0")/vm/lib.sh"

fail() {
	say "FAIL: $*"
	exit 1
}

# all prints each file of the root, with its owner, mode and digest. What dpkg keeps for itself is not the package's, nor
# what systemctl(1) does, nor the copies that useradd(8) makes.
all() {
	find / -xdev \( -path /var/lib/dpkg -o -path '/var/log/dpkg.log' -o -path '/etc/*-' -o -path /run/systemd -o -path /pkg -o -path /tmp \) -prune \
		-o ! -path / ! -path /etc ! -path /var/log -type f -printf '%p %m %u ' -exec md5sum {} \; -o \
		! -path / -printf '%p %y %m %u %l\n' | sort
	find /var/lib/dpkg -name '*brig*'
}

# installed VERSION: the package works, with nothing of it changed but its settings.
installed() {
	[ "$(dpkg-query -Wf '${Status} ${Version}' brig)" = "install ok installed $1" ] || fail "this is not $1: $(dpkg-query -W brig)"
	dpkg -V brig | grep -v ' c /etc/brig/brigd.json' && fail 'files differ from those of the package'
	[ "$(brig run -- echo held)" = held ] || fail 'no jail'
	brigd version >/dev/null
	if command -v apparmor_parser >/dev/null; then apparmor_parser -QTK /etc/apparmor.d/usr.bin.brig; fi
	if command -v systemd-sysusers >/dev/null; then getent passwd brigd >/dev/null; fi
}

# units: systemd's view of the units, where it is.
units() {
	command -v systemctl >/dev/null || return 0
	systemd-analyze verify --man=no /usr/lib/systemd/system/brigd.{service,socket}
	systemd-analyze security --offline=true --threshold=60 brigd.service >/tmp/security || fail "$(cat /tmp/security)"
	tail -n 1 /tmp/security
	systemctl enable brigd.socket
}

# story: in the new root.
story() {
	all >/tmp/before
	dpkg -i /pkg/old.deb
	installed 0.0.1-1
	units
	sed -i 's/\[\]/[1000]/' /etc/brig/brigd.json
	dpkg -i /pkg/new.deb
	installed "$1"
	grep -q 1000 /etc/brig/brigd.json || fail 'the upgrade has lost a setting'
	dpkg -i /pkg/new.deb # over itself
	rm -f /etc/apparmor.d/usr.bin.brig
	dpkg-trigger --by-package=apparmor /etc/apparmor.d/abi # as when AppArmor comes
	dpkg --configure --pending
	installed "$1"
	mkdir -p /var/lib/brigd/sandboxes /var/log/brigd /var/lib/brig/images /run/brigd
	dpkg -r brig
	[ ! -e /usr/bin/brig ] || fail 'remove has left the program'
	[ -e /etc/brig/brigd.json ] || fail 'remove has taken the settings'
	[ -e /var/lib/brig/images ] || fail 'remove has taken images'
	[ ! -e /etc/systemd/system/sockets.target.wants/brigd.socket ] || fail 'remove has left the socket enabled'
	[ ! -e /etc/apparmor.d/usr.bin.brig ] || fail 'remove has left the AppArmor profile'
	dpkg -i /pkg/new.deb # anew, with the old settings
	installed "$1"
	dpkg -P brig
	/bin/sh /pkg/postrm purge # once more
	all >/tmp/after
	diff /tmp/before /tmp/after || fail 'purge has left or changed something'
}

# enter ROOT: make it the root, as pivot_root(2) does: the kernel makes no user namespace below chroot(2).
enter() {
	cd "$1"
	mkdir -p proc dev
	mount -t proc proc proc
	mount --rbind /dev dev
	pivot_root . mnt
	export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive
	hash -r
}

# make_root SUITE PACKAGES DIRECTORY
make_root() {
	say "$1: mmdebstrap"
	mmdebstrap --quiet --mode=root --variant=essential ${2:+--include="$2"} "$1" "$3/root.tar"
}

# try SUITE PACKAGES
try() {
	local dir=$cache/debian-$1-${2//,/-}
	once "$dir" make_root "$1" "$2"
	tar -C "$work/root" -xf "$dir/root.tar"
	cp -r "$work/pkg" "$work/root/pkg"
	if ! unshare -m "$0" --story "$work/root" "$version" >"$work/log" 2>&1; then
		cat "$work/log" >&2
		exit 1
	fi
	find "$work/root" -mindepth 1 -xdev -delete
	say "$1${2:+ with $2}: installed, upgraded, removed and purged; $(grep -h 'exposure level' "$work/log" || true)"
}

case $1 in
--story)
	enter "$2"
	story "$3"
	exit
	;;
--private) deb=$2 ;;
*) exec unshare -mpf --mount-proc "$0" --private "$(readlink -f "$1")" ;;
esac
work=/mnt # of this namespace
mount -t tmpfs -o size=3g work "$work"
mkdir "$work"/{root,pkg,old}
mount --bind "$work/root" "$work/root"
version=$(dpkg-deb -f "$deb" Version)
cp "$deb" "$work/pkg/new.deb"
dpkg-deb -R "$deb" "$work/old"
cp "$work/old/DEBIAN/postrm" "$work/pkg/"
sed -i 's/^Version: .*/Version: 0.0.1-1/' "$work/old/DEBIAN/control"
dpkg-deb -Znone -b "$work/old" "$work/pkg/old.deb" >/dev/null
try bookworm ''
try trixie systemd,apparmor,passwd
