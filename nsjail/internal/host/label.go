package host

import (
	"strings"

	"brig/nsjail/spec"
)

// lookLabels reads whether the kernel enforces what the labels of the Spec stand for.
func (h *Machine) lookLabels(s *spec.Spec, read settings) error {
	if s.AppArmor != "" {
		h.lookAppArmor(read)
	}
	if s.SELinuxLabel == "" {
		return nil
	}
	switch read("/sys/fs/selinux/enforce") {
	case "1":
	case "0":
		h.Missing["selinux"] = "SELinux is permissive here; run `setenforce 1` as root"
	default:
		h.Missing["selinux"] = "SELinux is not in force here (/sys/fs/selinux is empty); boot with security=selinux, and " +
			"load a policy"
	}
	return nil
}

func (h *Machine) lookAppArmor(read settings) {
	if read("/sys/module/apparmor/parameters/enabled") != "Y" {
		h.Missing["apparmor"] = "AppArmor is not in force here (/sys/module/apparmor/parameters/enabled); boot with " +
			"security=apparmor"
		return
	}
	label := read("/proc/self/attr/apparmor/current") // Linux 5.8
	h.Confined = label != "unconfined" && !strings.HasSuffix(label, " (unconfined)")
}
