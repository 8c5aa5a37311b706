package doctor

import (
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// outer returns the name of the container or sandbox that this process runs in, and the evidence; "" for none.
func (m *Machine) outer() (kind, by string) {
	release := strings.ToLower(m.Release)
	pid1 := m.file("/proc/1/environ")
	systemd := m.file("/run/systemd/container") // written by systemd for everybody to read
	if systemd == "" {
		systemd = strings.TrimPrefix(pid1, "container=")
	}
	groups := m.Files["/proc/self/cgroup"]
	switch {
	case strings.Contains(release, "gvisor") || strings.Contains(m.Version, "Sun Jan 10 15:06:54 PST 2016"):
		return "gVisor", "the kernel's version"
	case strings.HasSuffix(release, "-microsoft"): // WSL 2 has -microsoft-standard-WSL2
		return "WSL 1", "the kernel's release"
	case m.file("/proc/1/comm") == "brig-launcher": // init is a fork of it
		return "brig", "the name of process 1"
	case m.Env["KUBERNETES_SERVICE_HOST"] != "":
		return "kubernetes", "KUBERNETES_SERVICE_HOST"
	case strings.Contains(groups, "/kubepods"):
		return "kubernetes", "/proc/self/cgroup"
	case m.has("/run/.containerenv"):
		return "podman", "/run/.containerenv"
	case m.has("/.dockerenv"):
		return "docker", "/.dockerenv"
	case strings.Contains(groups, "/docker/") || strings.Contains(groups, "/docker-"):
		return "docker", "/proc/self/cgroup"
	case strings.Contains(groups, "/lxc/") || strings.Contains(groups, "/lxc.payload"):
		return "lxc", "/proc/self/cgroup"
	case systemd != "":
		return systemd, "/run/systemd/container or process 1"
	case strings.Contains(release, "microsoft"):
		return "WSL 2", "the kernel's release"
	}
	return "", ""
}

// outerFix returns the option with which the outer container permits a jail.
func outerFix(kind string) spec.Text {
	switch kind {
	case "brig":
		return "outside " + words.Jail(words.Set("seccomp", "unconfined")) + " ..., inside " +
			words.Jail(spec.Without("proc")) + " ..."
	case "docker":
		return "docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined --security-opt " +
			"apparmor=unconfined ..."
	case "podman":
		return "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL --security-opt label=disable ..."
	case "kubernetes":
		return "in the pod: hostUsers: false, and in the container's securityContext: procMount: Unmasked, " +
			"seccompProfile: {type: Unconfined}, appArmorProfile: {type: Unconfined}"
	case "lxc":
		return "lxc config set CONTAINER security.nesting true, or lxc.include = /usr/share/lxc/config/nesting.conf"
	case "systemd-nspawn":
		return "SYSTEMD_SECCOMP=0 systemd-nspawn ..."
	case "gVisor":
		return "run the outer container with runc: docker run --runtime=runc ..."
	}
	return "run brig outside of that sandbox, or let its filter pass clone3, mount, pivot_root and keyctl"
}

func checkContainer(m *Machine, works bool) (state State, why, fix spec.Text) {
	kind, by := m.outer()
	if kind == "" {
		return Note, "no sign of an outer container", ""
	}
	// a file such as /.dockerenv proves little by itself: machines are made of images too
	if masked := host.NoProc([]byte(m.Files["/proc/self/mountinfo"])) != ""; !works &&
		(masked || m.seccompMode() == "2" || m.confined()) {
		fix = outerFix(kind)
	}
	return Note, words.Textf("this looks like %s (by %s)", words.Quote(kind), by), fix
}

func checkOuterFilter(m *Machine, t *Trials) (state State, why, fix spec.Text) {
	kind, _ := m.outer()
	switch {
	case m.seccompMode() != "2":
		return Present, "no seccomp filter is in force yet", ""
	case t.Default.Works():
		return Present, "an outer filter is in force, and it permits what a default jail does", ""
	case t.Relaxed.Works():
		return Partial, "an outer filter is in force; it permits a jail without what " + words.Field("optional") +
			" spares", outerFix(kind)
	}
	return Partial, "an outer filter is in force; it may be what forbids the jail", outerFix(kind)
}

func checkLSM(m *Machine) (state State, why, fix spec.Text) {
	why = "no label"
	if label := m.label(); label != "" {
		why = "the label of this process is " + words.Plain(words.Quote(strings.TrimRight(label, "\x00")))
	}
	if v := m.sysctl(host.AppArmorSwitch); v != "" {
		why += "; " + host.AppArmorSwitch + " is " + words.Plain(words.Quote(v))
	}
	switch m.file(selinuxEnforce) {
	case "1":
		why += "; SELinux is enforcing"
	case "0":
		why += "; SELinux is permissive"
	}
	return Note, why, ""
}
