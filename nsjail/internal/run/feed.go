package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
)

// feed copies to a payload's stdin.
type feed struct {
	to    *os.File  // the keeper's end of the pipe; nil: nothing is copied
	file  *os.File  // the file of the caller's to copy, until the copy begins; nil: a reader
	first []byte    // what stdin begins with
	took  chan bool // receives whether first was written; nil without
	err   atomic.Pointer[error]
}

// start begins to copy. Nothing waits for it: the caller's reader may block forever after the end of the payload.
// pidfd is the jail's: copying a file stops when the jail ends.
func (f *feed) start(from io.Reader, pidfd *os.File) {
	if f.to == nil {
		return
	}
	end := func() {}
	if f.file != nil {
		w := newWanted(f.file, f.to, pidfd)
		f.file = nil
		from, end = w, w.close
	}
	go func() {
		defer end()
		f.copy(from)
	}()
}

func (f *feed) copy(from io.Reader) {
	var err error
	if f.took != nil {
		_, err = f.to.Write(f.first)
		f.took <- err == nil
	}
	if err == nil {
		_, err = io.Copy(f.to, from)
	}
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, fs.ErrClosed) {
		f.err.Store(&err)
	}
	f.to.Close()
}

// end closes the file if nothing was copied.
func (f *feed) end() {
	if f.file != nil {
		f.file.Close()
	}
}

// failure returns the error of the copy.
func (f *feed) failure() error {
	if e := f.err.Load(); e != nil {
		return fmt.Errorf("stdin: %w", *e)
	}
	return nil
}

// typeTo copies what is typed to the master side of a terminal, which marks the end of file by a character: termios(3)
// VEOF.
func typeTo(master io.Writer, from io.Reader) {
	if _, err := io.Copy(master, from); err == nil {
		_, _ = master.Write([]byte{4})
	}
}
