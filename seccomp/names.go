package seccomp

import (
	"strings"

	"brig/internal/words"
)

// suggest returns the remedy for an unknown name: the nearest valid one, or all of them if none is near.
func suggest(got string, names []string) string {
	if best := words.Nearest(got, names); best != "" {
		return "did you mean " + best + "?"
	}
	return "write one of " + strings.Join(names, " ")
}

// flagNames returns the seccomp(2) flags that make sense for a filter loaded before exec; see Table.LoadFlags.
func flagNames() []string {
	return []string{"SECCOMP_FILTER_FLAG_LOG", "SECCOMP_FILTER_FLAG_SPEC_ALLOW", "SECCOMP_FILTER_FLAG_TSYNC"}
}

// capNames returns the capabilities of capabilities(7).
func capNames() []string {
	return strings.Fields(`CAP_AUDIT_CONTROL CAP_AUDIT_READ CAP_AUDIT_WRITE CAP_BLOCK_SUSPEND CAP_BPF
		CAP_CHECKPOINT_RESTORE CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_IPC_LOCK
		CAP_IPC_OWNER CAP_KILL CAP_LEASE CAP_LINUX_IMMUTABLE CAP_MAC_ADMIN CAP_MAC_OVERRIDE CAP_MKNOD CAP_NET_ADMIN
		CAP_NET_BIND_SERVICE CAP_NET_BROADCAST CAP_NET_RAW CAP_PERFMON CAP_SETFCAP CAP_SETGID CAP_SETPCAP CAP_SETUID
		CAP_SYSLOG CAP_SYS_ADMIN CAP_SYS_BOOT CAP_SYS_CHROOT CAP_SYS_MODULE CAP_SYS_NICE CAP_SYS_PACCT CAP_SYS_PTRACE
		CAP_SYS_RAWIO CAP_SYS_RESOURCE CAP_SYS_TIME CAP_SYS_TTY_CONFIG CAP_WAKE_ALARM`)
}
