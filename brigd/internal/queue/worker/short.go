package worker

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What a machine must have left so that a worker takes runs, in bytes.
const (
	minDisk   = 64 << 20
	minMemory = 128 << 20
)

// Dir is a directory that must have room.
type Dir struct {
	Of   string // what is in it: callers may know that, and not the path
	Path string // "" is none
}

// Short returns what this machine is short of, or "": disk space below one of the directories, or memory. Callers see
// it, so that it has no path.
func Short(dirs ...Dir) string {
	for _, d := range dirs {
		if d.Path == "" {
			continue
		}
		var st unix.Statfs_t
		if err := unix.Statfs(d.Path, &st); err != nil { // statfs(2)
			return fmt.Sprintf("the disk of %s, which cannot be looked at: %v", d.Of, err)
		}
		if free := int64(st.Bavail) * st.Bsize; free < minDisk {
			return fmt.Sprintf("disk: %d MiB are free for %s", free>>20, d.Of)
		}
	}
	text, err := os.ReadFile("/proc/meminfo") // proc_meminfo(5)
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return "" // kernels without that line
	}
	if kib, err := strconv.ParseInt(fields[0], 10, 64); err == nil && kib<<10 < minMemory {
		return fmt.Sprintf("memory: %d MiB are available", kib>>10)
	}
	return ""
}
