package doctor

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// namespaceKinds returns the kinds of namespaces with a limit that a jail counts against: namespaces(7).
func namespaceKinds() []string { return []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} }

// fewJails is the limit on namespaces or processes below which doctor notes that few jails can run.
const fewJails = 64

func checkNamespaces(m *Machine) (state State, why, fix spec.Text) {
	var low, set []string
	state = Present
	least := int64(-1)
	for _, k := range namespaceKinds() {
		name := "user.max_" + k + "_namespaces"
		v, err := strconv.ParseInt(m.sysctl(name), 10, 64)
		if err != nil {
			continue // hidden, or not in this kernel
		}
		if least < 0 || v < least {
			least = v
		}
		if v < fewJails {
			low, set = append(low, fmt.Sprintf("%s is %d", name, v)), append(set, name+"=15000")
		}
	}
	switch {
	case least < 0:
		return Present, "the limits user.max_*_namespaces are hidden", ""
	case least == 0:
		state = Missing
	case len(low) > 0:
		state = Partial
	default:
		return Present, words.Plain(fmt.Sprintf("the least limit of user.max_*_namespaces is %d", least)), ""
	}
	return state, words.Plain(strings.Join(low, ", ")), words.Plain("sysctl -w " + strings.Join(set, " "))
}

func checkLimits(h *host.Host) (state State, why, fix spec.Text) {
	if h == nil {
		return "", "", ""
	}
	get := func(name string) (v int64, text string) {
		v, ok := h.HardLimits[name]
		if !ok || v < 0 {
			return math.MaxInt64, "unlimited"
		}
		return v, strconv.FormatInt(v, 10)
	}
	files, filesText := get("nofile")
	procs, procsText := get("nproc")
	size, _ := get("fsize")
	space, _ := get("as")
	var bad, fixes []string
	state = Present
	for _, x := range []struct {
		low      bool
		state    State
		why, fix string
	}{
		{files < host.NeededFiles, Missing,
			fmt.Sprintf("the hard limit on open files is %d, and a jail needs %d", files, host.NeededFiles),
			"ulimit -Hn 4096 as root, or LimitNOFILE=4096 in the unit"},
		{files >= host.NeededFiles && files < spec.DefaultRlimits["nofile"].Hard, Partial,
			fmt.Sprintf("the hard limit on open files is %d, and a payload gets no more", files), "ulimit -Hn 4096 as root"},
		{procs < fewJails, Partial, fmt.Sprintf("the limit on processes is %d", procs),
			"ulimit -Hu 4096 as root, or LimitNPROC=4096 in the unit"},
		{size < 1<<20, Partial, fmt.Sprintf("the limit on file sizes is %d bytes, and holds for brig too", size),
			"ulimit -Hf unlimited as root"},
		{space < 1<<30, Partial,
			fmt.Sprintf("the limit on address space is %d bytes, which breaks many run-time systems", space),
			"ulimit -Hv unlimited as root"},
	} {
		if x.low {
			bad, fixes = append(bad, x.why), append(fixes, x.fix)
			if state != Missing {
				state = x.state
			}
		}
	}
	if len(bad) == 0 {
		return Present, words.Plain("open files " + filesText + ", processes " + procsText + " (hard limits)"), ""
	}
	return state, words.Plain(strings.Join(bad, "; ")), words.Plain(strings.Join(fixes, "; "))
}

const corePattern = "kernel.core_pattern"

// checkCore reports whether the kernel starts a program of the host, or connects to one, after a crash: core(5).
func checkCore(m *Machine, h *host.Host) (state State, why, fix spec.Text) {
	switch pattern := m.sysctl(corePattern); {
	case strings.HasPrefix(pattern, "@"): // Linux 6.16
		return Partial, corePattern + " is a socket, and no limit keeps a crash in a jail from it",
			"sysctl -w " + corePattern + "=core"
	case !strings.HasPrefix(pattern, "|"):
		return "", "", ""
	case h != nil && h.HardLimits["core"] == 0:
		return Partial, corePattern + " starts a program as root for a crash in a jail, too: the hard limit on core dumps " +
			"is 0, and at 1 it would not", "ulimit -Hc 1 as root, or LimitCORE=1 in the unit"
	}
	return Present, corePattern +
		" starts a program as root for a crash, but for none in a jail: RLIMIT_CORE is 1 there", ""
}

func checkMemory(meminfo string) (state State, why, fix spec.Text) {
	_, text, _ := strings.Cut(meminfo, "MemAvailable:")
	var kib int64
	if n, _ := fmt.Sscanf(text, "%d kB", &kib); n != 1 {
		return Note, "unknown", ""
	}
	free := spec.Bytes(kib << 10)
	most := spec.DefaultTmpfsSize // /tmp, /dev/shm, /work and /output share one tmpfs
	why = words.Plain(fmt.Sprintf("%d MiB are available; a default jail's files in memory may grow to %d MiB",
		free>>20, most>>20))
	if free < most {
		return Partial, why, "free memory, or bound them: " + words.Jail(words.Set("scratch", "64m")) + " ..."
	}
	return Note, why, ""
}

func checkLandlock(abi int) (state State, why, fix spec.Text) {
	if abi <= 0 {
		return Note, "this kernel has none, or it is off: jails do without a second fence", ""
	}
	tier := words.Set("tier", spec.TierProcess)
	why = words.Textf("ABI %d: a second fence around each jail", abi)
	if hasTier(abi) {
		return Note, why + "; it permits jails without namespaces, too: " + tier, ""
	}
	return Note, why + "; " + tier + ", without namespaces, needs ABI 6 (Linux 6.12)", ""
}

func hasTier(abi int) bool { return (&host.Machine{Landlock: abi}).HasTier() }

func checkYama(m *Machine) (state State, why, fix spec.Text) {
	switch v := m.sysctl("kernel.yama.ptrace_scope"); v {
	case "":
		why = "no Yama here: a jail's processes may trace each other, and nobody outside"
	case "0":
		why = "kernel.yama.ptrace_scope is 0: a jail's processes may trace each other, and nobody outside"
	default:
		why = "kernel.yama.ptrace_scope is " + words.Plain(words.Quote(v)) +
			": debuggers in a jail can trace their own children at most"
	}
	return Note, why, ""
}

func checkTIOCSTI(m *Machine) (state State, why, fix spec.Text) {
	if m.sysctl("dev.tty.legacy_tiocsti") == "0" {
		return Present, "the kernel refuses TIOCSTI to everybody", ""
	}
	return Note, "the kernel permits TIOCSTI; a jail has no terminal of yours to use it on", ""
}

func checkVsock(m *Machine) (state State, why, fix spec.Text) {
	if m.has("/dev/vsock") || strings.Contains(m.Files["/proc/net/protocols"], "AF_VSOCK") {
		return Note, "this machine has AF_VSOCK, which a network namespace does not confine before Linux 7.0; the default " +
			"filter refuses it", ""
	}
	return Note, "no AF_VSOCK here", ""
}
