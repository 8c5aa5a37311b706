package layer

import (
	"archive/tar"
	"bytes"
	"io"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

const (
	block    = 4096 // bytes: a run of zeros of this length and position is left as a hole
	copySize = 256 << 10
)

var zeros [block]byte

// regular writes a file.
func (u *unpacker) regular(h *tar.Header, name string) error {
	if err := u.bounds.content(h.Size); err != nil {
		return err
	}
	fd, mode := -1, u.mode(h)&0o777|0o400
	err := u.create(name, func(dir int) (err error) {
		fd, err = create(dir, name, mode)
		return err
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return u.fill(fd, u.tar, h, mode)
}

// create makes a file that is not there: openat(2).
func create(dir int, name string, mode uint32) (int, error) {
	return sys.Retry(func() (int, error) {
		return unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode|0o200)
	})
}

// fill writes the content, attributes, mode and time of a new file.
func (u *unpacker) fill(fd int, content io.Reader, h *tar.Header, mode uint32) error {
	if err := u.copy(fd, content, h.Size); err != nil {
		return err
	}
	if err := u.attributes(h, fd); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&0o7777 != mode { // the umask, and 0200 for fsetxattr(2)
		if err := unix.Fchmod(fd, mode); err != nil {
			return err
		}
	}
	return setTime(fd, "", timespec(h.ModTime), unix.AT_EMPTY_PATH)
}

// copy writes the content of a file, and leaves holes for zeros.
func (u *unpacker) copy(fd int, content io.Reader, size int64) error {
	if u.buf == nil {
		u.buf = make([]byte, copySize)
	}
	end := int64(0) // of what has been written
	for at := int64(0); at < size; {
		b := u.buf[:min(size-at, copySize)]
		if _, err := io.ReadFull(content, b); err != nil {
			return damaged(err)
		}
		for len(b) > 0 {
			n, data := run(b)
			if data {
				if err := writeAt(fd, b[:n], at); err != nil {
					return err
				}
				end = at + int64(n)
			}
			b, at = b[n:], at+int64(n)
		}
	}
	if end < size {
		return unix.Ftruncate(fd, size)
	}
	return nil
}

// run returns how many bytes at the start of b are blocks with data, or blocks of zeros.
func run(b []byte) (n int, data bool) {
	for n < len(b) {
		next := min(n+block, len(b))
		if has := !bytes.Equal(b[n:next], zeros[:next-n]); n > 0 && has != data {
			break
		} else {
			data = has
		}
		n = next
	}
	return n, data
}

// writeAt is pwrite(2) until all is written.
func writeAt(fd int, b []byte, at int64) error {
	for len(b) > 0 {
		n, err := sys.Retry(func() (int, error) { return unix.Pwrite(fd, b, at) })
		if err != nil {
			return err
		}
		b, at = b[n:], at+int64(n)
	}
	return nil
}
