package monitor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/containerd/cgroups/v3/cgroup1"
	"github.com/containerd/cgroups/v3/cgroup2"
	"golang.org/x/sys/unix"
)

// Group says where a control group is.
type Group struct {
	// V2 is its absolute directory in the version 2 tree; "" without one.
	V2 string
	// V1 maps version 1 controllers to absolute directories. memory, pids, cpu, cpuacct and blkio are looked at, others
	// are passed over: they have no statistics here.
	V1 map[string]string
}

// ErrRemoved says that the group does not exist any more.
var ErrRemoved = fmt.Errorf("monitor: the control group was removed: %w", fs.ErrNotExist)

// controllers are the version 1 controllers with figures.
func controllers() []string { return []string{"memory", "pids", "cpu", "cpuacct", "blkio"} }

// Monitor watches one control group. Its methods may be called at once by many, but not after Close.
type Monitor struct {
	v2   *dir            // nil without one
	v1   map[string]*dir // by controller
	lib2 *cgroup2.Manager
	lib1 cgroup1.Cgroup
}

// Open takes hold of a group. Close gives it up.
func Open(g Group) (*Monitor, error) {
	m := &Monitor{v1: map[string]*dir{}}
	if err := m.open(g); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Monitor) open(g Group) (err error) {
	if g.V2 != "" {
		if m.v2, err = openDir("Group.V2", g.V2, unix.CGROUP2_SUPER_MAGIC); err != nil {
			return err
		}
	}
	for _, c := range controllers() {
		if name := g.V1[c]; name != "" {
			d, err := openDir("Group.V1["+c+"]", name, unix.CGROUP_SUPER_MAGIC)
			if err != nil {
				return err
			}
			m.v1[c] = d
		}
	}
	if m.v2 != nil {
		if m.lib2, err = cgroup2.Load("/", cgroup2.WithMountpoint(m.v2.path(""))); err != nil {
			return fmt.Errorf("monitor: Group.V2: %w", err)
		}
	}
	if len(m.v1) > 0 {
		if m.lib1, err = load1(m.v1); err != nil {
			return fmt.Errorf("monitor: Group.V1: %w", err)
		}
	}
	if m.v2 == nil && m.lib1 == nil {
		return errors.New("monitor: Group names no directory: give V2, or V1 with one of memory, pids, cpu, cpuacct, blkio")
	}
	return nil
}

// Close gives the group up. Streams that are still open go on: they end with their contexts.
func (m *Monitor) Close() error {
	var errs []error
	for _, d := range m.dirs() {
		errs = append(errs, d.file.Close())
	}
	return errors.Join(errs...)
}

// dirs are the group's directories, the version 2 one first.
func (m *Monitor) dirs() (list []*dir) {
	if m.v2 != nil {
		list = append(list, m.v2)
	}
	for _, c := range controllers() {
		if d := m.v1[c]; d != nil {
			list = append(list, d)
		}
	}
	return list
}

// alive is ErrRemoved once any directory of the group is gone.
func (m *Monitor) alive() error {
	if slices.ContainsFunc(m.dirs(), func(d *dir) bool { return !d.alive() }) {
		return ErrRemoved
	}
	return nil
}

// dir is a directory of a group, held by descriptor.
type dir struct {
	file *os.File // O_PATH
}

func openDir(field, name string, magic int64) (*dir, error) {
	bad := func(err error, fix string) (*dir, error) {
		return nil, fmt.Errorf("monitor: %s: %s: %w: %s", field, strconv.Quote(name), err, fix)
	}
	if !filepath.IsAbs(name) {
		return bad(errors.New("not an absolute path"), "give the whole path of the group's directory")
	}
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return bad(err, "give the directory of a group that exists")
	}
	d := &dir{os.NewFile(uintptr(fd), name)}
	var st unix.Statfs_t
	if err = unix.Fstatfs(fd, &st); err == nil && st.Type != magic {
		err = errors.New("not in a control group file system of this version")
	} else if err == nil && !d.alive() {
		err = errors.New("no cgroup.procs in it, or no /proc to look through")
	}
	if err != nil {
		d.file.Close()
		return bad(err, "give the group's directory as it is mounted")
	}
	return d, nil
}

// path names a file of the directory, or with "" the directory itself, for whoever can only open paths: through the
// descriptor, so that it stays the same directory whatever is made at its old name.
func (d *dir) path(file string) string {
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(d.file.Fd())), file)
}

// has says whether the directory has a file: which figures there are depends on the enabled controllers and the kernel.
func (d *dir) has(file string) bool {
	return unix.Faccessat(int(d.file.Fd()), file, unix.F_OK, 0) == nil
}

// alive says whether the group still exists: a removed one has no files.
func (d *dir) alive() bool { return d.has("cgroup.procs") }

// clone holds the directory for longer than the Monitor does.
func (d *dir) clone() (*dir, error) {
	fd, err := unix.FcntlInt(d.file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return &dir{os.NewFile(uintptr(fd), d.file.Name())}, nil
}

// load1 makes the library look into our directories. It joins root, controller and path lexically: with ".." for the
// path the controller's name falls out again, which also suits a mount of several controllers (cpu,cpuacct).
func load1(dirs map[string]*dir) (cgroup1.Cgroup, error) {
	var list []cgroup1.Subsystem
	for name, d := range dirs {
		root := d.path("")
		switch name {
		case "memory":
			list = append(list, cgroup1.NewMemory(root, cgroup1.IgnoreModules(absentModules(d)...)))
		case "pids":
			list = append(list, cgroup1.NewPids(root))
		case "cpu":
			list = append(list, cgroup1.NewCpu(root))
		case "cpuacct":
			list = append(list, cgroup1.NewCpuacct(root))
		case "blkio":
			list = append(list, cgroup1.NewBlkio(root))
		}
	}
	return cgroup1.Load(cgroup1.StaticPath(".."), cgroup1.WithHierarchy(func() ([]cgroup1.Subsystem, error) { return list, nil }))
}

// absentModules are the kinds of memory that this kernel does not account for, or not with all four files: for a
// missing one the library would give up on the others.
func absentModules(d *dir) (list []string) {
	for _, module := range []string{"memsw", "kmem", "kmem.tcp"} {
		for _, f := range []string{"usage_in_bytes", "max_usage_in_bytes", "failcnt", "limit_in_bytes"} {
			if !d.has("memory." + module + "." + f) {
				list = append(list, module)
				break
			}
		}
	}
	return list
}
