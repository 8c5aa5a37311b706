package changes

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// errTaken means that another process has made a file with a temporary name of this Apply.
var errTaken = errors.New("somebody has taken its temporary name; apply it again, with another one")

// link makes a symbolic link.
func (g *stager) link(t *task, dir int, temp string) error {
	if err := unix.Symlinkat(string(t.file.New.Target), dir, temp); err != nil {
		return err
	}
	if err := g.reached("linked " + temp); err != nil {
		return err
	}
	fd, err := open(dir, temp, look)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || kindOf(st.Mode) != Symlink { // another file's owner stays
		return errors.Join(err, errMoved)
	}
	return own(fd, dir, t.now)
}

// write writes the content, attributes, owner and mode of a regular file, whose digest must be right.
func (g *stager) write(t *task, dir int, temp string) error {
	from, err := g.layer.reader(t.file)
	if err != nil {
		return err
	}
	fd, err := open(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), temp)
	defer f.Close()
	written := newSum()
	if err := g.reached("content " + temp); err != nil {
		return err
	}
	if g.buf == nil {
		g.buf = make([]byte, bufferSize)
	}
	if _, err := io.CopyBuffer(io.MultiWriter(f, written), from, g.buf); err != nil {
		return err
	}
	if written.digest() != t.file.New.SHA256 {
		return errors.New("the layer has another content than the list of files")
	}
	if err = own(fd, dir, t.now); err == nil {
		err = g.setAttributes(fd, t.file, t.file.New.XAttrs)
	}
	if err == nil && kindIs(t.now, Regular) {
		_, name := split(string(t.file.Path))
		err = keepACL(fd, dir, name)
	}
	if err == nil {
		err = unix.Fchmod(fd, t.file.New.Mode)
	}
	if err != nil {
		return err
	}
	return f.Close() // file systems on a network report a full disk here
}
