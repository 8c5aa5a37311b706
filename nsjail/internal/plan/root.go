package plan

import (
	"cmp"
	"slices"
	"strconv"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/spec"
	"brig/rootfs"
)

// tree is the jail's root without the caller's mounts.
type tree struct {
	root       rootfs.Root
	procless   bool // the jail has no procfs
	everywhere int  // the number of entries that are the same on every machine, which come first
	layers     layers
}

// decideTree decides the entries of the root, in the order of their creation.
func decideTree(in *input, fds *intake, out *report) (t tree) {
	t.root = rootfs.Root{Size: int64(cmp.Or(in.Scratch, spec.DefaultTmpfsSize)), Inodes: spec.DefaultTmpfsInodes,
		Watched: !in.NoInit && holdsDisks(in.host), Over: in.mode.Root != nil,
		Later: in.mode.Root != nil && len(in.Mounts) > 0}
	t.procless = in.host.Missing["proc"] != ""
	if in.Rootfs.Path != "" {
		t.image(&sources{in, out, fds})
		return t
	}
	overlay := overlaysSystem(in, out)
	entries := slices.Concat(systemDirs(in, overlay), devices(rootfs.Dir), // read-only with the rest of the root
		procEntries(in, out), skeleton())
	etc := etcOf(in, overlay)
	if !etc.prepared {
		entries = append(entries, etcFiles(in)...)
	}
	t.everywhere = len(entries)
	t.root.Entries = slices.Concat(entries, etc.entries(in), cpuFile(in.host), masks(in.host, false),
		scratch(in.Spec, scratchDirs...))
	return t
}

// procfs mounts the jail's procfs for the phases before the root is complete, and returns its slot; 0 if it has none.
func (t *tree) procfs(p *program.Program) program.Slot {
	if t.procless {
		return 0
	}
	return rootfs.Procfs(p)
}

// begin begins the root with the entries that are the same on every machine. proc is the slot of the jail's procfs.
func (t *tree) begin(p *program.Program, proc program.Slot, own []rootfs.Entry) *rootfs.Tree {
	root := t.root
	root.Proc, root.Own = proc, own
	made := rootfs.Begin(p, &root)
	made.Add(root.Entries[:t.everywhere])
	return made
}

// rest adds the other entries.
func (t *tree) rest(made *rootfs.Tree) { made.Add(t.root.Entries[t.everywhere:]) }

// leavesEarly reports whether all entries that are not the same on every machine need nothing of the host's tree: the
// keeper passes their mounts, as root's does.
func (t *tree) leavesEarly(in *input, own []rootfs.Entry) bool {
	hosts := func(e rootfs.Entry) bool { return e.Upper != nil || e.Source.Path != "" && !e.Source.Passed }
	return in.mode.Forked && in.Tier == "" && in.Rootfs.Path == "" &&
		!slices.ContainsFunc(t.root.Entries[t.everywhere:], hosts) && !slices.ContainsFunc(own, hosts)
}

// overlaysSystem reports whether the host's directories are shown through overlays.
func overlaysSystem(in *input, out *report) bool {
	if in.Rootfs.System == spec.SystemShared {
		out.enforced["overlay"] = "not asked for: shared read-only binds, across which locks and watches work"
		return false
	}
	why := ""
	for _, d := range in.host.System {
		if d.Link == "" && d.NoOverlay != "" {
			why = d.NoOverlay
		}
	}
	return out.require(in.Spec, "overlay", "private overlays of the system's directories", words.Plain(why), "bind")
}

// systemDirs returns the host's /usr and related directories. With the devices and procfs, they come first in every
// default jail, so that a launcher forked early can mount them before it has the program (launcher.Ahead).
func systemDirs(in *input, overlay bool) (list []rootfs.Entry) {
	for _, d := range in.host.System {
		if d.Link == "" && !inEtc(d.Name) {
			list = append(list, systemDir(in, d, overlay))
		}
	}
	return list
}

func systemDir(in *input, d host.SystemDir, overlay bool) rootfs.Entry {
	e := rootfs.Entry{Kind: rootfs.Bind, Target: d.Name, Source: rootfs.Source{Path: "/" + d.Name, Dir: true},
		Attr: attrRead}
	if overlay {
		e.Kind, e.Source.Mounted = rootfs.Overlay, in.mode.Root != nil
	}
	return e
}

func symlink(target, text string) rootfs.Entry {
	return rootfs.Entry{Kind: rootfs.Symlink, Target: target, Text: text}
}

