package nsjail

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/internal/sys"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

const (
	// netlinkInterval is the least time between two counts of netlink messages. A count may take a tenth of the time.
	netlinkInterval = 100 * time.Millisecond
	// netlinkShare is the part of the limit on memory that messages may take beside it: a list of addresses that a
	// program has asked for ends no jail whose memory is the kernel's caches, of which version 1 does not count all.
	netlinkShare = 8
)

// watchNetlink counts the messages that wait in netlink sockets against the limit on memory: no control group counts
// them. The kernel shows them by network namespace, so they are counted only if the jail has one of its own.
func watchNetlink(c *Cmd) {
	own := c.Spec.Net != spec.NetHost && c.Spec.Tier != spec.TierProcess
	if c.ordered != nil {
		own = c.ordered.NewNet || c.Spec.Net == spec.NetEgress
	}
	_, lost := c.made["memory"]
	if own && !lost && c.Spec.Limits.Memory > 0 && strings.HasPrefix(c.plan.Enforced["memory"], "cgroup") {
		c.timers.Start(&c.timers.Netlink, netlinkInterval, func() { checkNetlink(c) })
	}
}

// checkNetlink ends the jail if the messages and what its group holds are above the limit. Otherwise it sets the timer
// again.
func checkNetlink(c *Cmd) {
	began, limit := time.Now(), int64(c.Spec.Limits.Memory)
	waiting, err := netlinkOf(c, limit)
	if err == os.ErrProcessDone {
		return
	}
	if err != nil {
		c.state.uncounted.CompareAndSwap(nil, &err)
	}
	if waiting > limit/netlinkShare {
		if held := c.group.MemoryHeld(); held >= 0 && waiting > limit-held {
			c.endFor(endedNetlink)
			return
		}
	}
	c.timers.Start(&c.timers.Netlink, max(netlinkInterval, 10*time.Since(began)), func() { checkNetlink(c) })
}

// netlinkOf returns the bytes that wait in the netlink sockets of the jail's network namespace, or more than most if
// there are more. It returns os.ErrProcessDone if the jail is at its end.
func netlinkOf(c *Cmd, most int64) (int64, error) {
	dir, err := unix.Open("/proc/"+strconv.Itoa(c.pid), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(dir)
	}
	if c.signal(0) == os.ErrProcessDone { // after the open: only now is the directory known to be the jail's
		return 0, os.ErrProcessDone
	}
	if err != nil { // a /proc that hides processes: hidepid of proc(5)
		return 0, &os.PathError{Op: "open", Path: "/proc/PID", Err: err}
	}
	fd, err := unix.Openat(dir, "net/netlink", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT || err == unix.ESRCH { // a process that ends has left its namespaces
		return 0, os.ErrProcessDone
	}
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: "/proc/PID/net/netlink", Err: err}
	}
	defer unix.Close(fd)
	return waiting(readerFunc(func(b []byte) (int, error) { return sys.Read(fd, b) }), most)
}

// readerFunc is a read(2), which returns 0 at the end.
type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) {
	n, err := f(b)
	if n <= 0 && err == nil {
		err = io.EOF
	}
	return max(0, n), err
}

// waiting adds up the column Rmem of /proc/PID/net/netlink, until it is more than most. The kernel repeats sockets if
// its table grows meanwhile; each counts once.
func waiting(table io.Reader, most int64) (sum int64, err error) {
	lines := bufio.NewScanner(table)
	lines.Scan()
	head := strings.Fields(lines.Text())
	rmem, inode := slices.Index(head, "Rmem"), slices.Index(head, "Inode")
	if err := lines.Err(); err != nil || rmem < 0 || inode < 0 {
		return 0, errors.Join(err, fmt.Errorf("/proc/PID/net/netlink has no such columns: %q", lines.Text()))
	}
	seen := map[string]bool{}
	for sum <= most && lines.Scan() {
		row := strings.Fields(lines.Text())
		if len(row) != len(head) || row[rmem] == "0" || seen[row[inode]] {
			continue
		}
		n, err := strconv.ParseInt(row[rmem], 10, 64)
		if err != nil {
			return sum, err
		}
		seen[row[inode]] = true
		sum += max(0, n)
	}
	return sum, lines.Err()
}
