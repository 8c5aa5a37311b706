#!/bin/bash
# boot.sh DIRECTORY KERNEL-DIRECTORY IMAGE: run one guest with DIRECTORY/story.tar put into its root, the stories' words
# on stdout, the kernel's and systemd's in DIRECTORY/kernel.log.
#   VM_ACCEL (see ../vm/accel.sh), VM_SMP, VM_MEM (MiB), VM_TIMEOUT (seconds) say how
# The image stays as it is: what the guest writes is a snapshot, and gone with it.
# exit: qemu's, and 124 when the time was up
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../vm/lib.sh"
dir=$1 kernel=$2 image=$3

# a second archive behind the lane's own: the kernel unpacks both, and rdinit= names our init
cp "$here/init" "$dir/init-systemd"
chmod 755 "$dir/init-systemd"
(cd "$dir" && echo init-systemd | cpio -o -H newc --quiet -R 0:0) | cat "$kernel/initrd" - >"$dir/initrd"

cpu=max
[ "${VM_ACCEL%%,*}" != kvm ] || cpu=host
timeout --foreground -k 5 "${VM_TIMEOUT:-600}" qemu-system-x86_64 -accel "$VM_ACCEL" -cpu "$cpu" -machine q35 -m "${VM_MEM:-1024}" \
	-smp "${VM_SMP:-2}" -nodefaults -no-reboot -display none -serial "file:$dir/kernel.log" -serial stdio \
	-device virtio-rng-pci \
	-drive "file=$image,format=raw,if=virtio,snapshot=on" -drive "file=$dir/story.tar,format=raw,if=virtio,readonly=on" \
	-kernel "$kernel/vmlinuz" -initrd "$dir/initrd" \
	-append "rdinit=/init-systemd console=ttyS0 loglevel=4 panic=-1 mitigations=off systemd.show_status=0" </dev/null
