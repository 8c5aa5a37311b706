#!/bin/bash
# kernel.sh KERNEL: have a kernel and its initramfs in the cache, and print their directory.
#   KERNEL is 6.1, 6.12, or the name of a Debian kernel package
#   VM_ARCH: amd64 or arm64 (amd64)
# The directory holds vmlinuz, initrd (busybox, the modules below, guest/init) and config.
. "$(dirname "$0")/lib.sh"

# What the guest needs to start, then what the suites use of a host: overlay for /usr, network devices, socket families
# that a jail must refuse, an I/O scheduler with weights.
modules=(virtio_pci virtio_blk virtio_console virtio_rng squashfs overlay
	loop fuse dummy veth tun bridge nft_chain_nat nft_redir vsock vsock_loopback af_alg algif_hash algif_skcipher af_key bfq ext4)

# package KERNEL: the package that the metapackage stands for today.
package() {
	local meta real
	meta=$(metapackage "$1")
	real=$(with_lists apt-cache depends "$meta" | awk '/Depends: linux-image-/ { print $2; exit }')
	echo "${real:-$meta}"
}

# modules_of ROOT RELEASE: the files of the modules with what they depend on, in the order of loading. One that is built
# in, or that this kernel has not, has no file.
modules_of() {
	local m
	for m in "${modules[@]}"; do
		modprobe -d "$1" -S "$2" --show-depends "$m" 2>/dev/null | awk '$1 == "insmod" { print $2 }' || true
	done | awk '!seen[$0]++'
}

# copy_module FILE DIRECTORY: uncompressed, since busybox knows no compressed module.
copy_module() {
	local name
	name=$(basename "$1")
	case $1 in
	*.xz) xz -dc "$1" >"$2/${name%.xz}" && echo "${name%.xz}" ;;
	*.zst) zstd -qdc "$1" >"$2/${name%.zst}" && echo "${name%.zst}" ;;
	*) cp "$1" "$2/" && echo "$name" ;;
	esac >>"$2/order"
}

# initrd ROOT RELEASE FILE
initrd() {
	local tree=$1/initrd-tree m
	mkdir -p "$tree"/{bin,dev,modules,new,proc,sys}
	cp "$busybox" "$tree/bin/"
	cp "$vm/guest/init" "$tree/init"
	chmod 755 "$tree/init"
	modules_of "$1" "$2" | while read -r m; do copy_module "$m" "$tree/modules"; done
	(cd "$tree" && find . -print0 | LC_ALL=C sort -z | cpio -0 -o -H newc --quiet -R 0:0) >"$3"
}

# fill_busybox DIRECTORY
fill_busybox() {
	download "$1" busybox-static
	dpkg -x "$1"/*.deb "$1"
}

# fill PACKAGE DIRECTORY
fill() {
	local release=${1#linux-image-} tree=$2/tree deb
	mkdir -p "$tree/deb"
	say "kernel $release: downloading"
	download "$tree/deb" "$1"
	for deb in "$tree"/deb/*.deb; do dpkg -x "$deb" "$tree"; done
	depmod -b "$tree" "$release"
	initrd "$tree" "$release" "$2/initrd"
	cp "$tree/boot/vmlinuz-$release" "$2/vmlinuz"
	cp "$tree/boot/config-$release" "$2/config"
	rm -rf "$tree"
}

busybox=/bin/busybox
if [ -n "${APT_CONFIG:-}" ]; then
	once "$cache/busybox-$arch" fill_busybox
	busybox=$cache/busybox-$arch/bin/busybox
fi
real=$(package "$1")
dir=$cache/${real#linux-image-}-$(cat "$vm/kernel.sh" "$vm/guest/init" "$busybox" | sha256sum | cut -c1-8)
once "$dir" fill "$real"
echo "$dir"
