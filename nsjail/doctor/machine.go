package doctor

import (
	"strings"

	"brig/nsjail/internal/host"
)

// Machine is what the files and calls of a machine tell of it.
type Machine struct {
	Release string // uname(2)
	Version string
	UID     int    // effective
	Exe     string // this program's file
	// Files holds small files of /proc, /sys and /run by path; one that does not exist here is absent, and one of
	// which only the existence counts is empty.
	Files map[string]string
	// Env holds the variables of this process that tell of a container.
	Env map[string]string
	// Chrooted is set if this process's root is known to differ from that of process 1.
	Chrooted bool
}

func (m *Machine) file(path string) string { return strings.TrimSpace(m.Files[path]) }

func (m *Machine) has(path string) bool { _, ok := m.Files[path]; return ok }

// sysctl returns a setting of /proc/sys by its dotted name.
func (m *Machine) sysctl(name string) string { return m.file(host.SysctlPath(name)) }

// seccompMode returns the field Seccomp of /proc/self/status: proc_pid_status(5).
func (m *Machine) seccompMode() string {
	for line := range strings.Lines(m.Files["/proc/self/status"]) {
		if v, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

const selinuxEnforce = "/sys/fs/selinux/enforce"

// label returns the label that an LSM has given to this process, such as an AppArmor profile with its mode.
func (m *Machine) label() string { return m.file("/proc/self/attr/current") }

// confined reports whether an AppArmor profile confines this process.
func (m *Machine) confined() bool { return strings.HasSuffix(m.label(), " (enforce)") }

// chrooted reports whether this process is known to be in a chroot: no mount is at "/", unless the root is a mount
// point.
func (m *Machine) chrooted() bool {
	mounts, ok := m.Files["/proc/self/mountinfo"]
	return m.Chrooted || ok && len(rootMounts(mounts)) == 0
}

// rootMounts returns the mounts at "/", the lowest first.
func rootMounts(mountinfo string) (list []host.MountLine) {
	for _, line := range host.ParseMounts([]byte(mountinfo), " / ") {
		if line.Point == "/" {
			list = append(list, line)
		}
	}
	return list
}