// cpuDir is the only part of /sys in a jail. lscpu(1) and glibc read the number of processors there.
const cpuDir = "sys/devices/system/cpu"

// skeleton returns directories and links that are the same on every machine. They come before what the host decides, so
// that a launcher forked early can create them, too.
func skeleton() (list []rootfs.Entry) {
	for _, d := range []string{"input", "run", "root", "home", cpuDir} {
		list = append(list, rootfs.Entry{Kind: rootfs.Dir, Target: d, Mode: 0o755})
	}
	return append(list, symlink("var/tmp", "/tmp"), symlink(cpuDir+"/possible", "online"),
		symlink(cpuDir+"/present", "online"))
}

// cpuFile returns the list of the processors that are online, if it is known.
func cpuFile(h *host.Host) []rootfs.Entry {
	if h.CPUs == "" {
		return nil
	}
	return []rootfs.Entry{{Kind: rootfs.File, Target: cpuDir + "/online", Text: h.CPUs + "\n", Mode: 0o444}}
}

func nodes() (list []rootfs.Entry) {
	for _, n := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		list = append(list, rootfs.Entry{Kind: rootfs.Bind, Label: "dev", Target: "dev/" + n,
			Source: rootfs.Source{Path: "/dev/" + n}})
	}
	return list
}

// devices returns a /dev of a kind.
func devices(kind rootfs.Kind) []rootfs.Entry {
	list := append([]rootfs.Entry{{Kind: kind, Label: "dev", Target: "dev", Mode: 0o755}}, nodes()...)
	for _, l := range [][2]string{{"fd", "/proc/self/fd"}, {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
		{"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"}} {
		list = append(list, rootfs.Entry{Kind: rootfs.Symlink, Label: "dev", Target: "dev/" + l[0], Text: l[1]})
	}
	return append(list, rootfs.Entry{Kind: rootfs.Devpts, Label: "dev", Target: "dev/pts", Inodes: spec.DefaultTerminals})
}

// mode parses an octal mode that Check has accepted.
func mode(s string, otherwise uint32) uint32 {
	if v, err := strconv.ParseUint(s, 8, 32); err == nil {
		return uint32(v)
	}
	return otherwise
}

// procEntries returns the jail's procfs with the masks that every kernel has, or without one an empty directory.
func procEntries(in *input, out *report) []rootfs.Entry {
	if !out.require(in.Spec, "proc", "the jail's own procfs, masked", in.host.Missing["proc"], "") {
		out.note("without a /proc of its own the jail has no limits on inotify(7) but the user's")
		return []rootfs.Entry{emptyProc()}
	}
	proc := rootfs.Entry{Kind: rootfs.Proc, Label: "proc", Target: "proc"}
	return append([]rootfs.Entry{proc}, masks(in.host, true)...)
}

func emptyProc() rootfs.Entry {
	return rootfs.Entry{Kind: rootfs.Dir, Label: "proc", Target: "proc", Mode: 0o555}
}

// masks covers the files of procfs that the payload must not read or write: those that every kernel has, or the others.
// The option subset=pid would also hide what runtimes of languages and the C library read: cpuinfo, meminfo, sys.
func masks(h *host.Host, always bool) (list []rootfs.Entry) {
	if h.Missing["proc"] != "" {
		return nil
	}
	_, readOnly := host.Masks()
	for _, f := range h.ProcFiles {
		kind := rootfs.Mask
		if slices.Contains(readOnly, f.Name) {
			kind = rootfs.Sealed
		}
		if slices.Contains(host.EveryKernel, f.Name) == always {
			list = append(list, rootfs.Entry{Kind: kind, Label: "proc", Target: "proc/" + f.Name,
				SourceIsDir: f.Dir && kind == rootfs.Mask})
		}
	}
	return list
}

var scratchDirs = []string{"/dev/shm", "/tmp", spec.DefaultWorkdir, "/output", spec.DefaultHome}

// scratch returns the writable directories that the Spec does not mount itself. They share one tmpfs and its limits.
func scratch(s *spec.Spec, dirs ...string) (list []rootfs.Entry) {
	for _, d := range dirs {
		mode := uint32(0o1777)
		if d == spec.DefaultHome {
			mode = 0o700
		}
		if !slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool { return m.Target == d }) {
			list = append(list, rootfs.Entry{Kind: rootfs.Scratch, Label: "scratch", Target: d[1:], Mode: mode})
		}
	}
	return list
}
