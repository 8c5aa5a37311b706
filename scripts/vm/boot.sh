#!/bin/bash
# boot.sh DIRECTORY KERNEL-DIRECTORY [APPEND...]: run one guest, and leave its output in DIRECTORY: control (the lines
# of its port, which also go to stdout as they come), log, kernel.log (the console).
#   DIRECTORY holds params; scratch, the third drive, is made in it
#   VM_ACCEL, VM_SMP, VM_MEM (MiB), VM_TIMEOUT (seconds) say how
# exit: qemu's, and 124 when the time was up
. "$(dirname "$0")/lib.sh"
dir=$1 kernel=$2
shift 2

(cd "$dir" && echo params | cpio -o -H newc --quiet -R 0:0) | cat "$kernel/initrd" - >"$dir/initrd"
truncate -s 2G "$dir/scratch"
mke2fs -q -t ext4 -O ^has_journal -E lazy_itable_init=1 -m 0 "$dir/scratch"

drives=()
for file in "${VM_ROOT:-}" "${VM_PAYLOAD:-}"; do
	[ -z "$file" ] || drives+=(-drive "file=$file,format=raw,if=virtio,readonly=on")
done
drives+=(-drive "file=$dir/scratch,format=raw,if=virtio,cache=unsafe")
case $arch in
amd64) machine=(qemu-system-x86_64 -machine q35 -cpu max) console=ttyS0 ;;
arm64) machine=(qemu-system-aarch64 -machine virt -cpu neoverse-n1) console=ttyAMA0 ;;
*) die "no machine of QEMU is chosen for $arch" ;;
esac
[ "${VM_ACCEL%%,*}" != kvm ] || machine+=(-cpu host)

code=0
timeout -k 5 "${VM_TIMEOUT:-900}" "${machine[@]}" -accel "$VM_ACCEL" -m "${VM_MEM:-1536}" -smp "${VM_SMP:-2}" \
	-nodefaults -no-reboot -display none -serial "file:$dir/kernel.log" \
	-device virtio-rng-pci -device virtio-serial-pci \
	-chardev file,id=control,path=/dev/stdout -device virtserialport,chardev=control,name=vm.control \
	-chardev "file,id=log,path=$dir/log" -device virtserialport,chardev=log,name=vm.log \
	"${drives[@]}" -kernel "$kernel/vmlinuz" -initrd "$dir/initrd" \
	-append "console=$console loglevel=4 panic=-1 mitigations=off $*" </dev/null | tee "$dir/control" || code=${PIPESTATUS[0]}
rm -f "$dir/scratch" "$dir/initrd"
exit "$code"
