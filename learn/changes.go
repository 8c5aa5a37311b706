package learn

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"brig/nsjail"
	"brig/nsjail/spec"
)

// write proposes room for what the payload wanted to write: a copy of the caller's directory, or an empty directory.
func (a *advisor) write(e *Event) {
	if a.copied(e) {
		a.nodes(e)
		return
	}
	dir, at := e.Dir, ""
	refused := e.Errno == "EROFS" || e.Errno == "EACCES" && !a.mounted(e.Path) // its permissions are the host's
	switch r := &a.Spec.Rootfs; {
	case e.Errno == "EROFS" && *r != nsjail.Rootfs{} && !r.Writable && !a.mounted(e.Path) && !kernel(e.Path):
		a.propose(e, Room, e.Path, RootfsWritable)
	case system(e.Path) || !refused && e.Errno != "ENOENT": // it is read-only by design
	case !dir.InJail && dir.OnHost && !system(dir.Path), refused && dir.Empty && dir.Path != "/":
		at = dir.Path
	case refused && dir.InJail && strings.HasPrefix(e.Call, "mkdir"):
		at = e.Path
	}
	if at != "" && !strings.Contains(at, ":") { // the payload must not choose options, which follow a colon
		a.propose(e, Room, e.Path, Tmpfs, at)
	}
}

// mounted reports whether a path is in a mount of the Spec.
func (a *advisor) mounted(at string) bool {
	return slices.ContainsFunc(a.Spec.Mounts, func(m nsjail.Mount) bool { return under(at, m.Target) })
}

// copied makes the mount of a path a copy that the payload may change, if it shows a directory that the caller has
// named by a flag, or the caller's working directory.
func (a *advisor) copied(e *Event) bool {
	p := e.Path
	for _, m := range a.Spec.Mounts {
		if m.Type == nsjail.MountBind && !m.Writable && under(p, m.Target) && p != m.Target {
			a.copy(m.Source+":"+m.Target, e)
			return true
		}
	}
	if broad(a.Dir) || Private(a.Dir, a.Dir, a.Homes) != "" || a.secrets(a.Dir) {
		return false
	}
	switch {
	case under(p, spec.DefaultWorkdir) && !a.hides(spec.DefaultWorkdir) && a.Dir != spec.DefaultWorkdir:
		a.copy(a.Dir, e)
	case under(p, a.Dir) && !a.hides(a.Dir):
		a.copy(a.Dir+":"+a.Dir, e)
	default:
		return false
	}
	return true
}

// copy records a write for which COW is proposed with this value.
func (a *advisor) copy(value string, e *Event) {
	if a.cows[value] == nil {
		first := *e
		first.Count = 0
		a.cows[value] = &first
	}
	a.cows[value].Count += e.Count
}

// system reports whether a path belongs to the host's programs or configuration, or to the kernel.
func system(p string) bool {
	return kernel(p) || inOne(p, "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
}

func kernel(p string) bool { return inOne(p, "/proc", "/sys", "/dev") }

func inOne(p string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return under(p, dir) })
}

// more is the factor by which a limit is raised.
const more = 4

// full proposes more room where a file system was full.
func (a *advisor) full(e *Event) {
	target, size := "", cmp.Or(a.Spec.Scratch, spec.DefaultTmpfsSize)
	for _, own := range []string{"/tmp", spec.DefaultWorkdir, "/output", spec.DefaultHome, "/dev/shm"} {
		if under(e.Path, own) {
			target = own
		}
	}
	setting := Tmpfs
	for _, m := range a.Spec.Mounts {
		switch {
		case !under(e.Path, m.Target):
		case m.Type == nsjail.MountTmpfs:
			target = m.Target
			size = max(size, m.Size)
		case m.Type == nsjail.MountCOW:
			setting, target = COW, m.Source+":"+m.Target
			size = max(nsjail.Bytes(spec.DefaultCOWSize), m.Size)
		default:
			return // it is the host's file system
		}
	}
	if target != "" {
		a.propose(e, Room, e.Path, setting, target+":size="+nsjail.Bytes(more*size).String())
	}
}

// count proposes a higher limit on processes or descriptors.
func (a *advisor) count(e *Event) {
	if e.Errno == "EMFILE" {
		a.propose(e, Room, e.Path, OpenFiles, "65536")
		return
	}
	n := int64(spec.DefaultProcesses)
	if p := int64(a.Spec.Limits.Processes); p > 0 {
		n = p
	}
	a.propose(e, Room, e.Path, Processes, strconv.FormatInt(more*n, 10))
}

// connect proposes to allow an address. The jail's own loopback interface is not the host's.
func (a *advisor) connect(e *Event) {
	addr := e.Addr.Addr().Unmap()
	if a.opens(netip.AddrPortFrom(addr, e.Addr.Port())) {
		return
	}
	if addr.IsLoopback() || addr.IsUnspecified() || e.Addr.Port() == 53 {
		if e.Addr.Port() != 53 {
			a.withhold(e, e.Addr.String(), "nothing listens there in the jail: its loopback is not the host's")
		}
		return
	}
	to := netip.AddrPortFrom(addr, e.Addr.Port()).String()
	a.propose(e, Network, to, Allow, to)
}

// refused proposes the remedies of the report's denials.
func (a *advisor) refused() {
	for i := range a.Denials {
		d := &a.Denials[i]
		e := &Event{Call: d.Name, Errno: "EPERM", Count: int(min(d.Count, 1<<30))}
		fix, _ := d.Fix.Only()
		switch {
		case d.Layer == "network" && fix.Field == "allow":
			e.Call, e.Errno = "connect", "ECONNREFUSED"
			a.propose(e, Network, d.Name, Allow, fix.Members()...)
		case d.Layer == "syscall" && fix.Field == "seccomp":
			a.propose(e, Filter, "", Seccomp, strings.Trim(fix.Value, `"`))
		case d.Layer == "syscall" && d.Fix != "":
			a.withhold(e, "", d.Why+"; "+d.Fix)
		case d.Layer == "syscall":
			a.withhold(e, "", d.Why)
		}
	}
}

// limits proposes to raise the limits that the run has met.
func (a *advisor) limits() {
	l := &a.Spec.Limits
	for _, name := range a.LimitsHit {
		e := &Event{Call: "limit", Errno: name, Count: 1}
		var p *Proposal
		switch name {
		case "wall":
			wall := l.Wall
			if wall == 0 {
				wall = nsjail.Duration(spec.DefaultWall)
			}
			p = a.propose(e, Room, "", Wall, (more * wall).String())
		case "memory":
			p = a.propose(e, Room, "", Memory, (more * l.Memory).String())
		case "cpu_time":
			p = a.propose(e, Room, "", CPUTime, (more * l.CPUTime).String())
		default:
			continue
		}
		p.Costly = true // it would take longer or more of the machine than the caller has allowed
	}
}
