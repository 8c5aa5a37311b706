package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A probe repeats an operation for one answer: the fastest time is the one that nothing else has disturbed most. What takes
// longer than enough is not repeated.
const (
	tries  = 5
	enough = 25 * time.Millisecond
)

// probe performs an operation N times and gives how many nanoseconds all took, the fastest of several times; ok says that
// there is one of that name. System calls are made without the Go scheduler's knowledge, so that nothing but the kernel
// is in the figure.
func probe(r Request) (ns int64, ok bool, err error) {
	f, ok := map[string]func(Request) error{"getppid": getppid, "read": read, "stat": stat, "open": open, "socket": socket,
		"files": files, "spin": spin, "child": child}[r.Op]
	if !ok {
		return 0, false, nil
	}
	begin := time.Now()
	for i := 0; i < tries && (i == 0 || time.Since(begin) < enough); i++ {
		start := time.Now()
		if err := f(r); err != nil {
			return 0, true, err
		}
		if took := time.Since(start).Nanoseconds(); i == 0 || took < ns {
			ns = took
		}
	}
	return ns, true, nil
}

func getppid(r Request) error {
	for range r.N {
		unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	}
	return nil
}

// read takes one byte at a time of a file.
func read(r Request) error {
	fd, err := unix.Open(r.Arg, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: r.Arg, Err: err}
	}
	defer unix.Close(fd)
	var b [1]byte
	for range r.N {
		if n, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b)), 1); n != 1 {
			return fmt.Errorf("read of %s: %d bytes, %w", r.Arg, n, e)
		}
	}
	return nil
}

func stat(r Request) error {
	name, err := unix.BytePtrFromString(r.Arg)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	cwd := unix.AT_FDCWD
	for range r.N {
		_, _, e := unix.RawSyscall6(unix.SYS_NEWFSTATAT, uintptr(cwd), uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&st)), 0, 0, 0)
		if e != 0 {
			return &os.PathError{Op: "stat", Path: r.Arg, Err: e}
		}
	}
	return nil
}

func open(r Request) error {
	name, err := unix.BytePtrFromString(r.Arg)
	if err != nil {
		return err
	}
	cwd := unix.AT_FDCWD
	for range r.N {
		fd, _, e := unix.RawSyscall6(unix.SYS_OPENAT, uintptr(cwd), uintptr(unsafe.Pointer(name)), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
		if e != 0 {
			return &os.PathError{Op: "open", Path: r.Arg, Err: e}
		}
		if _, _, e := unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0); e != 0 {
			return e
		}
	}
	return nil
}

// socket is a call whose arguments the filter looks at.
func socket(r Request) error {
	for range r.N {
		fd, _, e := unix.RawSyscall(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if e != 0 {
			return os.NewSyscallError("socket", e)
		}
		if _, _, e := unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0); e != 0 {
			return e
		}
	}
	return nil
}

// files makes N files of 4 KiB in a directory, reads them and removes them.
func files(r Request) error {
	block := make([]byte, 4096)
	name := func(i int) string { return filepath.Join(r.Arg, "bench-"+strconv.Itoa(i)) }
	for i := range r.N {
		if err := os.WriteFile(name(i), block, 0o600); err != nil {
			return err
		}
	}
	for i := range r.N {
		if got, err := os.ReadFile(name(i)); err != nil || !bytes.Equal(got, block) {
			return fmt.Errorf("%s does not hold what was written: %w", name(i), err)
		}
	}
	for i := range r.N {
		if err := os.Remove(name(i)); err != nil {
			return err
		}
	}
	return nil
}

// spin computes: N thousand steps that depend on each other.
func spin(r Request) error {
	x := uint64(r.N)
	for range r.N * 1000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	runtime.KeepAlive(x) // or the loop could be left out
	return nil
}

// child runs a command line, whose words are separated by blanks.
func child(r Request) error {
	words := strings.Fields(r.Arg)
	for range r.N {
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w %.200q", r.Arg, err, out)
		}
	}
	return nil
}

// blast writes so many bytes in blocks of 64 KiB.
func blast(out io.Writer, bytes int64) (err error) {
	unpin, err := Pin(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unpin()) }()
	block := make([]byte, 64<<10)
	for bytes > 0 {
		n, err := out.Write(block[:min(bytes, int64(len(block)))])
		if bytes -= int64(n); err != nil {
			return errors.Join(errors.New("load: nobody reads the data"), err)
		}
	}
	return nil
}
