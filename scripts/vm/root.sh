#!/bin/bash
# root.sh: have the guest's /usr in the cache as one squashfs file, and print its name.
# It is made from Debian packages, unpacked and never installed, so it needs no root: what their maintainer scripts would
# do (alternatives, compiled Python) is done here where it matters. /etc stands in it as /usr/lib/vm/etc.
. "$(dirname "$0")/lib.sh"

# closure PACKAGE...: PACKAGE=VERSION of each with all that it depends on, as a solver for an empty machine finds them.
closure() {
	with_lists apt-get -o Dir::State::status=/dev/null -s -y --no-install-recommends install "$@" |
		awk '$1 == "Inst" { sub(/^\(/, "", $3); print $2 "=" $3 }'
}

# merged TREE: the directories of a merged /usr, before any package is unpacked through them.
merged() {
	local d
	mkdir -p "$1"/usr/{bin,sbin,lib,lib64}
	for d in bin sbin lib lib64; do ln -s "usr/$d" "$1/$d"; done
}

# compile_python TREE: bytecode, with the tree's own Python: its /usr is read-only in the guest, and compiling the
# library anew at each start takes seconds under emulation. For another architecture this machine's Python has to do.
compile_python() {
	local python=("$1"/usr/bin/python3.[0-9]*)
	local lib=$1/usr/lib/${python[0]##*/}
	local run=(env PYTHONHOME="$1/usr" "$1"/lib64/ld-linux-x86-64.so.2 --library-path "$1/usr/lib/x86_64-linux-gnu" "${python[0]}")
	if [ -n "${APT_CONFIG:-}" ]; then run=("/usr/bin/${python[0]##*/}"); fi
	"${run[@]}" -m compileall -q -s "$1" -p / --invalidation-mode unchecked-hash -x '/(test|lib2to3|idlelib)/' "$lib"
}

# accounts DIRECTORY: the guest's /etc/passwd and group. The suites' user, 54321, has none: nothing is its own.
accounts() {
	printf '%s\n' 'root:x:0:0:root:/root:/bin/bash' 'daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin' \
		'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin' >"$1/passwd"
	printf '%s\n' 'root:x:0:' 'daemon:x:1:' 'tty:x:5:' 'nogroup:x:65534:' >"$1/group"
	echo 'root:*:20000:0:99999:7:::' >"$1/shadow"
	chmod 600 "$1/shadow"
	echo 'vm' >"$1/hostname"
	printf '127.0.0.1 localhost\n::1 localhost\n127.0.1.1 vm\n' >"$1/hosts"
	printf 'passwd: files\ngroup: files\nhosts: files\n' >"$1/nsswitch.conf"
}

# fill DIRECTORY
fill() {
	local tree=$1/tree deb
	mkdir -p "$1/deb"
	merged "$tree"
	say "root file system: downloading its packages"
	mapfile -t wanted < <(grep -v '^#' "$vm/root.packages")
	mapfile -t all < <(closure "${wanted[@]}")
	[ "${#all[@]}" -gt 0 ] || die "apt-get cannot resolve the packages of root.packages"
	download "$1/deb" "${all[@]}"
	for deb in "$1"/deb/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -xp --keep-directory-symlink -C "$tree"; done
	rm -rf "$tree"/usr/share/{doc,man,info,locale,bash-completion,lintian,debconf,perl5/Debconf} "$tree"/usr/lib/{systemd,udev}
	ln -s mawk "$tree/usr/bin/awk"
	compile_python "$tree"
	accounts "$tree/etc"
	mkdir -p "$tree/usr/lib/vm"
	mv "$tree/etc" "$tree/usr/lib/vm/etc"
	mksquashfs "$tree/usr" "$1/usr.squashfs" -quiet -no-progress -all-root -comp lz4 >&2
	rm -rf "$tree" "$1/deb"
}

dir=$cache/root-$arch-$(cat "$vm/root.sh" "$vm/root.packages" | sha256sum | cut -c1-8)
once "$dir" fill
echo "$dir/usr.squashfs"
