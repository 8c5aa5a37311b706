package isolate

import (
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"

	"brig/internal/sys"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// identity is who opens the files of --stdin, --stdout and --stderr: the program's own uid, so that it gets no file
// that it could not open itself.
type identity int // uid and gid, or 0 for the caller's

// openAs opens a file that is named by its path in the jail.
func (id identity) openAs(places []place, name string, flags int) (*os.File, error) {
	inside := path.Clean(name)
	if inside[0] != '/' {
		inside = path.Join("/box", inside)
	}
	if inside == os.DevNull {
		return os.OpenFile(os.DevNull, flags&unix.O_ACCMODE, 0)
	}
	in, rest := innermost(places, inside)
	if in == nil {
		return nil, openError(name, unix.ENOENT)
	}
	if flags != unix.O_RDONLY && !in.writable {
		return nil, openError(name, unix.EROFS)
	}
	if err := nsjail.AnswerFile(path.Join(in.source, rest)); err != nil {
		return nil, fmt.Errorf("open(\"%s\"): %w", name, err)
	}
	top, err := unix.Open(in.source, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, openError(name, err)
	}
	defer unix.Close(top)
	var fd int
	err = id.as(func() (err error) {
		fd, err = sys.Openat2(top, rest, &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOCTTY),
			Mode: createMode(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS})
		return err
	})
	if err != nil {
		return nil, openError(name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	if st, err := f.Stat(); err != nil || st.IsDir() {
		f.Close()
		return nil, openError(name, unix.EISDIR)
	}
	return f, nil
}

// openError returns an error in isolate's words.
func openError(name string, err error) error {
	return fmt.Errorf("open(\"%s\"): %s", name, strerror(err))
}

func createMode(flags int) uint64 {
	if flags&unix.O_CREAT == 0 {
		return 0
	}
	return 0o666
}

// innermost returns the innermost place that has a path, and the path from there.
func innermost(places []place, inside string) (in *place, rest string) {
	for i := range places {
		p := &places[i]
		below, ok := strings.CutPrefix(inside, p.target+"/")
		if ok && (in == nil || len(p.target) > len(in.target)) {
			in, rest = p, below
		}
	}
	return in, rest
}

// as calls f with the identity's rights on files (setfsuid(2)), in a thread that ends with it.
func (id identity) as(f func() error) error {
	if id == 0 {
		return f()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		done <- id.become(f)
	}()
	return <-done
}

func (id identity) become(f func() error) error {
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
		return e
	}
	for _, set := range []func(int) (int, error){unix.SetfsgidRetGid, unix.SetfsuidRetUid} {
		_, _ = set(int(id))
		if now, _ := set(-1); uint32(now) != uint32(id) { // the calls report no error
			return unix.EPERM
		}
	}
	return f()
}
