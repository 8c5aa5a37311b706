package nsjail

import (
	"cmp"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/ops"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"
	"brig/rootfs"

	"golang.org/x/sys/unix"
)

// Volume is a file system in memory (tmpfs(5)) that several jails of a Runner can mount, one after the other or at the
// same time, with mounts of type MountVolume. It is attached to no directory of the host, and is reached through a
// descriptor. It disappears when it or its Runner is closed, or when this process ends, even by SIGKILL. Its content
// counts as memory of the control group that wrote it.
type Volume struct {
	id    string
	root  *os.File
	store *volumeHelper
	uid   int
	gid   int
}

// VolumeOptions configure a Volume. 0 means DefaultTmpfsSize and DefaultTmpfsInodes.
type VolumeOptions struct {
	Size   spec.Bytes // capacity; beyond it the kernel returns ENOSPC (tmpfs(5), size)
	Inodes int64      // the number of files that it can hold (nr_inodes)
	// Dirs are the names of the directories in a new volume. Jails mount these, and not the volume's root.
	Dirs []string
}

// ID returns the name of the volume in Mount.Source, "ID/dir". It is valid for the volume's Runner only.
func (v *Volume) ID() string { return v.id }

// Root returns the volume's root directory, open for reading. A payload controls what is below it: do not trust it.
func (v *Volume) Root() *os.File { return v.root }

// Owner returns the host uid and gid of payloads, and of their files in the volume.
func (v *Volume) Owner() (uid, gid int) { return v.uid, v.gid }

// Close releases the volume. Jails that have mounted it keep it until they end.
func (v *Volume) Close() error { return v.store.drop(v) }

// volumeHelper is a launcher in its own mount namespace. The volumes are attached there, invisible to other processes.
type volumeHelper struct {
	mu       sync.Mutex
	launcher *launcher.Launcher
	place    int // descriptor of the directory that holds the volumes
	volumes  map[string]*Volume
	last     int
	closed   bool
}

func (o *VolumeOptions) check() error {
	bad := func(detail, remedy string) error {
		return spec.CallerError("volume", detail, remedy)
	}
	if o.Size < 0 || o.Inodes < 0 {
		return bad("a negative size or number of files", "give how much, or 0 for the default")
	}
	for _, d := range o.Dirs {
		if d == "" || d == "." || d == ".." || strings.ContainsAny(d, "/\x00") || len(d) > 255 {
			return bad(words.Quote(d)+" is not a name for a directory", "give one plain name each")
		}
	}
	return nil
}

func (s *volumeHelper) make(h *host.Host, first *launcher.Launcher, o *VolumeOptions) (*Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, os.ErrClosed
	}
	if err := s.open(h, first); err != nil {
		return nil, err
	}
	s.last++
	v := &Volume{id: "v" + strconv.Itoa(s.last), store: s, uid: h.UID, gid: h.GID}
	if h.Drop {
		v.uid, v.gid = h.PayloadUID, h.PayloadGID
	}
	p := program.New(3)
	m := rootfs.Volume(p, launcher.SlotUser, v.id, int64(cmp.Or(o.Size, spec.DefaultTmpfsSize)),
		cmp.Or(o.Inodes, spec.DefaultTmpfsInodes), o.Dirs)
	fd, err := askFor(s.launcher, p, m, "[volume]", s.place)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	root, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("openat of a volume", err), s.detach(v))
	}
	v.root = os.NewFile(uintptr(root), "volume")
	s.volumes[v.id] = v
	return v, nil
}

// askFor appends an operation that sends a descriptor to a program, performs the program and returns the descriptor.
func askFor(l *launcher.Launcher, p *program.Program, send program.Slot, what string, fds ...int) (int, error) {
	ops.PassFD(p, "volume", send, what)
	fd, err := launcher.Ask(l, p, fds...)
	return fd, launcher.StepError("volume", p, err)
}

// open starts the launcher on first use.
func (s *volumeHelper) open(h *host.Host, first *launcher.Launcher) error {
	if s.launcher != nil {
		return nil
	}
	l, err := warm.StartHelper(h, first)
	if err != nil {
		return err
	}
	p := program.New(2)
	if h.Drop { // otherwise the helper has a mount namespace of its own
		p.Add("volume", unix.SYS_UNSHARE, program.Named(unix.CLONE_NEWNS, "CLONE_NEWNS"))
	}
	place, err := askFor(l, p, rootfs.VolumeStore(p), "[place]")
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s.launcher, s.place, s.volumes = l, place, map[string]*Volume{}
	return nil
}

// mount clones the mount of a volume's directory for a jail.
func (s *volumeHelper) mount(source host.SourceID, src *host.Source, attr uint64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.volumes[src.Volume]
	if v == nil {
		return -1, plan.NoVolume(source, src.Volume)
	}
	p := program.New(3)
	t := rootfs.VolumeTree(p, launcher.SlotUser, src.Below, attr)
	return askFor(s.launcher, p, t, "[mount]", int(v.root.Fd()))
}

// sources returns the volumes that the Spec's mounts name, as sources.
func (s *volumeHelper) sources(jail *spec.Spec) (list host.Sources, err error) {
	for i, m := range jail.Mounts {
		if m.Type != spec.MountVolume {
			continue
		}
		source := host.SourceOf(i)
		id, dir, _ := strings.Cut(m.Source, "/")
		s.mu.Lock()
		v := s.volumes[id]
		s.mu.Unlock()
		if v == nil {
			return list, plan.NoVolume(source, id)
		}
		list.Put(source, &host.Source{Path: source.String(), Dir: true, UID: v.uid, GID: v.gid, Fd: -1, Volume: id,
			Below: dir})
	}
	return list, nil
}

func (s *volumeHelper) detach(v *Volume) error {
	p := program.New(3)
	rootfs.DropVolume(p, launcher.SlotUser, v.id)
	return launcher.Perform(s.launcher, "volume", p, s.place)
}

func (s *volumeHelper) drop(v *Volume) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.volumes[v.id] != v {
		return nil
	}
	delete(s.volumes, v.id)
	err := v.root.Close()
	if s.closed {
		return err
	}
	return errors.Join(err, s.detach(v))
}

// close ends the launcher, and thereby its mount namespace with the volumes.
func (s *volumeHelper) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.launcher == nil {
		return nil
	}
	errs := []error{s.launcher.Close(), unix.Close(s.place)}
	for _, v := range s.volumes {
		errs = append(errs, v.root.Close())
	}
	s.volumes, s.launcher = nil, nil
	return errors.Join(errs...)
}
