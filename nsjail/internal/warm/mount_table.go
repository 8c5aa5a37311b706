package warm

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

// MountTable tells whether the mount table of this process has changed, without reading it: proc_pid_mountinfo(5).
type MountTable struct {
	file    *os.File
	mu      sync.Mutex
	changes int64
}

// OpenMountTable opens /proc/self/mountinfo.
func OpenMountTable() (*MountTable, error) { return openMountTable("/proc/self/mountinfo") }

// openMountTable does not use os.Open, which adds the file to the runtime's poller: the poller would take the changes.
func openMountTable(path string) (*MountTable, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &MountTable{file: os.NewFile(uintptr(fd), path)}, nil
}

// Changes returns a number that is another one after a change.
func (m *MountTable) Changes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !sys.Idle(m.file, unix.POLLPRI) { // the kernel reports each change to a descriptor once
		m.changes++
	}
	return m.changes
}

// Close closes the file.
func (m *MountTable) Close() error { return m.file.Close() }
