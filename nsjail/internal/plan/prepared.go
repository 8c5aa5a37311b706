package plan

import (
	"fmt"
	"slices"
	"strings"

	"brig/internal/program"
	"brig/netns"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ops"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// Prepare plans a launcher's prepared root: a mount namespace that contains only what every jail shows of the host. A
// jail created there copies a dozen mounts instead of all mounts of the host. home means that jails will start in
// pooled network namespaces, so that the launcher needs a network namespace to return to. copies is host.CopyEtc of h.
func Prepare(h *host.Host, home bool, copies map[string][]rootfs.Entry) *PreparedRoot {
	w := &PreparedRoot{Host: h}
	self := program.Request{Kind: program.Self, Cgroup: -1}
	tree := program.New(2)
	enterNamespaces(tree, h, home)
	root := &rootfs.Root{Size: int64(spec.DefaultTmpfsSize), Inodes: spec.DefaultTmpfsInodes,
		Entries: preparedEntries(h, w, copies)}
	made := rootfs.Begin(tree, root)
	made.Add(root.Entries)
	made.Hold()
	// The kernel lets a jail mount a procfs only if a fully visible one exists in its mount namespace. This procfs belongs
	// to a pid namespace whose only process has ended, so it shows no process.
	proc := program.New(2)
	rootfs.ProcOn(proc)
	proc.Add("proc", unix.SYS_EXIT_GROUP, program.Int(0))
	enter := program.New(2)
	rootfs.Finish(enter)
	w.Steps = []Preparation{{"a tree of its own", tree, self},
		{"the procfs of no process", proc, program.Request{CloneFlags: unix.CLONE_NEWPID, Cgroup: -1}},
		{"the tree becomes the root", enter, self}}
	return w
}

// enterNamespaces leaves the host's namespaces. An ordinary user needs a user namespace to create the others. Root
// keeps its privileges until the root is complete, but creates it as the user that its payloads run as.
func enterNamespaces(p *program.Program, h *host.Host, home bool) {
	flags := uint64(unix.CLONE_NEWNS)
	if !h.Drop {
		flags |= unix.CLONE_NEWUSER
	}
	if home {
		flags |= unix.CLONE_NEWNET
	}
	ops.Unshare(p, "prepare", int(flags), strings.Join(FlagNames(flags), "|"))
	if h.Drop {
		p.Add("prepare", unix.SYS_SETFSGID, program.Int(h.PayloadGID))
		p.Add("prepare", unix.SYS_SETFSUID, program.Int(h.PayloadUID))
	} else {
		ops.WriteSelf(p, 0, "setgroups", "deny")
		ops.WriteSelf(p, 0, "uid_map", fmt.Sprintf("%d %d 1", h.UID, h.UID))
		ops.WriteSelf(p, 0, "gid_map", fmt.Sprintf("%d %d 1", h.GID, h.GID))
	}
	if home {
		fd := p.Open("net", unix.SYS_OPENAT, program.CWD(), program.Str("/proc/self/ns/net"),
			program.Named(unix.O_RDONLY|unix.O_CLOEXEC, "O_RDONLY|O_CLOEXEC"), program.Int(0))
		ops.Dup(p, "net", fd, launcher.HomeFD)
		p.Close("net", fd)
	}
}

// preparedEntries returns the host's directories and devices, and the /etc of a default jail.
func preparedEntries(h *host.Host, w *PreparedRoot, copies map[string][]rootfs.Entry) []rootfs.Entry {
	w.etc = true
	list := []rootfs.Entry{{Kind: rootfs.Dir, Target: "var/empty", Mode: 0o555}, emptyProc()}
	var bound []rootfs.Entry
	for _, d := range h.System {
		if d.Link != "" {
			list = append(list, symlink(d.Name, d.Link))
			continue
		}
		if made, ok := copies[d.Name]; ok {
			list = append(list, made...)
			continue
		}
		w.etc = w.etc && !inEtc(d.Name)
		bound = append(bound, rootfs.Entry{Kind: rootfs.Bind, Target: d.Name,
			Source: rootfs.Source{Path: "/" + d.Name, Dir: true}, Attr: attrRead})
	}
	in := &input{&spec.Spec{}, h, &Mode{}}
	return slices.Concat(list, bound, etcFiles(in), etcOfHost(h, false), nodes())
}

// SetnsTrial returns a process that enters its own network namespace, to test whether an outer filter refuses setns(2).
func SetnsTrial() Preparation {
	p := program.New(2)
	ops.Setns(p, "net", netns.Descriptor(p).Arg(), unix.CLONE_NEWNET, "CLONE_NEWNET")
	p.Add("net", unix.SYS_EXIT_GROUP, program.Int(0))
	return Preparation{"whether setns(2) is permitted", p,
		program.Request{CloneFlags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET, Cgroup: -1}}
}

// NetProgram returns a program that makes a network namespace with lo up and sends it to the keeper. The process stays
// in it until it makes another one. With free all ports can be bound, which needs a /proc/sys that can be written.
func NetProgram(free bool) *program.Program {
	p := program.New(2)
	ops.Unshare(p, "net", unix.CLONE_NEWNET, "CLONE_NEWNET")
	netns.Loopback(p, 0)
	if free {
		netns.FreePorts(p, program.CWD(), "/proc/sys/")
	}
	ns := netns.Descriptor(p)
	ops.PassFD(p, "net", ns, "[network namespace]")
	return p
}

// MountProgram returns a program that makes a mount of a caller's source and sends it to the keeper. open_tree(2) needs
// a process whose user namespace owns the mount namespace.
func MountProgram(src *host.Source, attr uint64) *program.Program {
	p := program.New(2)
	t := rootfs.MountTree(p, "mount", &rootfs.Source{Path: src.Path, Dev: src.Dev, Ino: src.Ino}, attr)
	ops.PassFD(p, "mount", t, "[mount]")
	return p
}
