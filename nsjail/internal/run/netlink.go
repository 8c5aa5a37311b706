package run

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// Netlink returns the bytes that wait in the netlink sockets of the process's network namespace, or more than most if
// there are more. It returns os.ErrProcessDone if the jail is at its end.
func (p *Process) Netlink(most int64) (int64, error) {
	dir, err := unix.Open("/proc/"+strconv.Itoa(p.Pid), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(dir)
	}
	if p.Signal(0) == os.ErrProcessDone { // after the open: only now is the directory known to be the jail's
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
