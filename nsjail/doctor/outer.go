package doctor

import (
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
)

// outer returns the name of the container or sandbox that this process runs in, and the evidence; "" for none.
func (f *Facts) outer() (kind, by string) {
	release := strings.ToLower(f.Release)
	pid1 := f.file("/proc/1/environ")
	systemd := f.file("/run/systemd/container") // written by systemd for everybody to read
	if systemd == "" {
		systemd = strings.TrimPrefix(pid1, "container=")
	}
	groups := f.Files["/proc/self/cgroup"]
	switch {
	case strings.Contains(release, "gvisor") || strings.Contains(f.Version, "Sun Jan 10 15:06:54 PST 2016"):
		return "gVisor", "the kernel's version"
	case strings.HasSuffix(release, "-microsoft"): // WSL 2 has -microsoft-standard-WSL2
		return "WSL 1", "the kernel's release"
	case f.file("/proc/1/comm") == "brig-launcher": // init is a fork of it
		return "brig", "the name of process 1"
	case f.Env["KUBERNETES_SERVICE_HOST"] != "":
		return "kubernetes", "KUBERNETES_SERVICE_HOST"
	case strings.Contains(groups, "/kubepods"):
		return "kubernetes", "/proc/self/cgroup"
	case f.has("/run/.containerenv"):
		return "podman", "/run/.containerenv"
	case f.has("/.dockerenv"):
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
func outerFix(kind string) string {
	switch kind {
	case "brig":
		return "outside brig run --seccomp unconfined ..., inside brig run --optional proc ..."
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

func (f *Facts) container() Finding {
	kind, by := f.outer()
	if kind == "" {
		return Finding{Name: "container", State: Note, Why: "no sign of an outer container"}
	}
	x := Finding{Name: "container", State: Note, Why: "this looks like " + words.Quote(kind) + " (by " + by + ")"}
	// a file such as /.dockerenv proves little by itself: machines are made of images too
	if masked := host.NoProc([]byte(f.Files["/proc/self/mountinfo"])) != ""; !f.Default.Works() &&
		(masked || f.status("Seccomp") == "2" || f.confined().why != "") {
		x.Fix = outerFix(kind)
	}
	return x
}

func (f *Facts) outerFilter() Finding {
	x := Finding{Name: "outer filter", State: Present, Why: "no seccomp filter is in force yet"}
	if f.status("Seccomp") != "2" {
		return x
	}
	x.Why = "an outer filter is in force, and it permits what a default jail does"
	if f.Default.Works() {
		return x
	}
	kind, _ := f.outer()
	x.State, x.Why, x.Fix = Partial, "an outer filter is in force; it may be what forbids the jail", outerFix(kind)
	if f.Relaxed.Works() {
		x.Why = "an outer filter is in force; it permits a jail without what --optional spares"
	}
	return x
}

func (f *Facts) lsm() Finding {
	label := f.file("/proc/self/attr/current")
	x := Finding{Name: "lsm", State: Note, Why: "no label"}
	if label != "" {
		x.Why = "the label of this process is " + words.Quote(strings.TrimRight(label, "\x00"))
	}
	if v := f.sysctl(host.AppArmorSwitch); v != "" {
		x.Why += "; " + host.AppArmorSwitch + " is " + words.Quote(v)
	}
	switch f.file("/sys/fs/selinux/enforce") {
	case "1":
		x.Why += "; SELinux is enforcing"
	case "0":
		x.Why += "; SELinux is permissive"
	}
	return x
}
