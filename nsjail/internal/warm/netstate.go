package warm

import (
	"bytes"
	"errors"
	"hash/maphash"
	"strconv"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

// netFiles are the files of /proc/PID/net (proc_pid_net(5)) that change when a payload has used its network
// namespace. The payload has no capability there. So lo is the only device, and counts what was sent. The protocols
// count what could not be sent, and sockstat the open sockets. A flow label outlives its socket and is listed. A
// kernel may lack some.
var netFiles = []string{"sockstat", "sockstat6", "dev", "ip6_flowlabel", "rt6_stats", "snmp", "snmp6", "netstat",
	"sctp/snmp"}

// netView is the state of a network namespace when it was new, and the open files to read it again. They show that
// namespace, whichever process reads them.
type netView struct {
	files []int // by netFiles; -1: the kernel has no such file
	seen  uint64
}

var netSeed = maphash.MakeSeed()

// viewNet opens the files of the namespace that a process is in and reads them.
func viewNet(pid int) (v *netView, err error) {
	v = &netView{}
	defer func() {
		if err != nil {
			v.close()
		}
	}()
	for _, name := range netFiles {
		fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/net/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
		case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
			fd = -1
		default:
			return v, err
		}
		v.files = append(v.files, fd)
	}
	if v.files[0] < 0 || v.files[2] < 0 { // sockets and packets
		return v, errNoState
	}
	v.seen, err = v.read()
	return v, err
}

// read returns a hash of the present state.
func (v *netView) read() (uint64, error) {
	var h maphash.Hash
	h.SetSeed(netSeed)
	buf := make([]byte, 16<<10)
	for i, fd := range v.files {
		n := 0
		for fd >= 0 {
			m, err := sys.Pread(fd, buf[n:], int64(n))
			if err != nil {
				return 0, err
			}
			if n += m; m == 0 {
				break
			}
			if n == len(buf) {
				return 0, errNoState
			}
		}
		_, _ = h.Write(ownCounts(netFiles[i], buf[:n])) // it never fails
		_ = h.WriteByte(0)
	}
	return h.Sum64(), nil
}

// Unchanged reports whether the state is as it was when new. A state that cannot be read has changed.
func (v *netView) Unchanged() bool {
	now, err := v.read()
	return err == nil && now == v.seen
}

func (v *netView) close() {
	if v == nil {
		return
	}
	for _, fd := range v.files {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	v.files = nil
}

// ownCounts leaves out of sockstat what the kernel counts for all network namespaces together.
func ownCounts(name string, text []byte) []byte {
	if name != "sockstat" && name != "sockstat6" {
		return text
	}
	words := bytes.Fields(text)
	for i := 1; i < len(words); i++ {
		switch string(words[i-1]) {
		case "orphan", "alloc", "mem":
			words[i] = nil
		}
	}
	return bytes.Join(words, []byte(" "))
}

// errNoState is the error for a namespace that cannot be checked, and so not be used again.
var errNoState = errors.New("/proc/PID/net cannot be read")
