#!/bin/bash
# sysroot.sh: have what brig is linked with for the architecture VM_ARCH in the cache, and print its directory: musl,
# libseccomp and the kernel's headers of Debian. Its musl-gcc is a compiler on this machine; triplet has GNU's name for
# the architecture, packages the packages' versions.
. "$(dirname "$0")/lib.sh"

# fill DIRECTORY
fill() {
	local deb musl gcc
	mkdir "$1/deb"
	say "libraries of $arch: downloading"
	download "$1/deb" libseccomp-dev linux-libc-dev musl-dev
	for deb in "$1"/deb/*.deb; do
		dpkg -x "$deb" "$1"
		dpkg-deb -W "$deb" >>"$1/packages"
	done
	rm -rf "$1/deb"
	musl=$(cd "$1/usr/lib" && echo *-musl)
	gcc=${musl%-musl}-gnu-gcc
	echo "${musl%-musl}-gnu" >"$1/triplet"
	sed -i "s,/usr/\(lib\|include\)/$musl,$dir&,g" "$1/usr/lib/$musl/musl-gcc.specs"
	printf '#!/bin/sh\nexec %s "$@" -specs %s\n' "$gcc" "$dir/usr/lib/$musl/musl-gcc.specs" >"$1/musl-gcc"
	chmod 755 "$1/musl-gcc"
}

dir=$cache/sysroot-$arch-$(sha256sum <"$vm/sysroot.sh" | cut -c1-8)
once "$dir" fill
echo "$dir"
