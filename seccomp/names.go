package seccomp

import (
	"strconv"
	"strings"
)

// quote makes an untrusted string safe to print, and short.
func quote(s string) string {
	const limit = 64
	if len(s) > limit {
		return strconv.QuoteToASCII(s[:limit]) + "…"
	}
	return strconv.QuoteToASCII(s)
}

// suggest is the remedy for an unknown name: the nearest right one, or all of them when none is near.
func suggest(got string, names []string) string {
	if best := nearest(got, names); best != "" {
		return "did you mean " + best + "?"
	}
	return "write one of " + strings.Join(names, " ")
}

// nearest returns the name within a third of got's length in edits, or "".
func nearest(got string, names []string) string {
	if len(got) > 64 {
		return ""
	}
	best, bestAt := "", max(1, (len(got)+1)/3)+1
	for _, n := range names {
		d := distance(strings.ToLower(got), strings.ToLower(n))
		// "val" for "value": a cut-off word is a near one.
		if len(got) >= 3 && strings.HasPrefix(n, got) {
			d = 1
		}
		if d < bestAt {
			best, bestAt = n, d
		}
	}
	return best
}

// distance is the edit distance in bytes, with the swap of two neighbours as one edit.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// flagNames are the seccomp(2) flags that make sense for a filter loaded before exec; see Table.LoadFlags.
func flagNames() []string {
	return []string{"SECCOMP_FILTER_FLAG_LOG", "SECCOMP_FILTER_FLAG_SPEC_ALLOW", "SECCOMP_FILTER_FLAG_TSYNC"}
}

// capNames are the capabilities of capabilities(7).
func capNames() []string {
	return strings.Fields(`CAP_AUDIT_CONTROL CAP_AUDIT_READ CAP_AUDIT_WRITE CAP_BLOCK_SUSPEND CAP_BPF
		CAP_CHECKPOINT_RESTORE CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_FSETID CAP_IPC_LOCK
		CAP_IPC_OWNER CAP_KILL CAP_LEASE CAP_LINUX_IMMUTABLE CAP_MAC_ADMIN CAP_MAC_OVERRIDE CAP_MKNOD CAP_NET_ADMIN
		CAP_NET_BIND_SERVICE CAP_NET_BROADCAST CAP_NET_RAW CAP_PERFMON CAP_SETFCAP CAP_SETGID CAP_SETPCAP CAP_SETUID
		CAP_SYSLOG CAP_SYS_ADMIN CAP_SYS_BOOT CAP_SYS_CHROOT CAP_SYS_MODULE CAP_SYS_NICE CAP_SYS_PACCT CAP_SYS_PTRACE
		CAP_SYS_RAWIO CAP_SYS_RESOURCE CAP_SYS_TIME CAP_SYS_TTY_CONFIG CAP_WAKE_ALARM`)
}
