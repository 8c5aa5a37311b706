package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	countsFile = "counts"
	countsNew  = "counts.new"
	// header is the first line of the file of counts.
	header = "brig token ledger 1\n"
	// maxLineEntries bounds a line.
	maxLineEntries = 1000
	// compactFrom is the size in bytes from which on a file of counts is replaced when it is four times what it would be.
	compactFrom = 256 << 10
	// compactAt is the size from which on it is replaced in any case: what is longer than maxCounts could not be read again.
	// A ledger of maxEntries with the longest chains is smaller.
	compactAt = maxCounts / 4 * 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is a line of the file of counts, after its checksum.
type record struct {
	Line   int64   `json:"n"` // counts from 1 in each file
	Time   int64   `json:"t"` // the latest seen, in seconds since 1970
	Counts []count `json:"c"`
}

// count is an entry as it is now, so that the last one in the file holds.
type count struct {
	ID      string `json:"id"`
	Root    string `json:"root"`
	Between []byte `json:"between,omitempty"` // the ids of the blocks between the two, 16 bytes each
	Used    int64  `json:"used"`
	Expires int64  `json:"expires,omitempty"`
}

// ledgerFile is the file of counts, for whom writes it.
type ledgerFile struct {
	f          *os.File
	lines      int64
	size, base int64 // in bytes: now, and when it was last rewritten
	broken     bool  // a write or sync has failed: what the file holds is not known, and it has to be replaced
}

// writer makes batches durable, one write(2) and one fsync(2) each: however many wait for it.
func (l *Ledger) writer() {
	defer close(l.done)
	for range l.work {
		l.mu.Lock()
		b := l.next
		l.next = nil
		text := l.encode(b)
		l.mu.Unlock()
		b.err = l.write(text)
		if b.err != nil {
			l.mu.Lock()
			l.undo(b)
			l.mu.Unlock()
		}
		close(b.done)
	}
}

// write appends lines, or replaces the file where it cannot be appended to.
func (l *Ledger) write(text []byte) error {
	f := &l.file
	var st unix.Stat_t
	if err := unix.Fstat(int(f.f.Fd()), &st); err != nil || st.Nlink == 0 || st.Size != f.size { // fstat(2)
		f.broken = true // removed, or touched by somebody else
	}
	if f.broken || f.size > min(max(compactFrom, 4*f.base), compactAt) {
		if err := l.compact(); err == nil || f.broken {
			return err // the new file holds the batch, too
		}
		f.base = f.size / 2 // there may be room for a line, if not for a second file: try again later
	}
	if _, err := f.f.Write(text); err != nil {
		f.broken = true
		return err
	}
	if err := unix.Fdatasync(int(f.f.Fd())); err != nil { // fdatasync(2): after EIO nothing is known of what was written
		f.broken = true
		return os.NewSyscallError("fdatasync", err)
	}
	f.size += int64(len(text))
	return nil
}

// encode gives the lines of a batch. Called with mu held.
func (l *Ledger) encode(b *batch) []byte {
	return l.lines(slices.Collect(maps.Keys(b.added)), &l.file.lines, b)
}

// lines gives the entries with the given ids as they are now. What is between a block and its root is in the first line of
// an entry only: of those that b has made, or, without a b, of all.
func (l *Ledger) lines(ids []string, line *int64, b *batch) (text []byte) {
	for part := range slices.Chunk(ids, maxLineEntries) {
		*line++
		r := record{Line: *line, Time: l.latest}
		for _, id := range part {
			e := l.used[id]
			c := count{ID: id, Root: e.root, Used: e.used, Expires: e.expires}
			if b == nil || e.used == b.added[id] {
				c.Between = []byte(e.between)
			}
			r.Counts = append(r.Counts, c)
		}
		data, err := json.Marshal(&r)
		if err != nil {
			panic("token: a record of numbers and hexadecimal digits: " + err.Error())
		}
		text = fmt.Appendf(text, "%08x %s\n", crc32.Checksum(data, castagnoli), data)
	}
	return text
}

// compact replaces the file by one with each entry once, without those that no token needs any more.
func (l *Ledger) compact() error {
	l.mu.Lock()
	l.sweep()
	var line int64
	text := append([]byte(header), l.lines(slices.Sorted(maps.Keys(l.used)), &line, nil)...)
	l.mu.Unlock()
	f, err := replace(l.dir, text)
	if f == nil {
		return err
	}
	_ = l.file.f.Close() // what it held is in the new one
	size := int64(len(text))
	l.file = ledgerFile{f: f, lines: line, size: size, base: size, broken: err != nil}
	return err
}

// awaited says whether the next batch counts on an entry.
func (l *Ledger) awaited(id string) bool { return l.next != nil && l.next.added[id] > 0 }

// replace writes a new file of counts and renames it over the old one. With an error and a file, that one has taken the
// old one's place, but perhaps not on the disk.
func replace(dir *os.File, text []byte) (*os.File, error) {
	d := int(dir.Fd())
	if err := unix.Unlinkat(d, countsNew, 0); err != nil && !errors.Is(err, unix.ENOENT) { // unlinkat(2)
		return nil, os.NewSyscallError("unlinkat "+countsNew, err)
	}
	f, err := openAt(dir, countsNew, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.NewSyscallError("renameat", unix.Renameat(d, countsNew, d, countsFile)) // renameat(2)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, dir.Sync()
}
