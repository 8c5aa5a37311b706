package spec

import (
	"fmt"
	"slices"
	"strings"

	"brig/internal/words"
)

// checkTier refuses what a jail without namespaces cannot hold, of all fields.
func checkTier(s *Spec) (c problems) {
	switch s.Tier {
	case "":
		return nil
	case TierProcess:
	default:
		c.add("tier", words.Quote(string(s.Tier))+" is not a tier", words.DidYouMean(string(s.Tier),
			[]string{string(TierProcess)}))
		return c
	}
	const own = "the process tier has the host's files, and "
	for _, f := range []struct {
		set         bool
		field, why  string
		alternative Text
	}{
		{s.Rootfs.System != "", "rootfs.system", "the process tier has the host's own /usr", ""},
		{s.Rootfs != Rootfs{System: s.Rootfs.System}, "rootfs", own + "no root of its own", ""},
		{s.User != "", "user", "the process tier has no user namespace: the payload is the caller, or for root, an id that " +
			"nobody has", ""},
		{s.Hostname != "", "hostname", "the process tier has the host's name", ""},
		{s.NoInit, "no_init", "without a pid namespace only an init can end all processes", ""},
		{s.TTY, "tty", "the process tier has no terminals of its own", ""},
		{len(s.Protect) > 0, "protect", "Landlock cannot take back a part of a writable directory",
			"bind only what may be changed"},
		{len(s.Etc) > 0, "etc", own + "no /etc of its own", "write " + ShowReadOnly("/etc/NAME", "/etc/NAME")},
		{len(s.Publish) > 0, "publish", "the process tier has no network of its own", ""},
		{s.Net == NetLoopback, "net", "the process tier has no loopback interface of its own",
			"use none, the default of this tier, or host"},
		{s.Net == NetEgress, "net", "the process tier has no network of its own, so that brig sees no connection",
			"use none, the default of this tier, or host"},
		{s.Seccomp == "unconfined", "seccomp", "without namespaces the filter is what keeps the host's processes apart",
			"name a preset or a profile"},
	} {
		if f.set && f.alternative == "" {
			f.alternative = "remove it, or use the default tier"
		}
		if f.set {
			c.refer(f.field, f.why, f.alternative)
		}
	}
	return append(c, tierMounts(s.Mounts)...)
}

// tierMounts checks the mounts of a jail without a mount namespace: each grants access to a path of the host.
func tierMounts(mounts []Mount) (c problems) {
	for i, m := range mounts {
		field := Index("mounts", i)
		switch {
		case m.Type != MountBind:
			c.add(field+".type", "the process tier mounts nothing, and can only bind a path of the host at itself",
				"bind one, or use the directory that $TMPDIR names")
		case m.Source != m.Target:
			c.add(field+".target", fmt.Sprintf("the process tier mounts nothing: %s cannot be shown at %s",
				words.Quote(m.Source), words.Quote(m.Target)), "write its own absolute path twice")
		}
		inside := func(o Mount) bool { return o.Writable && strings.HasPrefix(m.Target, o.Target+"/") }
		if !m.Writable && slices.ContainsFunc(mounts, inside) {
			c.add(field+".writable", "Landlock cannot take back a part of a writable directory",
				"bind only what may be changed")
		}
	}
	return c
}
