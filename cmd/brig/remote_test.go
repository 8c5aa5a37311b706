package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// mountFUSE mounts a file system whose server answers the first request only: fuse(4), struct fuse_init_out. It reads
// others if it is to, and drops them; a process that waits for one of these ends only with the server.
// asked gets the first that is read.
func mountFUSE(t *testing.T, dir string, reads bool) (server *os.File, asked chan bool) {
	t.Helper()
	asked = make(chan bool, 1)
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no FUSE: ", err)
	}
	server = os.NewFile(uintptr(fd), "/dev/fuse")
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd)
	must.Do(t, unix.Mount("brigtest", dir, "fuse.brigtest", 0, options))
	request := make([]byte, 1<<17)
	n := must.Get(unix.Read(fd, request))(t)
	answer := make([]byte, 80)
	for i, v := range []uint32{80, 0, 0, 0, 7, 31, 0, 0, 0, 4096} {
		binary.NativeEndian.PutUint32(answer[4*i:], v)
	}
	copy(answer[8:16], request[8:min(n, 16)]) // the request's id
	must.Get(unix.Write(fd, answer))(t)
	if reads {
		go func() {
			for {
				if _, err := unix.Read(fd, request); err != nil && err != unix.EINTR {
					return // unmounted
				}
				select {
				case asked <- true:
				default:
				}
			}
		}()
	}
	return server, asked
}

// TestFileSystemThatDoesNotAnswer: nothing in the set-up waits for a server without a bound, and what is said names the
// mount. The clock and signals are in force meanwhile.
func TestFileSystemThatDoesNotAnswer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root mounts it, for the user, too")
	}
	runtime.LockOSThread() // for good: its mounts are its own
	must.Do(t, unix.Unshare(unix.CLONE_NEWNS))
	must.Do(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	dir := t.TempDir()
	must.Do(t, os.Chmod(filepath.Dir(dir), 0o755))
	must.Do(t, os.MkdirAll(dir+"/w/sub", 0o777))
	must.Do(t, os.Mkdir(dir+"/state", 0o700))
	must.Do(t, os.Chown(dir+"/state", asuser.UID, asuser.UID))
	bin := brigBinary(t)
	start := func(uid int, args string) (*exec.Cmd, *bytes.Buffer) {
		cmd := exec.Command(bin, append(append([]string{"run"}, strings.Fields(args)...), "--", "true")...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_STATE_HOME="+dir+"/state", "HOME=/none", "BRIG_CHANGES=")
		if uid > 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		must.Do(t, cmd.Start())
		return cmd, &errs
	}
	silent, gone := "(fuse.brigtest) does not answer; ", "(fuse.brigtest) has lost its server ("
	for _, reads := range []bool{false, true} {
		server, asked := mountFUSE(t, dir+"/w/sub", reads)
		for _, uid := range []int{0, asuser.UID} {
			type run struct {
				*exec.Cmd
				errs *bytes.Buffer
				want string
			}
			var runs []run
			add := func(args, want string) {
				cmd, errs := start(uid, args)
				runs = append(runs, run{cmd, errs, "brig: " + strings.Fields(args)[0] + ": " + want + silent})
			}
			if uid == 0 && reads {
				add("--work w --git rw", `"w/sub" `)
				<-asked // its signals are caught by then
				must.Do(t, runs[0].Process.Signal(unix.SIGINT))
			}
			for _, args := range []string{"--work w", "--input w", "--bind w /mnt", "--ro-bind-live w /mnt", "--cow w", "--input w/sub"} {
				add(args+" --timeout 50ms", `"w/sub" `)
			}
			for _, args := range []string{"--input w/sub/x", "--file w/sub/x /mnt", "--rootfs w/sub/y"} {
				add(args+" --timeout 50ms", strconv.Quote(dir+"/w/sub")+" ")
			}
			for _, r := range runs {
				if err := r.Wait(); r.ProcessState.ExitCode() != 125 || !strings.HasPrefix(r.errs.String(), r.want) {
					t.Errorf("uid %d, reads %v, %q: %v, %q; want %q", uid, reads, r.Args[2:], err, r.errs, r.want)
				}
			}
		}
		must.Do(t, server.Close())
		for _, uid := range []int{0, asuser.UID} {
			cmd, errs := start(uid, "--work w")
			if err := cmd.Wait(); !strings.HasPrefix(errs.String(), `brig: --work: "w/sub" `+gone) {
				t.Errorf("uid %d, without a server: %v, %q", uid, err, errs)
			}
		}
		must.Do(t, unix.Unmount(dir+"/w/sub", unix.MNT_DETACH))
	}
}
