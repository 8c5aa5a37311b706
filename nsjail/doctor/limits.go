package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/spec"
)

// namespaceKinds returns the kinds of namespaces with a limit that a jail counts against: namespaces(7).
func namespaceKinds() []string { return []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} }

// fewJails is the limit on namespaces or processes below which doctor notes that few jails can run.
const fewJails = 64

func (f *Facts) namespaceLimits() Finding {
	x := Finding{Name: "namespaces", State: Present}
	var zero, low, set []string
	least := int64(-1)
	for _, k := range namespaceKinds() {
		name := "user.max_" + k + "_namespaces"
		v, err := strconv.ParseInt(f.sysctl(name), 10, 64)
		if err != nil {
			continue // hidden, or not in this kernel
		}
		if least < 0 || v < least {
			least = v
		}
		if v < fewJails {
			low, set = append(low, fmt.Sprintf("%s is %d", name, v)), append(set, name+"=15000")
		}
		if v == 0 {
			zero = append(zero, name)
		}
	}
	x.Why = fmt.Sprintf("the least limit of user.max_*_namespaces is %d", least)
	if least < 0 {
		x.Why = "the limits user.max_*_namespaces are hidden"
	}
	if len(low) > 0 {
		x.State, x.Why, x.Fix = Partial, strings.Join(low, ", "), "sysctl -w "+strings.Join(set, " ")
	}
	if len(zero) > 0 {
		x.State = Missing
	}
	return x
}

func (f *Facts) limits() Finding {
	x := Finding{Name: "limits", State: Present}
	if f.Host == nil {
		return Finding{}
	}
	get := func(name string) (int64, string) {
		v, ok := f.Host.HardLimits[name]
		if !ok || v < 0 {
			return -1, "unlimited"
		}
		return v, strconv.FormatInt(v, 10)
	}
	var bad, fix []string
	worse := func(s State, why, how string) {
		bad, fix = append(bad, why), append(fix, how)
		if x.State != Missing {
			x.State = s
		}
	}
	files, filesText := get("nofile")
	procs, procsText := get("nproc")
	size, _ := get("fsize")
	space, _ := get("as")
	if files >= 0 && files < host.NeededFiles {
		worse(Missing, fmt.Sprintf("the hard limit on open files is %d, and a jail needs %d", files, host.NeededFiles),
			"ulimit -Hn 4096 as root, or LimitNOFILE=4096 in the unit")
	} else if files >= 0 && files < spec.DefaultRlimits["nofile"].Hard {
		worse(Partial, fmt.Sprintf("the hard limit on open files is %d, and a payload gets no more", files),
			"ulimit -Hn 4096 as root")
	}
	if procs >= 0 && procs < fewJails {
		worse(Partial, fmt.Sprintf("the limit on processes is %d", procs),
			"ulimit -Hu 4096 as root, or LimitNPROC=4096 in the unit")
	}
	if size >= 0 && size < 1<<20 {
		worse(Partial, fmt.Sprintf("the limit on file sizes is %d bytes, and holds for brig too", size),
			"ulimit -Hf unlimited as root")
	}
	if space >= 0 && space < 1<<30 {
		worse(Partial, fmt.Sprintf("the limit on address space is %d bytes, which breaks many run-time systems", space),
			"ulimit -Hv unlimited as root")
	}
	x.Why = "open files " + filesText + ", processes " + procsText + " (hard limits)"
	if len(bad) > 0 {
		x.Why, x.Fix = strings.Join(bad, "; "), strings.Join(fix, "; ")
	}
	return x
}

const corePattern = "kernel.core_pattern"

// core reports whether the kernel starts a program of the host, or connects to one, after a crash: core(5).
func (f *Facts) core() Finding {
	x := Finding{Name: "core", State: Present, Why: corePattern +
		" starts a program as root for a crash, but for none in a jail: RLIMIT_CORE is 1 there"}
	switch pattern := f.sysctl(corePattern); {
	case strings.HasPrefix(pattern, "@"): // Linux 6.16
		x.State, x.Why, x.Fix = Partial, corePattern+" is a socket, and no limit keeps a crash in a jail from it",
			"sysctl -w "+corePattern+"=core"
	case !strings.HasPrefix(pattern, "|"):
		return Finding{}
	case f.Host != nil && f.Host.HardLimits["core"] == 0:
		x.State, x.Fix = Partial, "ulimit -Hc 1 as root, or LimitCORE=1 in the unit"
		x.Why = corePattern + " starts a program as root for a crash in a jail, too: the hard limit on core dumps is 0, " +
			"and at 1 it would not"
	}
	return x
}

func (f *Facts) memory() Finding {
	x := Finding{Name: "memory", State: Note, Why: "unknown"}
	for _, line := range strings.Split(f.Files["/proc/meminfo"], "\n") {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n != 1 {
			continue
		}
		free := spec.Bytes(kib << 10)
		most := spec.DefaultTmpfsSize // /tmp, /dev/shm, /work and /output share one tmpfs
		x.Why = fmt.Sprintf("%d MiB are available; a default jail's files in memory may grow to %d MiB", free>>20, most>>20)
		if free < most {
			x.State, x.Fix = Partial, "free memory, or bound them: brig run --tmpfs /tmp:size=64m ..."
		}
	}
	return x
}

func (f *Facts) landlock() Finding {
	if f.LandlockABI <= 0 {
		return Finding{Name: "landlock", State: Note, Why: "this kernel has none, or it is off (brig does not need it)"}
	}
	return Finding{Name: "landlock", State: Note, Why: fmt.Sprintf("ABI %d (brig does not need it)", f.LandlockABI)}
}

func (f *Facts) yama() Finding {
	x := Finding{Name: "yama", State: Note}
	switch v := f.sysctl("kernel.yama.ptrace_scope"); v {
	case "":
		x.Why = "no Yama here: a jail's processes may trace each other, and nobody outside"
	case "0":
		x.Why = "kernel.yama.ptrace_scope is 0: a jail's processes may trace each other, and nobody outside"
	default:
		x.Why = "kernel.yama.ptrace_scope is " + words.Quote(v) + ": debuggers in a jail can trace their own children at most"
	}
	return x
}

func (f *Facts) tiocsti() Finding {
	if f.sysctl("dev.tty.legacy_tiocsti") == "0" {
		return Finding{Name: "tiocsti", State: Present, Why: "the kernel refuses TIOCSTI to everybody"}
	}
	return Finding{Name: "tiocsti", State: Note, Why: "the kernel permits TIOCSTI; a jail has no terminal of yours to " +
		"use it on"}
}

func (f *Facts) vsock() Finding {
	if f.has("/dev/vsock") || strings.Contains(f.Files["/proc/net/protocols"], "AF_VSOCK") {
		return Finding{Name: "vsock", State: Note, Why: "this machine has AF_VSOCK, which a network namespace does not " +
			"confine before Linux 7.0; the default filter refuses it"}
	}
	return Finding{Name: "vsock", State: Note, Why: "no AF_VSOCK here"}
}
