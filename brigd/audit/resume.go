package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sys/unix"
)

// tailWindow is how many bytes at the end of the file are checked when a log is opened.
const tailWindow = 4 << 20

// resume opens the current file and finds the end of the chain. If the previous writer was killed while writing a line,
// it moves the incomplete line away and returns an event about it.
func (l *Log) resume() (torn *Event, err error) {
	numbers, err := l.numbers()
	if err != nil {
		return nil, err
	}
	if len(numbers) > 0 {
		l.number = numbers[len(numbers)-1]
	}
	const flags = unix.O_RDWR | unix.O_APPEND
	l.f, err = openFile(l.dir, l.base, flags)
	if errors.Is(err, fs.ErrNotExist) && len(numbers) > 0 {
		if err = l.finishRotation(); err == nil {
			l.f, err = openFile(l.dir, l.base, flags)
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		if l.f, err = openFile(l.dir, l.base, flags|unix.O_CREAT|unix.O_EXCL); err == nil {
			err = l.dir.Sync()
		}
	}
	if err != nil {
		return nil, err
	}
	l.id = identify(l.f)
	if err := remove(l.dir, l.base+newSuffix); err != nil { // of a rotation that was interrupted before the rename
		return nil, err
	}
	return l.findEnd(len(numbers) > 0)
}

// finishRotation completes a rotation that was interrupted between its two renames: the old file has its number, but
// the new one still has its temporary name.
func (l *Log) finishRotation() error {
	f, err := openFile(l.dir, l.base+newSuffix, unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there and %s is not: the newest part is missing. Put it back, or move the older files "+
			"away to begin another log",
			numbered(l.base, l.number), l.base)
	} else if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	d := int(l.dir.Fd())
	if err := unix.Renameat(d, l.base+newSuffix, d, l.base); err != nil { // renameat(2)
		return fmt.Errorf("renaming %s%s: %w", l.base, newSuffix, err)
	}
	return l.dir.Sync()
}

func (l *Log) findEnd(older bool) (torn *Event, err error) {
	st, err := l.f.Stat()
	if err != nil {
		return nil, err
	}
	start := max(st.Size()-tailWindow, 0)
	data, err := io.ReadAll(io.NewSectionReader(l.f, start, st.Size()-start))
	if err != nil {
		return nil, err
	}
	if start > 0 {
		n := bytes.IndexByte(data, '\n') + 1
		data, start = data[n:], start+int64(n)
	}
	good, err := l.chain(data)
	if err != nil {
		return nil, fmt.Errorf("%w; what follows is not known to be whole, and nothing can be added: see brigd audit "+
			"verify, then move the files away to begin another log", err)
	}
	if l.seq == 0 && (older || start > 0) {
		return nil, fmt.Errorf("%s has no whole line at its end, though it is not the beginning; move the files away to "+
			"begin another log", l.base)
	}
	l.size = start + int64(good)
	if good == len(data) {
		return nil, nil
	}
	return l.setAside(data[good:])
}

// chain reads the lines at the end of a file and returns how many bytes of them are valid. An incomplete end is not an
// error: a killed writer leaves a line without a newline, and a power failure leaves zeros for pages that were not
// written.
func (l *Log) chain(data []byte) (good int, err error) {
	for good < len(data) {
		end := bytes.IndexByte(data[good:], '\n')
		if end < 0 {
			return good, nil
		}
		text := data[good : good+end]
		line, err := parseLine(text)
		if err == nil && (l.seq > 0 || line.Seq == 1) {
			err = line.follows(l.seq, l.hash)
		}
		if err != nil {
			if bytes.IndexByte(text, 0) >= 0 {
				return good, nil
			}
			return 0, fmt.Errorf("near its end, after number %d: a line is wrong: %w", l.seq, err)
		}
		l.seq, l.hash = line.Seq, line.Hash
		good += end + 1
	}
	return good, nil
}

// setAside moves an incomplete line to a separate file.
func (l *Log) setAside(data []byte) (*Event, error) {
	name := l.base + tornSuffix
	f, err := openFile(l.dir, name, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(append(bytes.Clone(data), '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = l.f.Truncate(l.size)
	}
	if err != nil {
		return nil, fmt.Errorf("setting a torn line aside: %w", err)
	}
	return &Event{Kind: LogRecovered, File: name, Bytes: int64(len(data)), Digest: digest(data),
		Note: "the writer before had not finished this; it was no part of the chain yet"}, nil
}
