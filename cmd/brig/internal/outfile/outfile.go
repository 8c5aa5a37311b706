// Package outfile writes the files that flags name for reports. They are opened before the payload starts, which might
// otherwise replace them by a symbolic link.
package outfile

import (
	"fmt"
	"os"

	"brig/internal/words"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// File is an open file for a report.
type File struct {
	*os.File
	Named bool // by a flag: at the end, the name must still refer to this file
}

// Open opens a file that a flag names. It follows no link, and waits for no reader of a FIFO. The error for a link ends
// with what to do instead.
func Open(name string, flags int, mode uint32, instead string) (*os.File, error) {
	if err := nsjail.AnswerFile(name); err != nil {
		return nil, err
	}
	flags |= unix.O_WRONLY | unix.O_CREAT | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY
	fd, err := unix.Open(name, flags, mode)
	if err == unix.ELOOP {
		return nil, fmt.Errorf("%s is a symbolic link; name the file itself%s", words.Quote(name), instead)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name a file that can be written", words.Quote(name), err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Replace writes the whole content.
func (f File) Replace(text string) error {
	if st, err := f.Stat(); err == nil && st.Mode().IsRegular() && f.Named {
		if err := f.Truncate(0); err != nil {
			return fmt.Errorf("%w; name a file that can be written", err)
		}
	}
	if _, err := f.WriteString(text); err != nil {
		return fmt.Errorf("%w; give it a reader or more room", err)
	}
	return f.unmoved()
}

// unmoved returns an error if the name now leads to another file: a payload that may write to its directory can put a
// forged report there.
func (f File) unmoved() error {
	if !f.Named {
		return nil
	}
	ours, err := f.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Lstat(f.Name()); err != nil || !os.SameFile(ours, now) {
		return fmt.Errorf("%s was removed or replaced while the payload ran; "+
			"name a file outside of what it may write to", words.Quote(f.Name()))
	}
	return nil
}

// Memory returns a file in memory: memfd_create(2).
func Memory(name string, data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err = f.WriteAt(data, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
