package ordered

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"brig/internal/program"
	"brig/nsjail/spec"
	"brig/nsjail/steps"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

const (
	noSUID = unix.MOUNT_ATTR_NOSUID
	noDev  = unix.MOUNT_ATTR_NODEV
	noExec = unix.MOUNT_ATTR_NOEXEC
	rdOnly = unix.MOUNT_ATTR_RDONLY
)

// root performs the steps and enters the root.
func (r *resolver) root() error {
	r.mask = r.p.Open("root", unix.SYS_UMASK, program.Int(0))
	roots, size := 0, 0
	for i := range r.f.Sources {
		if r.f.Sources[i].Root {
			roots++
		}
	}
	r.tree = rootfs.BeginOrdered(r.p, r.first, roots)
	for i := range r.Steps {
		s := &r.Steps[i]
		if size += len(s.Data); size > maxData {
			return spec.CallerError(steps.Option+string(s.Kind), fmt.Sprintf("the data of all such options is more than %d MiB",
				maxData>>20), "bind a file instead")
		}
		if r.f.Sources[i].Missing {
			continue
		}
		r.tree.Label(label(s, i))
		if err := r.step(s, &r.f.Sources[i]); err != nil {
			return err
		}
	}
	r.tree.Enter()
	return nil
}

// maxData bounds what a program carries of the files that are to be written.
const maxData = 12 << 20

// step performs one step.
func (r *resolver) step(s *steps.Step, src *Source) error {
	t := r.tree
	target := strings.TrimPrefix(path.Clean("/"+s.Target), "/")
	if s.Kind != steps.RemountRO && s.Kind != steps.Chmod && s.Kind != steps.Hostname {
		t.Parents(target, parentMode(s.Perms))
	}
	from := rootfs.Source{Path: src.Path, Dir: src.Dir, Root: src.Root, Dev: src.Dev, Ino: src.Ino}
	switch s.Kind {
	case steps.Bind:
		t.Bind(&from, target, noSUID|noDev)
	case steps.ROBind:
		t.Bind(&from, target, noSUID|noDev|rdOnly)
	case steps.DevBind:
		t.Bind(&from, target, noSUID)
	case steps.Overlay, steps.TmpOverlay, steps.ROOverlay:
		return r.overlay(s, src.Layers, target)
	case steps.Proc:
		r.procfs(target)
	case steps.Dev:
		r.devices(target)
	case steps.Tmpfs:
		t.Fresh("tmpfs", target, noSUID|noDev, tmpfsOptions(s)...)
	case steps.Mqueue:
		t.Fresh("mqueue", target, 0)
	case steps.Dir:
		if target != "" {
			t.Dir(target, s.Perms)
			t.IsDir(target)
		}
	case steps.File:
		t.File(s.Data, target, s.Perms)
	case steps.BindData:
		t.Data(s.Data, target, s.Perms, noSUID|noDev)
	case steps.ROBindData:
		t.Data(s.Data, target, s.Perms, noSUID|noDev|rdOnly)
	case steps.Symlink:
		t.Symlink(s.Source, target, src.Same)
	case steps.RemountRO:
		t.ReadOnly(target)
	case steps.Chmod:
		t.Chmod(target, s.Perms)
	case steps.Hostname:
		r.p.Add(label(s, 0), unix.SYS_SETHOSTNAME, program.Str(s.Target), program.Int(len(s.Target)))
	default:
		return spec.CallerError("steps", "there is no step "+string(s.Kind), "take a Kind of package steps")
	}
	return nil
}

// parentMode is the mode of directories that are made above a target: as closed to others as the target. A kind that
// has no mode counts as one with the mode 0, as in bubblewrap.
func parentMode(mode uint32) uint32 {
	parent := uint32(0o755)
	if mode&0o070 == 0 {
		parent &^= 0o050
	}
	if mode&0o007 == 0 {
		parent &^= 0o005
	}
	return parent
}

func tmpfsOptions(s *steps.Step) [][2]string {
	options := [][2]string{{"mode", "0" + strconv.FormatUint(uint64(s.Perms), 8)}}
	if s.Size > 0 {
		options = append(options, [2]string{"size", strconv.FormatUint(s.Size, 10)})
	}
	return options
}

func (r *resolver) overlay(s *steps.Step, layers []string, target string) error {
	l := rootfs.Layers{Lower: layers[2:], Memory: s.Kind == steps.TmpOverlay}
	if len(s.Lower) > rootfs.MaxLayers {
		return spec.CallerError(steps.Option+"overlay-src", fmt.Sprintf("more than %d of them", rootfs.MaxLayers),
			"merge some")
	}
	if s.Kind == steps.Overlay {
		l.Upper, l.Work = layers[0], layers[1]
	}
	r.tree.Overlay(&l, target)
	return nil
}

// procfs shows a procfs of the jail's own, or the host's if the jail has no pid namespace of its own, and makes parts
// of it read-only that a root could write to.
func (r *resolver) procfs(target string) {
	if r.NewPID || r.PIDNS != steps.NoFD {
		r.tree.Fresh("proc", target, noSUID|noDev|noExec)
	} else {
		r.tree.Bind(&rootfs.Source{Path: "/proc", Dir: true}, target, noSUID|noDev)
	}
	if r.NewUser && r.setUID != 0 { // to this process nothing there is writable: access(2)
		return
	}
	for _, name := range r.f.Covers {
		r.tree.Cover(path.Join(target, name))
	}
}

// devices makes a /dev of a few harmless nodes, with terminals of its own.
func (r *resolver) devices(target string) {
	t := r.tree
	t.Fresh("tmpfs", target, noSUID|noDev, [2]string{"mode", "0755"})
	at := func(name string) string { return path.Join(target, name) }
	for _, n := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		t.Bind(&rootfs.Source{Path: "/dev/" + n}, at(n), noSUID)
	}
	for i, n := range []string{"stdin", "stdout", "stderr"} {
		t.Symlink("/proc/self/fd/"+strconv.Itoa(i), at(n), false)
	}
	t.Symlink("/proc/self/fd", at("fd"), false)
	t.Symlink("/proc/kcore", at("core"), false)
	t.Dir(at("shm"), 0o755)
	t.Fresh("devpts", at("pts"), noSUID|noExec, [2]string{"newinstance", ""}, [2]string{"ptmxmode", "0666"},
		[2]string{"mode", "0620"})
	t.Symlink("pts/ptmx", at("ptmx"), false)
	if r.f.Terminal != "" {
		t.Bind(&rootfs.Source{Path: r.f.Terminal}, at("console"), noSUID)
	}
}
