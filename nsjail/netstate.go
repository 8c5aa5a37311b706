package nsjail

import (
	"bytes"
	"errors"
	"hash/maphash"
	"strconv"

	"golang.org/x/sys/unix"
)

// netFiles are those of /proc/PID/net (proc_pid_net(5)) that change when a payload has used its network namespace. It has
// no capability there, so what is left of it is counted: lo is the only device, and whatever was sent has been counted
// there; what could not be sent, by its protocol; a socket that is still held somewhere, by sockstat. A flow label
// outlives its socket and is listed. Those that a kernel does not have are left out.
var netFiles = []string{"sockstat", "sockstat6", "dev", "ip6_flowlabel", "rt6_stats", "snmp", "snmp6", "netstat", "sctp/snmp"}

// netView is what a network namespace said of itself when it was new, and the open files that say it. They hold the
// namespace, and read it whoever reads.
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

// read gives the state as it is now.
func (v *netView) read() (uint64, error) {
	var h maphash.Hash
	h.SetSeed(netSeed)
	buf := make([]byte, 16<<10)
	for i, fd := range v.files {
		n := 0
		for fd >= 0 {
			m, err := unix.Pread(fd, buf[n:], int64(n))
			if err == unix.EINTR {
				continue
			}
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

// unchanged says whether everything is as it was. What cannot be read has changed.
func (v *netView) unchanged() bool {
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

// errNoState says that a namespace cannot be checked, and so not be used again.
var errNoState = errors.New("/proc/PID/net cannot be read")
