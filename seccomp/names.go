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

// nearest gives the name within a third of got's length in edits, or "".
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

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
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
