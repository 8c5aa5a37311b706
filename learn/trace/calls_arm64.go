package trace

import (
	"brig/learn"

	"golang.org/x/sys/unix"
)

const nativeArch = unix.AUDIT_ARCH_AARCH64

// older adds the call that has another name on amd64.
func older(all map[uint64]call, at, _ func(string, learn.Kind) call) {
	all[unix.SYS_FSTATAT] = at("newfstatat", learn.Read)
}
