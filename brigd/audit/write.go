package audit

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// put writes one line with one write(2). If the file is full, it starts a new one first. The caller holds mu.
func (l *Log) put(fields []byte) error {
	if err := l.intact(); err != nil {
		return err
	}
	if l.size > 0 && l.size+int64(len(fields)) > l.o.MaxBytes {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	return l.putHere(fields)
}

// own writes an event of the log's own, with put or putHere.
func (l *Log) own(e Event, put func(fields []byte) error) error {
	fields, err := e.encode()
	if err != nil {
		return err
	}
	return put(fields)
}

func (l *Log) putHere(fields []byte) error {
	line, hash := build(l.seq+1, time.Now(), l.hash, fields)
	if n, err := l.f.Write(line); err != nil {
		l.half = n > 0
		return err
	}
	l.size += int64(len(line))
	l.seq, l.hash = l.seq+1, hash
	return nil
}

// breakOff records that events cannot be written. The caller holds mu.
func (l *Log) breakOff(err error) {
	if l.broken == nil {
		l.broken = err
		l.o.Broken(err)
	}
}

// intact returns an error unless the file still has its name and contains exactly what was written. It is called before
// each line: otherwise lines could be appended to a file that was removed, moved or truncated, and be lost. The caller
// holds mu.
func (l *Log) intact() error {
	var there unix.Stat_t
	if err := unix.Fstatat(int(l.dir.Fd()), l.base, &there, unix.AT_SYMLINK_NOFOLLOW); err != nil { // fstatat(2)
		return fmt.Errorf("%s was moved or removed (%w); put it back, or start the writer again", l.base, err)
	}
	switch {
	case l.id != fileID{there.Dev, there.Ino}: // inode numbers are not reused while l.f is open
		return fmt.Errorf("%s was replaced by another file; put it back, or start the writer again", l.base)
	case there.Size < l.size:
		return fmt.Errorf("%s was cut off from %d to %d bytes; move it away and start the writer again", l.base, l.size,
			there.Size)
	case there.Size > l.size:
		return fmt.Errorf("%s has %d bytes that its writer did not write; start the writer again", l.base, there.Size-l.size)
	}
	return nil
}

// mend tries to write again, beginning with a log.gap event for the missed ones. The caller holds mu.
func (l *Log) mend() error {
	if l.half {
		if err := l.f.Truncate(l.size); err != nil {
			return fmt.Errorf("since %w: cutting off an unfinished line: %w", l.broken, err)
		}
		l.half = false
	}
	gap := Event{Kind: LogGap, Missed: l.missed, Runs: l.runs, Error: l.broken.Error()}
	if err := l.own(gap, l.put); err != nil {
		return err
	}
	if err := l.fsync(); err != nil {
		return err
	}
	l.broken, l.missed, l.runs = nil, 0, nil
	l.o.Broken(nil)
	return nil
}

// signedText returns the text that a checkpoint signs: its number, and the hash of all lines before it.
func signedText(seq uint64, prev string) []byte {
	return fmt.Appendf(nil, "brig audit 1: checkpoint\x00%d %s", seq, prev)
}

// checkpoint signs the chain so far, if there is a key. The caller holds mu.
func (l *Log) checkpoint() error {
	if len(l.o.Key) == 0 {
		return nil
	}
	sig := ed25519.Sign(l.o.Key, signedText(l.seq+1, l.hash))
	err := l.own(Event{Kind: LogCheckpoint, Key: keyID(l.o.Key.Public().(ed25519.PublicKey)),
		Signature: base64.StdEncoding.EncodeToString(sig)}, l.putHere)
	if err == nil {
		l.since = 0
	}
	return err
}

// keyID returns the id of a public key: 16 hexadecimal digits of its SHA-256.
func keyID(key ed25519.PublicKey) string { return digest(key)[:16] }

// rotate starts a new file, whose first line continues the chain, and renames the old one to the next number. There is
// a complete chain on the disk at every moment: resume completes an interrupted rotation. The caller holds mu.
func (l *Log) rotate() (err error) {
	if err := l.checkpoint(); err != nil {
		return err
	}
	if err := l.fsync(); err != nil {
		return err
	}
	old := numbered(l.base, l.number+1)
	e := Event{Kind: LogRotated, File: old}
	fields, err := e.encode()
	if err != nil {
		return err
	}
	line, hash := build(l.seq+1, time.Now(), l.hash, fields)
	f, err := l.newFile(line)
	if err != nil {
		return fmt.Errorf("a new file: %w", err)
	}
	d := int(l.dir.Fd())
	if err = unix.Renameat2(d, l.base, d, old, unix.RENAME_NOREPLACE); err == nil { // renameat2(2)
		if err = unix.Renameat(d, l.base+newSuffix, d, l.base); err != nil { // renameat(2)
			err = errors.Join(err, unix.Renameat(d, old, d, l.base))
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("renaming %s to %s: %w", l.base, old, err), f.Close())
	}
	err = errors.Join(l.dir.Sync(), l.f.Close())
	l.f, l.id, l.size, l.number = f, identify(f), int64(len(line)), l.number+1
	l.seq, l.hash = l.seq+1, hash
	return errors.Join(err, l.prune())
}

// newFile creates the next file under its temporary name, and syncs its first line.
func (l *Log) newFile(line []byte) (*os.File, error) {
	if err := remove(l.dir, l.base+newSuffix); err != nil { // of a failed attempt
		return nil, err
	}
	f, err := openFile(l.dir, l.base+newSuffix, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(line)
	if err = errors.Join(err, f.Sync()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// prune removes the oldest files, so that Keep older files remain.
func (l *Log) prune() error {
	if l.o.Keep == 0 {
		return nil
	}
	numbers, err := l.numbers()
	for len(numbers) > l.o.Keep && err == nil {
		err = remove(l.dir, numbered(l.base, numbers[0]))
		numbers = numbers[1:]
	}
	return err
}
