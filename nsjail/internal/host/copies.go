package host

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// maxBoundCopy bounds the file behind a read-only bind that is shown as a copy, and maxBoundCopies all of them: locks,
// leases and watches of a file itself would cross to the host.
const (
	MaxBoundCopy   = 1 << 20
	maxBoundCopies = 2 << 20
)

// copyBound reads a file of which a read-only bind shows a copy. A file that is not on storage (proc(5), sysfs), is too
// large, or is not readable for the caller stays a bind.
func (h *looker) copyBound(src *Source) error {
	var st unix.Statfs_t
	link := "/proc/self/fd/" + strconv.Itoa(src.Fd)
	if err := unix.Fstatfs(src.Fd, &st); err != nil || !layers(int64(st.Type)) && st.Type != unix.OVERLAYFS_SUPER_MAGIC {
		src.NoOverlay = fmt.Sprintf("file system type %#x is not known to hold files alone", st.Type)
		return nil
	}
	b, err := readRegular(link, spec.Bytes(min(MaxBoundCopy, maxBoundCopies-h.bound)))
	switch {
	case errors.Is(err, unix.EACCES):
		src.NoOverlay = "this user cannot read it"
	case err == nil:
		h.bound += int64(len(b))
		src.Copied, src.Content = true, string(b)
	case !errors.Is(err, errTooLarge):
		return fieldError("mounts", src.Path, err, "name a readable file")
	}
	return nil
}

func (h *looker) copyFile(id SourceID, path string) error {
	if len(h.remote.mounts) > 0 { // the file may be on one of them
		var told *spec.Error
		fd, err := h.remote.openPath(id, path, path)
		if err == nil {
			err = h.remote.answers(id, path, fd)
			_ = unix.Close(fd) // O_PATH
		}
		if errors.As(err, &told) {
			return err
		}
	}
	b, err := readRegular(path, spec.MaxFileCopy)
	switch {
	case errors.Is(err, errNotRegular):
		return sourceError(id, path, err, "name a regular file, or bind it")
	case errors.Is(err, errTooLarge):
		return sourceError(id, path, err, "bind it with "+spec.ShowReadOnly("", "")+" instead")
	case err != nil:
		return sourceError(id, path, err, "name a readable file")
	}
	h.Sources.Put(id, &Source{Path: path, Content: string(b), Fd: -1, Stays: true})
	return nil
}

var (
	errNotRegular = errors.New("is not a regular file")
	errTooLarge   = errors.New("is larger than")
)

// readRegular returns the content of a regular file of at most a number of bytes.
func readRegular(path string, most spec.Bytes) ([]byte, error) {
	// O_NONBLOCK: a FIFO must not hang us; the type is checked on the descriptor.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, cmp.Or(err, errNotRegular)
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(b) > int(most) {
		err = fmt.Errorf("%w %s", errTooLarge, most)
	}
	return b, err
}
