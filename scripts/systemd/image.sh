#!/bin/bash
# image.sh: have the guest's root file system in the cache as one ext4 image, and print its name.
# It is made from Debian packages, unpacked and never installed, so it needs no root: what their maintainer scripts
# would do for this guest (accounts, PAM, links) is done here.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../vm/lib.sh"

# closure PACKAGE...: PACKAGE=VERSION of each with all that it depends on, as a solver for an empty machine finds them.
closure() {
	with_lists apt-get -o Dir::State::status=/dev/null -s -y --no-install-recommends install "$@" |
		awk '$1 == "Inst" { sub(/^\(/, "", $3); print $2 "=" $3 }'
}

# unpack DEBS ROOT
unpack() {
	local deb d
	mkdir -p "$2"/usr/{bin,sbin,lib,lib64}
	for d in bin sbin lib lib64; do ln -s "usr/$d" "$2/$d"; done # before the packages, which still say /bin
	for deb in "$1"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -C "$2" -xp --no-same-owner --keep-directory-symlink \
			--exclude='./usr/share/doc*' --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' \
			--exclude='./usr/share/info/*' --exclude='./usr/share/i18n/*' --exclude='./usr/lib/udev/hwdb*'
	done
	ln -s mawk "$2/usr/bin/awk" # an alternative
}

# accounts ROOT: Debian's, and the user of the stories, whose own manager starts at boot.
accounts() {
	cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"
	cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"
	cat >>"$1/etc/passwd" <<-'F'
		messagebus:x:100:100::/nonexistent:/usr/sbin/nologin
		agent:x:1000:1000::/home/agent:/bin/bash
	F
	printf 'messagebus:x:100:\nagent:x:1000:\n' >>"$1/etc/group"
	sed 's/^\([^:]*\):.*/\1:*:19000:0:99999:7:::/' "$1/etc/passwd" >"$1/etc/shadow"
	chmod 640 "$1/etc/shadow"
	mkdir -p "$1/home/agent" "$1/var/lib/systemd/linger"
	: >"$1/var/lib/systemd/linger/agent"
}

# configure ROOT
configure() {
	local type
	for type in auth account password; do echo "$type required pam_permit.so" >"$1/etc/pam.d/common-$type"; done
	echo 'session required pam_unix.so' >"$1/etc/pam.d/common-session-noninteractive"
	printf 'session required pam_unix.so\nsession required pam_systemd.so\n' >"$1/etc/pam.d/common-session"
	echo guest >"$1/etc/hostname"
	echo 127.0.0.1 localhost guest >"$1/etc/hosts"
	echo 0123456789abcdef0123456789abcdef >"$1/etc/machine-id" # an empty one means a first boot
	printf 'passwd: files\ngroup: files\nhosts: files\n' >"$1/etc/nsswitch.conf"
	: >"$1/etc/fstab"
	mkdir -p "$1"/{proc,sys,dev,run,tmp,var/tmp,opt}
	chmod 1777 "$1/tmp" "$1/var/tmp"
}

# units ROOT: the stories' unit is on, and what costs start-up time for nothing here is off.
units() {
	local unit etc=$1/etc/systemd/system
	mkdir -p "$etc/multi-user.target.wants" "$1/etc/systemd/system-generators"
	cp "$here/guest/story.service" "$etc/"
	ln -s ../story.service "$etc/multi-user.target.wants/"
	ln -s /lib/systemd/system/multi-user.target "$etc/default.target"
	ln -s /dev/null "$1/etc/systemd/system-generators/systemd-getty-generator" # without udev it waits for the line
	for unit in systemd-{sysusers,hwdb-update,journal-catalog-update,update-done,machine-id-commit,firstboot}.service \
		systemd-{journal-flush,random-seed,update-utmp,modules-load,binfmt,pstore}.service ldconfig.service \
		proc-sys-fs-binfmt_misc.automount; do
		ln -s /dev/null "$etc/$unit"
	done
}

# owners ROOT: debugfs(8) commands for whose each file is. mke2fs takes the builder's id, which need not be root's.
owners() {
	(cd "$1" && find . -mindepth 1 -printf '%P\n') | awk -v me="$(id -u)" '
		function owner(path, id) { printf "sif \"/%s\" uid %d\nsif \"/%s\" gid %d\n", path, id, path, id }
		/^home\/agent/ { owner($0, 1000); next }
		me != 0 { owner($0, 0) }'
}

# fill DIRECTORY
fill() {
	local root=$1/root
	mkdir "$1/deb"
	say "systemd guest: downloading its packages"
	mapfile -t wanted < <(sed 's/#.*//' "$here/packages" | xargs -n 1)
	mapfile -t all < <(closure "${wanted[@]}")
	[ "${#all[@]}" -gt 0 ] || die "apt-get cannot resolve the packages of scripts/systemd/packages"
	download "$1/deb" "${all[@]}"
	unpack "$1/deb" "$root"
	accounts "$root"
	configure "$root"
	units "$root"
	truncate -s 512M "$1/root.ext4"
	mke2fs -q -t ext4 -O ^has_journal -E root_owner=0:0 -d "$root" "$1/root.ext4"
	owners "$root" | debugfs -w -f - "$1/root.ext4" >/dev/null 2>&1
	e2fsck -fn "$1/root.ext4" >/dev/null 2>&1 || die "e2fsck finds fault with the image"
	rm -rf "$1/deb" "$root"
}

dir=$cache/systemd-$(cat "$here/image.sh" "$here/packages" "$here/guest/story.service" | sha256sum | cut -c1-8)
once "$dir" fill
echo "$dir/root.ext4"
