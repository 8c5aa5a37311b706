// Package files reads the files that an operator names on a command line, without blocking.
package files

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Read reads a regular file of at most most bytes. It blocks neither on a FIFO nor on a device.
func Read(path string, most int64) ([]byte, error) { return read(path, most, false) }

// ReadSecret reads a file like Read, but refuses one that every user may read.
func ReadSecret(path string, most int64) ([]byte, error) { return read(path, most, true) }

func read(path string, most int64, secret bool) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0) // open(2)
	if err != nil {
		return nil, fmt.Errorf("%w; name a file that can be read", err)
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file; name one", path)
	case secret && st.Mode().Perm()&0o007 != 0:
		return nil, fmt.Errorf("%s has mode %04o, so that everybody can use it; write chmod 600 %s", path,
			st.Mode().Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s is larger than %d bytes; give only what is needed", path, most)
	}
	return text, nil
}
