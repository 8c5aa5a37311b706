#!/bin/bash
# all.sh: every lane of the set under every kernel, several guests at once. This is `make test-vm`.
#   VM_KERNELS="6.1 6.12"  VM_LANES="root user ..." (those of the set)  VM_JOBS=2  and what run.sh takes
# exit: 0 passed, 1 a test failed, 2 a guest did not finish
. "$(dirname "$0")/lib.sh"
begin=$SECONDS
export VM_SET=${VM_SET:-full}

# says LANE WORD VALUE: whether the lane's header has VALUE in its list WORD, or no such list.
says() {
	local list
	list=$(sed -n "s/^# $2: *//p" "$vm/lanes/$1.sh")
	[ -z "$list" ] || [[ " $list " == *" $3 "* ]]
}

# jobs: KERNEL LANE, a line each. The long lanes come first, so that the last guests end together.
jobs_of() {
	local kernel lane
	for lane in ${VM_LANES:-root user $(cd "$vm/lanes" && printf '%s\n' *.sh | sed 's/\.sh$//' | grep -vxE 'root|user')}; do
		for kernel in ${VM_KERNELS:-6.1 6.12}; do
			if [ "$VM_SET" = quick ] && [ -z "${VM_LANES:-}" ] && ! says "$lane" quick "$kernel"; then continue; fi
			if says "$lane" kernels "$kernel" && { [ -n "${VM_LANES:-}" ] || says "$lane" sets "$VM_SET"; }; then
				echo "$kernel $lane"
			fi
		done
	done
}

list=$(jobs_of)
[ -n "$list" ] || die 'no lane of that name for these kernels'
for kernel in $(cut -d' ' -f1 <<<"$list" | sort -u); do dir=$("$vm/kernel.sh" "$kernel"); done
VM_ROOT=$("$vm/root.sh")
VM_PAYLOAD=$("$vm/payload.sh")
VM_ACCEL=${VM_ACCEL:-$("$vm/accel.sh" "$dir")}
export VM_ROOT VM_PAYLOAD VM_ACCEL
say "$(wc -l <<<"$list") guests, the $VM_SET set, accelerator ${VM_ACCEL%%,*}, prepared in $((SECONDS - begin)) s"

# xargs answers 123 for commands that ended with 1 to 125, so each leaves its own answer.
codes=$(mktemp -d "$cache/codes.XXXXXX")
trap 'rm -rf "$codes"' EXIT
xargs -P "${VM_JOBS:-2}" -L 1 bash -c '"$0/run.sh" "$2" "$3" || echo $? >"$(mktemp "$1/XXXXXX")"' "$vm" "$codes" <<<"$list"
answers=$(find "$codes" -type f -exec cat {} + | sort -u)
times >"$codes/times" # not in a subshell, which has no times
say "$((SECONDS - begin)) s; processor time (user, system) of all guests $(tail -n 1 "$codes/times")"
case $answers in
'') exit 0 ;;
*1*) exit 1 ;;
*) exit 2 ;;
esac
