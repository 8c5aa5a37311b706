package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// answerTime is how long a file system of another process or machine may take for an answer while a jail is made.
// pollTime is how often the end of the context is looked at meanwhile.
const (
	answerTime = 5 * time.Second
	pollTime   = 20 * time.Millisecond
)

// resolveCached is RESOLVE_CACHED of openat2(2), which package unix lacks.
const resolveCached = 0x20

// remote asks the file systems for which another process or machine answers whether they do.
type remote struct {
	ctx    context.Context // nothing is waited for when it has ended; nil for no end
	until  time.Time       // the end of the jail's time, or zero
	mounts []MountLine     // of such file systems
	below  bool            // those below a source are looked into
}

// isRemote reports whether another process or machine answers for a type of file system: filesystems(5), fuse(4). One
// at / is left out, since nothing works without it.
func isRemote(fstype []byte) bool {
	fstype, _, _ = bytes.Cut(fstype, []byte("."))
	switch string(fstype) {
	case "fuse", "fuseblk", "nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "coda", "virtiofs", "autofs", "lustre",
		"orangefs", "pvfs2", "beegfs", "gpfs", "gfs2", "ocfs2", "vboxsf":
		return true
	}
	return false
}

// remoteMounts finds the lines of mountinfo with such a type.
func remoteMounts(mountinfo []byte) (list []MountLine) {
	separator := []byte(" - ")
	for rest := mountinfo; ; {
		at := bytes.Index(rest, separator)
		if at < 0 {
			return list
		}
		fstype, _, _ := bytes.Cut(rest[at+len(separator):], []byte(" "))
		if isRemote(fstype) {
			line := rest[bytes.LastIndexByte(rest[:at], '\n')+1:]
			line, _, _ = bytes.Cut(line, []byte("\n"))
			if m := ParseMounts(line, " - "); m[0].Point != "/" && !emptyProcDir(m[0].Point) {
				list = append(list, m...)
			}
		}
		rest = rest[at+len(separator):]
	}
}

// openPath is open(2) with O_PATH. Where the machine has remote mounts, a path that the kernel does not have in memory
// (RESOLVE_CACHED, ≥ 5.12) is asked for by a process of its own first.
func (r *remote) openPath(id SourceID, source, path string) (int, error) {
	if len(r.mounts) > 0 {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: resolveCached}
		if fd, err := unix.Openat2(unix.AT_FDCWD, path, &how); err == nil {
			return fd, nil
		}
		if err := r.ask(path); err != nil {
			return -1, r.silent(id, source, path, r.onTheWay(path), err)
		}
	}
	return sys.Retry(func() (int, error) { return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0) })
}

// onTheWay returns the remote mount that does not answer for a path: by its text, or the first one that is silent.
func (r *remote) onTheWay(path string) *MountLine {
	var found *MountLine
	for i := range r.mounts {
		m := &r.mounts[i]
		if sys.Under(path, m.point()) && (found == nil || len(found.Point) < len(m.Point)) {
			found = m
		}
	}
	for i := range r.mounts {
		if found == nil && r.ask(r.mounts[i].point()) != nil {
			return &r.mounts[i]
		}
	}
	return found
}

// answers returns an error if a remote mount at an open source, or below it, does not answer. Only then may calls on it
// wait for its server.
func (r *remote) answers(id SourceID, source string, fd int) error {
	if len(r.mounts) == 0 {
		return nil
	}
	var st unix.Statx_t // the mount's id costs no request
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	if err != nil {
		return sourceError(id, source, err, "check the file system")
	}
	real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return sourceError(id, source, err, "check the file system")
	}
	for i := range r.mounts {
		m := &r.mounts[i]
		if mount := strconv.FormatUint(st.Mnt_id, 10); m.id != mount && !(r.below && sys.Under(m.point(), real)) {
			continue
		}
		if err := r.ask(m.point()); err != nil {
			return r.silent(id, source, real, m, err)
		}
	}
	return nil
}

var errSilent = errors.New("does not answer")

// silent is the error about a mount. real is the absolute path of source.
func (r *remote) silent(id SourceID, source, real string, m *MountLine, err error) error {
	name, kind := source, ""
	if m != nil {
		kind = " (" + m.Fstype + ")"
		if name = m.point(); sys.Under(name, real) {
			name = strings.TrimSuffix(source, "/") + name[len(strings.TrimSuffix(real, "/")):]
		}
	}
	e := spec.HostError(id.String(), words.Quote(name)+kind+" "+err.Error(), "start the server of this file system "+
		"again, or unmount it: umount -l, or fusermount -u")
	if r.ctx != nil && r.ctx.Err() != nil {
		return errors.Join(e, r.ctx.Err())
	}
	return e
}

// asked has the probes that are still on their way, by path.
var asked struct {
	sync.Mutex
	paths map[string]bool
}

// ask returns an error if the server of a file system has gone or does not answer in time. A process that waits for it
// is left behind: not even SIGKILL ends one whose request the server has read. There is at most one for a path.
func (r *remote) ask(path string) error {
	asked.Lock()
	waits := asked.paths[path]
	asked.Unlock()
	if waits {
		return errSilent
	}
	pid, err := launcher.Probe(path)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(fd)
		err = r.await(fd)
	}
	if err != nil {
		leave(path, pid)
		return err
	}
	var ws unix.WaitStatus
	if _, err = sys.Retry(func() (int, error) { return unix.Wait4(pid, &ws, 0, nil) }); err != nil {
		return os.NewSyscallError("wait4", err)
	}
	gone := []unix.Errno{unix.ENOTCONN, unix.ECONNABORTED, unix.ESTALE, unix.EIO, unix.ETIMEDOUT, unix.EHOSTDOWN,
		unix.EHOSTUNREACH}
	if errno := unix.Errno(ws.ExitStatus()); slices.Contains(gone, errno) {
		return fmt.Errorf("has lost its server (%w)", errno)
	}
	return nil // what the path has is for the caller to see
}

// await waits for the end of a process.
func (r *remote) await(pidfd int) error {
	end := time.Now().Add(answerTime)
	if !r.until.IsZero() && r.until.Before(end) {
		end = r.until
	}
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(pollTime.Milliseconds()))
		switch {
		case n > 0:
			return nil
		case err != nil && err != unix.EINTR:
			return os.NewSyscallError("poll", err)
		case time.Now().After(end), r.ctx != nil && r.ctx.Err() != nil:
			return errSilent
		}
	}
}

// leave kills a probe and waits for it in the background.
func leave(path string, pid int) {
	asked.Lock()
	defer asked.Unlock()
	if asked.paths == nil {
		asked.paths = map[string]bool{}
	}
	asked.paths[path] = true
	_ = unix.Kill(pid, unix.SIGKILL) // a child that has not been waited for
	go func() {
		_, _ = sys.Retry(func() (int, error) { return unix.Wait4(pid, nil, 0, nil) })
		asked.Lock()
		defer asked.Unlock()
		delete(asked.paths, path)
	}()
}
