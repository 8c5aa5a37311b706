package doctor

import (
	"fmt"
	"slices"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
)

// kernelNeeds are the features that came after host.MinKernel.
var kernelNeeds = []struct {
	release host.Kernel
	what    string
}{
	{host.Kernel{Major: 5, Minor: 14}, "the limit on processes counts for a jail alone (without: --optional processes)"},
	{host.Kernel{Major: 5, Minor: 15}, "idmapped btrfs"},
	{host.Kernel{Major: 6, Minor: 3}, "idmapped tmpfs"},
}

func (f *Facts) kernel() Finding {
	x := Finding{Name: "kernel", State: Present}
	var k host.Kernel
	if _, err := fmt.Sscanf(f.Release, "%d.%d", &k.Major, &k.Minor); err != nil {
		return Finding{Name: "kernel", State: Partial, Why: "the release " + words.Quote(f.Release) + " is not a number"}
	}
	x.Why = "Linux " + strings.Trim(words.Quote(f.Release), `"`)
	if !k.AtLeast(host.MinKernel.Major, host.MinKernel.Minor) {
		x.State, x.Fix = Missing, fmt.Sprintf("boot Linux %d.%d or newer", host.MinKernel.Major, host.MinKernel.Minor)
		x.Why += fmt.Sprintf(" is older than %d.%d, which mount_setattr(2) needs", host.MinKernel.Major, host.MinKernel.Minor)
		return x
	}
	var lacks []string
	for _, n := range kernelNeeds {
		if !k.AtLeast(n.release.Major, n.release.Minor) {
			lacks = append(lacks, fmt.Sprintf("%d.%d: %s", n.release.Major, n.release.Minor, n.what))
		}
	}
	if len(lacks) > 0 {
		x.State, x.Fix = Partial, "boot Linux 6.3 or newer"
		x.Why += " lacks what came with " + strings.Join(lacks, "; ")
	}
	return x
}

func (f *Facts) overlay() Finding {
	x := Finding{Name: "overlay", State: Present, Why: "/usr can be a private overlay"}
	if f.Host == nil {
		return Finding{}
	}
	why := f.Host.Missing["overlay"]
	for _, d := range f.Host.System {
		if why == "" && d.Link == "" {
			why = d.NoOverlay
		}
	}
	if by := f.Default.Enforced["overlay"]; why == "" && strings.HasPrefix(by, "bind") {
		why = strings.TrimSuffix(strings.TrimPrefix(by, "bind ("), ")")
	}
	if why == "" {
		return x
	}
	x.State, x.Why = Partial, why+": /usr is bound instead, so file locks and watches on it reach other jails, and "+
		"--rootfs-writable does not work"
	switch {
	case strings.Contains(why, "modprobe"):
		x.Fix = "modprobe overlay"
		x.Why = strings.Replace(x.Why, "; run `modprobe overlay` as root", "", 1)
	case strings.Contains(why, "on an overlay already"):
		x.Fix = "keep trees for --rootfs on a volume, such as docker run -v /srv/trees:/srv/trees ..."
	case strings.Contains(why, "mounts below"):
		x.Fix = "umount them: findmnt -R /usr"
	}
	return x
}

func (f *Facts) idmap() Finding {
	x := Finding{Name: "idmap", State: Present, Why: "not needed: what a payload writes belongs to the caller"}
	if f.Host == nil || !f.Host.Drop {
		return x
	}
	t := &f.Shared
	switch {
	case f.Host.Missing["idmap"] != "":
		x.State, x.Why = Partial, f.Host.Missing["idmap"]+", so a payload of root's is on the host the owner of what it "+
			"may write to, and cannot write to what is root's"
		x.Fix = "chown what is to be shared writably, or give the container both: docker run " +
			"--cap-add SYS_ADMIN --cap-add SYS_PTRACE ..."
	case t.Works():
		x.Why = "the current directory can be shared writably; new files belong to its owner"
	case t.Tried && f.Default.Works():
		x.State, x.Why = Partial, "the current directory cannot be shared writably: "+t.Err.Error()
		x.Fix = "share a directory of ext4, xfs, btrfs or tmpfs without other mounts below it, or run brig as its owner"
	default:
		x.State, x.Why = Note, "not tried, since no jail works"
	}
	return x
}

func (f *Facts) seccomp() Finding {
	x := Finding{Name: "seccomp", State: Present}
	actions, ok := f.Files["/proc/sys/kernel/seccomp/actions_avail"]
	if !ok {
		if f.Default.Works() {
			return Finding{Name: "seccomp", State: Present, Why: "filters work; the list of actions is hidden"}
		}
		if f.status("Seccomp") != "" || !f.has("/proc/self/status") {
			return Finding{Name: "seccomp", State: Note, Why: "the list of actions is hidden"}
		}
		x.State, x.Why = Missing, "the kernel has no system-call filters"
		x.Fix = "boot a kernel with CONFIG_SECCOMP_FILTER=y"
		return x
	}
	var lacks []string
	for _, a := range []string{"allow", "errno", "kill_process", "log", "trap"} {
		if !slices.Contains(strings.Fields(actions), a) {
			lacks = append(lacks, a)
		}
	}
	x.Why = "actions " + words.Quote(strings.TrimSpace(actions))
	if len(lacks) > 0 {
		x.State, x.Fix = Partial, "boot Linux 4.14 or newer"
		x.Why += ", without " + strings.Join(lacks, " ")
	}
	return x
}

func (f *Facts) library() Finding {
	return Finding{Name: "libseccomp", State: Present, Why: "version " + f.Libseccomp + " is part of this binary"}
}
