package attack

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// listen returns the address of a socket that the host listens on.
func (s *Scene) listen(network, address string) net.Addr {
	l, err := net.Listen(network, address)
	s.must(err)
	s.cleanup(func() { l.Close() })
	return l.Addr()
}

func setupUnixSocket(s *Scene) {
	s.listen("unix", s.Path("in/sock")) // a short path: sun_path holds 108 bytes
	s.must(os.Chmod(s.Path("in/sock"), 0o777))
}

// setupLateSocket makes a socket to which every user may connect, after the payload has made work/ready.
func setupLateSocket(s *Scene) {
	end := make(chan struct{})
	done := make(chan net.Listener)
	go func() {
		var l net.Listener
		for l == nil {
			select {
			case <-end:
				close(done)
				return
			case <-time.After(10 * time.Millisecond):
			}
			if _, err := os.Stat(s.Path("work/ready")); err == nil {
				l, _ = net.Listen("unix", s.Path("work/sock")) // if it fails, the attack does not find the socket
				_ = os.Chmod(s.Path("work/sock"), 0o777)
			}
		}
		done <- l
	}()
	s.cleanup(func() {
		close(end)
		if l := <-done; l != nil {
			l.Close()
		}
	})
}

func setupAbstractSocket(s *Scene) {
	s.listen("unix", "@"+s.Vars["MARK"])
}

func setupLoopback(s *Scene) {
	_, s.Vars["PORT"], _ = net.SplitHostPort(s.listen("tcp", "127.0.0.1:0").String())
}

// setupSessionKey makes a session keyring with a secret, $KEY, for this thread and the launcher that it starts.
func setupSessionKey(s *Scene) {
	runtime.LockOSThread()                                                 // for good: other threads keep their keyring
	_, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0) // without a name
	s.must(err)
	id, err := unix.AddKey("user", "brig-escape", []byte("host-secret-key"), unix.KEY_SPEC_SESSION_KEYRING)
	s.must(err)
	s.must(unix.KeyctlSetperm(id, 0x3f3f0000)) // all to possessor and owner
	s.Vars["KEY"] = strconv.Itoa(id)
}

// setupSharedMemory makes a System V segment $SHMKEY with a secret that every user may read.
func setupSharedMemory(s *Scene) {
	key := os.Getpid()<<8 | 0x5e
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	s.must(err)
	s.cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	b, err := unix.SysvShmAttach(id, 0, 0)
	s.must(err)
	copy(b, "host-secret-shm")
	s.must(unix.SysvShmDetach(b))
	s.Vars["SHMKEY"] = strconv.Itoa(key)
}

func setupMessageQueue(s *Scene) {
	key := os.Getpid()<<8 | 0x5f
	id, _, e := unix.Syscall(unix.SYS_MSGGET, uintptr(key), unix.IPC_CREAT|0o666, 0)
	if e != 0 {
		s.must(e)
	}
	s.cleanup(func() { _, _, _ = unix.Syscall(unix.SYS_MSGCTL, id, unix.IPC_RMID, 0) })
	s.Vars["MSGKEY"] = strconv.Itoa(key)
}

func setupPosixQueue(s *Scene) {
	name, err := unix.BytePtrFromString(s.Vars["MARK"])
	s.must(err)
	fd, _, e := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)),
		unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o666, 0, 0, 0)
	if e != 0 {
		s.must(e)
	}
	s.must(unix.Fchmod(int(fd), 0o666)) // past the umask
	s.cleanup(func() {
		unix.Close(int(fd))
		_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
	})
}

func setupDevShm(s *Scene) {
	p := "/dev/shm/" + s.Vars["MARK"]
	s.must(os.WriteFile(p, []byte("host"), 0o644))
	s.cleanup(func() { os.Remove(p) })
}

// setupFlock holds a lock on the host's $DIR/in/file.
func setupFlock(s *Scene) {
	f, err := os.Open(s.Path("in/file"))
	s.keep(f, err)
	s.must(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
}

// usrFile is a program of the host's that every jail shows and the attacks do not use.
const usrFile = "/usr/bin/tty"

// setupUsrLocks holds shared locks of flock(2) and fcntl(2) on a program of the host's, as other scenes may.
func setupUsrLocks(s *Scene) {
	f, err := os.Open(usrFile)
	s.keep(f, err)
	s.must(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB))
	s.must(unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_RDLCK}))
}

// setupToucher reads the host's $DIR/in/file again and again, as another jail would.
func setupToucher(s *Scene) { s.touch(s.Path("in/file")) }

// setupUsrToucher reads a program of the host's again and again.
func setupUsrToucher(s *Scene) { s.touch(usrFile) }

func (s *Scene) touch(path string) {
	stop := make(chan struct{})
	s.cleanup(func() { close(stop) })
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				if _, err := os.ReadFile(path); err != nil {
					return // the scene has been removed
				}
			}
		}
	}()
}

// setupOwner checks that files in the writable directory belong to its owner.
func setupOwner(s *Scene) {
	s.must(os.Chmod(s.Path("work"), 0o777))
	s.check(func() string {
		st, err := os.Stat(s.Path("work/made"))
		if err != nil {
			return ""
		}
		if uid := st.Sys().(*syscall.Stat_t).Uid; int(uid) != os.Geteuid() {
			return fmt.Sprintf("the file belongs to uid %d of the host", uid)
		}
		return ""
	})
}

// setupSetuid looks for set-user-ID and set-group-ID files in the writable directory.
func setupSetuid(s *Scene) {
	s.check(func() (evidence string) {
		err := filepath.WalkDir(s.Path("work"), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 && info.Size() > 0 {
				evidence = fmt.Sprintf("%s is %s on the host, of uid %d", d.Name(), info.Mode(), info.Sys().(*syscall.Stat_t).Uid)
			}
			return err
		})
		if err != nil {
			return err.Error()
		}
		return evidence
	})
}

func setupDevice(s *Scene) {
	s.must(unix.Mknod(s.Path("in/zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
	s.must(os.Chmod(s.Path("in/zero"), 0o666))
}

// Snapshot lists a tree with everything that a payload could have changed in it.
func Snapshot(dir string) (list []string, err error) {
	err = filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(p, &st)
		}
		b, _ := os.ReadFile(p) // a directory has no content
		xattrs := make([]byte, 1000)
		n, _ := unix.Llistxattr(p, xattrs) // none if that is not supported
		list = append(list, fmt.Sprintf("%s ino=%d mode=%o owner=%d:%d links=%d size=%d blocks=%d atime=%v mtime=%v "+
			"ctime=%v %q %q", strings.TrimPrefix(p, dir), st.Ino, st.Mode, st.Uid, st.Gid, st.Nlink, st.Size, st.Blocks,
			st.Atim, st.Mtim, st.Ctim, b, xattrs[:max(0, n)]))
		return err
	})
	return list, err
}
