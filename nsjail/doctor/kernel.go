package doctor

import (
	"fmt"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
)

// kernelNeed is a feature that came after host.MinKernel.
type kernelNeed struct {
	release host.Kernel
	what    spec.Text
}

func kernelNeeds() []kernelNeed {
	return []kernelNeed{
		{host.Kernel{Major: 5, Minor: 14}, "the limit on processes counts for a jail alone (without: " +
			spec.Without("processes") + ")"},
		{host.Kernel{Major: 5, Minor: 15}, "idmapped btrfs"},
		{host.Kernel{Major: 6, Minor: 3}, "idmapped tmpfs"},
	}
}

func checkKernel(release string) (state State, why, fix spec.Text) {
	var k host.Kernel
	if _, err := fmt.Sscanf(release, "%d.%d", &k.Major, &k.Minor); err != nil {
		return Partial, words.Textf("the release %s is not a number", words.Quote(release)), ""
	}
	why = "Linux " + words.Plain(strings.Trim(words.Quote(release), `"`))
	if least := host.MinKernel; !k.AtLeast(least.Major, least.Minor) {
		return Missing, words.Textf("%s is older than %d.%d, which mount_setattr(2) needs", why, least.Major, least.Minor),
			words.Textf("boot Linux %d.%d or newer", least.Major, least.Minor)
	}
	var lacks []spec.Text
	for _, n := range kernelNeeds() {
		if !k.AtLeast(n.release.Major, n.release.Minor) {
			lacks = append(lacks, words.Textf("%d.%d: %s", n.release.Major, n.release.Minor, n.what))
		}
	}
	if len(lacks) > 0 {
		return Partial, why + " lacks what came with " + words.Join(lacks, "; "), "boot Linux 6.3 or newer"
	}
	return Present, why, ""
}

// checkOverlay reports how /usr is shown: by is what a jail had of it, if one was made.
func checkOverlay(h *host.Host, by spec.Text) (state State, why, fix spec.Text) {
	if h == nil {
		return "", "", ""
	}
	lacks := h.Missing["overlay"].String()
	for _, d := range h.System {
		if lacks == "" && d.Link == "" {
			lacks = d.NoOverlay
		}
	}
	if lacks == "" && strings.HasPrefix(by.String(), "bind") {
		lacks = strings.TrimSuffix(strings.TrimPrefix(by.String(), "bind ("), ")")
	}
	switch {
	case lacks == "":
		return Present, "/usr can be a private overlay, or a faster bind: " + words.Set("rootfs.system", "shared"), ""
	case strings.Contains(lacks, "modprobe"):
		fix = "modprobe overlay"
		lacks = strings.Replace(lacks, "; run `modprobe overlay` as root", "", 1)
	case strings.Contains(lacks, "on an overlay already"):
		fix = "keep trees for " + words.Field("rootfs.path") + " on a volume, such as docker run -v /srv/trees:/srv/trees ..."
	case strings.Contains(lacks, "mounts below"):
		fix = "umount them: findmnt -R /usr"
	}
	return Partial, words.Plain(lacks) + ": /usr is bound instead, so file locks and watches on it reach other jails, " +
		"and " + words.Field("rootfs.writable") + " does not work", fix
}

func checkIDMap(h *host.Host, t *Trials) (state State, why, fix spec.Text) {
	switch {
	case h == nil || !h.Drop:
		return Present, "not needed: what a payload writes belongs to the caller", ""
	case h.Missing["idmap"] != "":
		return Partial, h.Missing["idmap"] + ", so a payload of root's is on the host the owner of what it " +
				"may write to, and cannot write to what is root's",
			"chown what is to be shared writably, or give the container both: docker run " +
				"--cap-add SYS_ADMIN --cap-add SYS_PTRACE ..."
	case t.Shared.Works():
		return Present, "the current directory can be shared writably; new files belong to its owner", ""
	case t.Shared.Tried && t.Default.Works():
		return Partial, "the current directory cannot be shared writably: " + words.Message(t.Shared.Err),
			"share a directory of ext4, xfs, btrfs or tmpfs without other mounts below it, or run brig as its owner"
	}
	return Note, "not tried, since no jail works", ""
}

func checkSeccomp(m *Machine, works bool) (state State, why, fix spec.Text) {
	actions, ok := m.Files["/proc/sys/kernel/seccomp/actions_avail"]
	switch {
	case ok:
	case works:
		return Present, "filters work; the list of actions is hidden", ""
	case m.seccompMode() != "" || !m.has("/proc/self/status"):
		return Note, "the list of actions is hidden", ""
	default:
		return Missing, "the kernel has no system-call filters", "boot a kernel with CONFIG_SECCOMP_FILTER=y"
	}
	return Present, "actions " + words.Plain(words.Quote(strings.TrimSpace(actions))), ""
}

func checkLibrary(version string) (state State, why, fix spec.Text) {
	return Present, "version " + words.Plain(version) + " is part of this binary", ""
}
