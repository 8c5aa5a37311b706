// Package machine says what a run took place on, without naming the machine or its owner.
package machine

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"brig/cmd/brig-bench/internal/result"

	"golang.org/x/sys/unix"
)

// Look reads the machine. What cannot be read is left out.
func Look() result.Machine {
	m := result.Machine{CPU: field("/proc/cpuinfo", "model name", ":"), Processors: runtime.NumCPU(), OS: strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`),
		Virtual: virtual(), Cgroups: cgroups(), User: "user", LoadBefore: Load()}
	if m.CPU == "" {
		m.CPU = runtime.GOARCH
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

// Load is the load average over the last minute; 0 if it cannot be read.
func Load() float64 {
	first, _, _ := strings.Cut(read("/proc/loadavg"), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return v
}

func read(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(text)
}

// field is the value of a key in a file of lines.
func field(file, key, sep string) string {
	for _, line := range strings.Split(read(file), "\n") {
		if k, v, ok := strings.Cut(line, sep); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// virtual names the hypervisor as the firmware or the processor does.
func virtual() string {
	for _, name := range []string{"/sys/hypervisor/type", "/sys/class/dmi/id/sys_vendor"} {
		text := strings.TrimSpace(read(name))
		for _, known := range []string{"QEMU", "KVM", "VMware", "innotek", "Xen", "Microsoft", "Amazon EC2", "Google", "Parallels", "Firecracker"} {
			if strings.Contains(strings.ToLower(text), strings.ToLower(known)) {
				return known
			}
		}
	}
	if strings.Contains(" "+field("/proc/cpuinfo", "flags", ":")+" ", " hypervisor ") {
		return "yes"
	}
	return ""
}

// cgroups names the layout: cgroups(7).
func cgroups() string {
	v1, _ := filepath.Glob("/sys/fs/cgroup/*/tasks") // the error is a bad pattern's
	var fs unix.Statfs_t
	switch {
	case unix.Statfs("/sys/fs/cgroup", &fs) != nil:
		return "none"
	case fs.Type == unix.CGROUP2_SUPER_MAGIC:
		return "version 2"
	case len(v1) == 0:
		return "none"
	case unix.Statfs("/sys/fs/cgroup/unified", &fs) == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC:
		return "hybrid"
	}
	return "version 1"
}
