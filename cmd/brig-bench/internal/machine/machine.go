// Package machine describes what a run took place on, without naming the machine or its owner.
package machine

import (
	"bytes"
	"cmp"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"brig/cgroup"
	"brig/cmd/brig-bench/internal/result"

	"golang.org/x/sys/unix"
)

// Look reads the machine. What cannot be read is left out.
func Look() result.Machine {
	layout, _ := cgroup.Detect("")
	m := result.Machine{CPU: cmp.Or(field("/proc/cpuinfo", "model name", ":"), runtime.GOARCH),
		Processors: runtime.NumCPU(), OS: strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`),
		Cgroups: string(layout.Mode), User: "user", LoadBefore: Load()}
	if slices.Contains(strings.Fields(field("/proc/cpuinfo", "flags", ":")), "hypervisor") {
		m.Virtual = "yes"
	}
	if os.Geteuid() == 0 {
		m.User = "root"
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.Memory = int64(info.Totalram) * int64(info.Unit)
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = string(bytes.TrimRight(u.Release[:], "\x00"))
	}
	return m
}

// Load returns the load average over the last minute; 0 if it cannot be read.
func Load() float64 {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	v, _ := strconv.ParseFloat(first, 64)
	return v
}

// field returns the value of a key in a file of lines.
func field(file, key, sep string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, sep); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
