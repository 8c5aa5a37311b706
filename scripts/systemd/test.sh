#!/bin/bash
# test.sh BRIG DEB: tell the stories of guest/stories in a guest with systemd as process 1, with the static binary BRIG;
# the last one installs the package DEB.
#   VM_RUN=PATTERN picks stories by their names (a regular expression); VM_ACCEL, VM_SMP, VM_MEM, VM_TIMEOUT: see boot.sh
#   VM_CACHE says where the kernel and the root file system are kept (bin/vm), VM_KERNEL which kernel (6.1)
# exit: 0 all passed, 1 one failed, 2 the guest did not finish (tried twice)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../vm/lib.sh"
brig=$(readlink -f "$1")
deb=$(readlink -f "$2")
kernel=$("$here/../vm/kernel.sh" "${VM_KERNEL:-6.1}") || exit 2
image=$("$here/image.sh") || exit 2
VM_ACCEL=${VM_ACCEL:-$("$here/../vm/accel.sh" "$kernel")}
export VM_ACCEL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# carry makes the drive that the guest unpacks into its root: a tar archive.
carry() {
	local story
	mkdir -p "$work/tree/usr/bin" "$work/tree/opt"
	cp "$brig" "$work/tree/usr/bin/brig"
	cp -r "$here/guest" "$work/tree/opt/story"
	cp "$deb" "$work/tree/opt/story/brig.deb"
	for story in "$work"/tree/opt/story/stories/*.sh; do
		[[ $(basename "$story" .sh) =~ ${VM_RUN:-.} ]] || rm "$story"
	done
	chmod -R u=rwX,go=rX "$work/tree"
	chmod 755 "$work/tree/usr/bin/brig"
	tar -C "$work/tree" --owner=0 --group=0 --no-recursion -cf "$work/story.tar" \
		usr/bin/brig opt/story $(cd "$work/tree" && find opt/story -mindepth 1)
}

carry
for attempt in 1 2; do
	"$here/boot.sh" "$work" "$kernel" "$image" | tee "$work/log" || true
	mkdir -p "$cache/logs/systemd"
	cp "$work/log" "$work/kernel.log" "$cache/logs/systemd/" || true
	case $(grep -ao '^STORY-EXIT [01]' "$work/log" | tail -n 1) in
	'STORY-EXIT 0') exit 0 ;;
	'STORY-EXIT 1') exit 1 ;;
	esac
	say "the systemd guest did not finish (attempt $attempt of 2); its last words:"
	tail -n 30 "$work/kernel.log" >&2 || true
done
exit 2
