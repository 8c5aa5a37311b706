#!/bin/bash
# accel.sh KERNEL-DIRECTORY: print the accelerator that QEMU shall use, kvm or tcg. A /dev/kvm proves nothing: nested
# machines have it and abort or hang. So a guest is booted with it once, and the outcome is remembered in the cache.
. "$(dirname "$0")/lib.sh"
kernel=$1
# One thread for all of a guest's processors: with one each, 6.12 now and then dies of an int3 in code that its other
# processor has just patched; and several guests keep the machine busy anyway.
tcg=tcg,thread=single

usable() {
	local dir=$1
	: >"$dir/params"
	VM_ACCEL=kvm VM_TIMEOUT=10 VM_SMP=1 VM_MEM=512 VM_ROOT='' VM_PAYLOAD='' \
		"$vm/boot.sh" "$dir" "$kernel" vm.probe >/dev/null 2>"$dir/errors" || return
	grep -q '^ready' "$dir/control"
}

# probe DIRECTORY
probe() {
	if usable "$1"; then echo kvm; else echo "$tcg"; fi >"$1/answer"
}

if [ ! -w /dev/kvm ] || [ -n "${APT_CONFIG:-}" ]; then # another architecture is always emulated
	echo "$tcg"
	exit
fi
dir=$cache/accel-$(uname -r)-$(qemu-system-x86_64 --version | awk '{ print $4; exit }')
once "$dir" probe
cat "$dir/answer"
