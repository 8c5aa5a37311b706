package doctor

import (
	"fmt"
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

func (f *Facts) kernel() (state State, why, fix string) {
	var k host.Kernel
	if _, err := fmt.Sscanf(f.Release, "%d.%d", &k.Major, &k.Minor); err != nil {
		return Partial, "the release " + words.Quote(f.Release) + " is not a number", ""
	}
	why = "Linux " + strings.Trim(words.Quote(f.Release), `"`)
	if least := host.MinKernel; !k.AtLeast(least.Major, least.Minor) {
		return Missing, fmt.Sprintf("%s is older than %d.%d, which mount_setattr(2) needs", why, least.Major, least.Minor),
			fmt.Sprintf("boot Linux %d.%d or newer", least.Major, least.Minor)
	}
	var lacks []string
	for _, n := range kernelNeeds {
		if !k.AtLeast(n.release.Major, n.release.Minor) {
			lacks = append(lacks, fmt.Sprintf("%d.%d: %s", n.release.Major, n.release.Minor, n.what))
		}
	}
	if len(lacks) > 0 {
		return Partial, why + " lacks what came with " + strings.Join(lacks, "; "), "boot Linux 6.3 or newer"
	}
	return Present, why, ""
}

func (f *Facts) overlay() (state State, why, fix string) {
	if f.Host == nil {
		return "", "", ""
	}
	why = f.Host.Missing["overlay"]
	for _, d := range f.Host.System {
		if why == "" && d.Link == "" {
			why = d.NoOverlay
		}
	}
	if by := f.Default.Enforced["overlay"]; why == "" && strings.HasPrefix(by, "bind") {
		why = strings.TrimSuffix(strings.TrimPrefix(by, "bind ("), ")")
	}
	switch {
	case why == "":
		return Present, "/usr can be a private overlay", ""
	case strings.Contains(why, "modprobe"):
		fix = "modprobe overlay"
		why = strings.Replace(why, "; run `modprobe overlay` as root", "", 1)
	case strings.Contains(why, "on an overlay already"):
		fix = "keep trees for --rootfs on a volume, such as docker run -v /srv/trees:/srv/trees ..."
	case strings.Contains(why, "mounts below"):
		fix = "umount them: findmnt -R /usr"
	}
	return Partial, why + ": /usr is bound instead, so file locks and watches on it reach other jails, and " +
		"--rootfs-writable does not work", fix
}

func (f *Facts) idmap() (state State, why, fix string) {
	t := &f.Shared
	switch {
	case f.Host == nil || !f.Host.Drop:
		return Present, "not needed: what a payload writes belongs to the caller", ""
	case f.Host.Missing["idmap"] != "":
		return Partial, f.Host.Missing["idmap"] + ", so a payload of root's is on the host the owner of what it " +
				"may write to, and cannot write to what is root's",
			"chown what is to be shared writably, or give the container both: docker run " +
				"--cap-add SYS_ADMIN --cap-add SYS_PTRACE ..."
	case t.Works():
		return Present, "the current directory can be shared writably; new files belong to its owner", ""
	case t.Tried && f.Default.Works():
		return Partial, "the current directory cannot be shared writably: " + t.Err.Error(),
			"share a directory of ext4, xfs, btrfs or tmpfs without other mounts below it, or run brig as its owner"
	}
	return Note, "not tried, since no jail works", ""
}

func (f *Facts) seccomp() (state State, why, fix string) {
	actions, ok := f.Files["/proc/sys/kernel/seccomp/actions_avail"]
	switch {
	case ok:
	case f.Default.Works():
		return Present, "filters work; the list of actions is hidden", ""
	case f.seccompMode() != "" || !f.has("/proc/self/status"):
		return Note, "the list of actions is hidden", ""
	default:
		return Missing, "the kernel has no system-call filters", "boot a kernel with CONFIG_SECCOMP_FILTER=y"
	}
	return Present, "actions " + words.Quote(strings.TrimSpace(actions)), ""
}

func (f *Facts) library() (state State, why, fix string) {
	return Present, "version " + f.Libseccomp + " is part of this binary", ""
}
