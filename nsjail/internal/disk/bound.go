package disk

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Bound watches what a directory holds that outlives the jail. To count it takes as long as it has files, so it is
// counted where the file system has given up as much as would reach the bound, and every now and then: what others
// free meanwhile hides what the payload takes.
type Bound struct {
	Target string // where the payload sees the directory

	dir   *os.File // O_PATH
	most  Usage
	floor uint64 // blocks of the file system below which the jail ends

	used Usage     // when it was counted
	free Usage     // of the file system then
	next time.Time // when it is counted in any case
	over bool
}

// boundFiles is the number of files that a directory with a bound may hold.
const boundFiles = 2 << 20

// countAgain is the longest time between two counts, unless they take more than a twentieth of the time.
const countAgain = 10 * time.Second

// NewBound begins to watch a directory that is open, and that holds so many bytes.
func NewBound(dir *os.File, target string, used, most int64) (*Bound, error) {
	fd, err := unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	b := &Bound{Target: target, dir: os.NewFile(uintptr(fd), dir.Name()), most: Usage{most, boundFiles},
		used: Usage{Bytes: used}, next: time.Now().Add(countAgain)}
	fs, err := b.statfs()
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.free, b.floor = freeOf(fs), min(fs.Bavail/2, fs.Blocks/20)
	return b, nil
}

func (b *Bound) statfs() (fs unix.Statfs_t, err error) {
	return fs, os.NewSyscallError("fstatfs", unix.Fstatfs(int(b.dir.Fd()), &fs))
}

func freeOf(fs unix.Statfs_t) Usage { return Usage{int64(fs.Bfree) * fs.Bsize, int64(fs.Ffree)} }

// Exceeded reports whether the directory holds more than its bound, or its file system is almost full.
func (b *Bound) Exceeded(now time.Time) bool {
	fs, err := b.statfs()
	if err != nil || fs.Bavail < b.floor {
		b.over = true
		return true
	}
	free := freeOf(fs)
	if now.Before(b.next) && !b.used.and(b.free.less(free)).Over(b.most) {
		return false
	}
	used, err := Count(int(b.dir.Fd()), ".", b.most)
	b.over = err != nil || used.Over(b.most) // what cannot be counted may be anything
	b.used, b.free, b.next = used, free, now.Add(max(countAgain, 20*time.Since(now)))
	return b.over
}

// Over reports whether Exceeded has found it so.
func (b *Bound) Over() bool { return b.over }

// Close ends the watch.
func (b *Bound) Close() error { return b.dir.Close() }

func (u Usage) and(more Usage) Usage { return Usage{u.Bytes + more.Bytes, u.Files + more.Files} }

// less returns by how much a file system has less free than before, and not less than nothing.
func (u Usage) less(now Usage) Usage {
	return Usage{max(0, u.Bytes-now.Bytes), max(0, u.Files-now.Files)}
}
