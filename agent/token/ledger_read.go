package token

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxCounts bounds the file of counts that is read, in bytes.
const maxCounts = 1 << 30

// openDir opens the ledger's directory.
func openDir(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0) // open(2)
	if err != nil {
		return nil, fmt.Errorf("the ledger's directory: %w", &os.PathError{Op: "open", Path: path, Err: err})
	}
	dir := os.NewFile(uintptr(fd), path)
	if err := private(dir, unix.S_IFDIR); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// private says whether an open file is of the type, ours (or we are root), and closed to others.
func private(f *os.File, kind uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil { // fstat(2)
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	switch {
	case st.Mode&unix.S_IFMT != kind:
		return fmt.Errorf("%s is of another type than a ledger's; name another directory", f.Name())
	case int(st.Uid) != os.Geteuid() && os.Geteuid() != 0:
		return fmt.Errorf("%s belongs to user %d and not to user %d; name a directory of your own", f.Name(), st.Uid, os.Geteuid())
	case st.Mode&0o077 != 0:
		return fmt.Errorf("%s has mode %04o, which lets others at it: chmod go= %s", f.Name(), st.Mode&0o7777, f.Name())
	}
	return nil
}

// openAt opens a regular file of the ledger, which nobody else may have touched.
func openAt(dir *os.File, name string, flags int) (*os.File, error) {
	path := dir.Name() + "/" + name
	fd, err := unix.Openat(int(dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600) // openat(2)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if err := private(f, unix.S_IFREG); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lock makes this process the only one that counts here, until the descriptor is closed.
func lock(dir *os.File, path string) (*os.File, error) {
	f, err := openAt(dir, "lock", unix.O_RDWR|unix.O_CREAT)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { // flock(2)
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New("another process has it open; stop that one, or name another directory")
		}
		return nil, errors.Join(fmt.Errorf("the ledger %s: %w", path, err), f.Close())
	}
	return f, nil
}

// load reads the counts, and begins the file if there is none.
func (l *Ledger) load(path string) error {
	f, err := openAt(l.dir, countsFile, unix.O_RDWR|unix.O_APPEND)
	if errors.Is(err, os.ErrNotExist) {
		if f, err = replace(l.dir, []byte(header)); err == nil {
			if err = f.Close(); err == nil {
				f, err = openAt(l.dir, countsFile, unix.O_RDWR|unix.O_APPEND)
			}
		}
	}
	l.file.f = f
	if err != nil {
		return fmt.Errorf("the ledger %s: %w", path, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxCounts+1))
	if err == nil && len(data) > maxCounts {
		err = fmt.Errorf("it has more than %d bytes", maxCounts)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	good, err := l.read(data)
	if err != nil {
		return fmt.Errorf("%s: %w; nothing is allowed with counts that may be wrong: restore the file, or move it away and revoke the tokens whose runs are limited", f.Name(), err)
	}
	if good < len(data) {
		if err := errors.Join(f.Truncate(int64(good)), f.Sync()); err != nil {
			return fmt.Errorf("%s: cutting off an unfinished line: %w", f.Name(), err)
		}
	}
	l.file.size, l.file.base = int64(good), int64(good)
	return nil
}

// read takes in the lines of a file of counts, and says how many bytes of it are good. The rest is what a write that was
// not acknowledged has left: no newline, or zeros where a page never reached the disk. Anything else that is wrong is an
// error.
func (l *Ledger) read(data []byte) (good int, err error) {
	if !bytes.HasPrefix(data, []byte(header)) {
		return 0, errors.New("it does not begin with the line of a ledger")
	}
	for good = len(header); good < len(data); {
		end := bytes.IndexByte(data[good:], '\n')
		if end < 0 {
			return good, nil
		}
		line := data[good : good+end]
		r, err := parseRecord(line)
		if err == nil && r.Line != l.file.lines+1 {
			err = fmt.Errorf("it is number %d where %d is expected", r.Line, l.file.lines+1)
		}
		if err != nil {
			if bytes.IndexByte(line, 0) >= 0 {
				return good, nil
			}
			return 0, fmt.Errorf("line %d was altered: %w", l.file.lines+2, err)
		}
		l.apply(r)
		good += end + 1
	}
	return good, nil
}

// parseRecord reads a line without its newline.
func parseRecord(line []byte) (*record, error) {
	if len(line) < 9 || line[8] != ' ' {
		return nil, errors.New("it has no checksum")
	}
	sum, err := strconv.ParseUint(string(line[:8]), 16, 32)
	if err != nil || crc32.Checksum(line[9:], castagnoli) != uint32(sum) {
		return nil, errors.New("its checksum does not fit")
	}
	var r record
	if err := json.Unmarshal(line[9:], &r); err != nil {
		return nil, err
	}
	for _, c := range r.Counts {
		if !isID(c.ID) || !isID(c.Root) || c.Used < 1 || c.Used > MaxRuns || c.Expires < 0 ||
			len(c.Between)%rawID != 0 || len(c.Between) > (MaxBlocks-2)*rawID || len(c.Between) > 0 && c.ID == c.Root {
			return nil, errors.New("it holds a count that cannot be")
		}
	}
	return &r, nil
}

func (l *Ledger) apply(r *record) {
	l.file.lines, l.latest = r.Line, max(l.latest, r.Time)
	for _, c := range r.Counts {
		e := l.used[c.ID]
		if e == nil {
			e = &entry{root: c.Root, between: string(c.Between)}
			l.remember(c.ID, e)
		}
		e.used, e.expires = c.Used, c.Expires
	}
}
