package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/internal/words"

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

// startNamed starts each command that opens a file which a flag or a variable names, as root and as the user. wait
// expects of each that it has given up, and that it names the flag, the file and the mount.
func startNamed(t *testing.T, dir string, call func(int, string, ...string) (*exec.Cmd, *bytes.Buffer)) (wait func()) {
	t.Helper()
	silent := `"w/sub/x": ` + words.Quote(dir+"/w/sub") + " (fuse.brigtest) does not answer; "
	var checks []func()
	for _, row := range []struct{ line, env, want string }{
		{"run --env-file w/sub/x -- true", "", "brig: --env-file: cannot read "},
		{"run --net-policy w/sub/x -- true", "", "brig: --net-policy: cannot read "},
		{"run --seccomp w/sub/x -- true", "", "brig: --seccomp: "},
		{"run --spec w/sub/x -- true", "", "brig: --spec: cannot read "},
		{"run --report w/sub/x -- true", "", "brig: --report: "},
		{"run --net-log w/sub/x --net egress -- true", "", "brig: --net-log: "},
		{"spec --env-file w/sub/x -- true", "", "brig: --env-file: cannot read "},
		{"explain --seccomp w/sub/x", "", "brig: --seccomp: "},
		{"learn --out w/sub/x -- true", "", "brig: --out: "},
		{"convert docker run --env-file w/sub/x image true", "", `brig: convert: "--env-file w/sub/x": cannot read `},
		{"convert nsjail w/sub/x", "", "brig: convert: cannot read "},
		{"bwrap --ro-bind / / true", "BRIG_REPORT=w/sub/x", "bwrap: BRIG_REPORT: "},
		{"bwrap --ro-bind / / true", "BRIG_SECCOMP=w/sub/x", "bwrap: seccomp: "},
		{"isolate --meta=w/sub/x --run -- /bin/true", "", "Failed to open metafile "},
	} {
		for _, uid := range []int{0, asuser.UID} {
			cmd, errs := call(uid, row.line, row.env)
			checks = append(checks, func() {
				t.Helper()
				if err := cmd.Wait(); err == nil || !strings.HasPrefix(errs.String(), row.want+silent) {
					t.Errorf("uid %d, %s %q: %v, %q; want %q", uid, row.env, row.line, err, errs, row.want+silent)
				}
			})
		}
	}
	return func() {
		for _, check := range checks {
			check()
		}
	}
}

// TestIsolateStreamsThatDoNotAnswer: a file for a stream of the program on a mount without an answer ends isolate, which
// names the mount, and the file if it has not looked into its directory before.
func TestIsolateStreamsThatDoNotAnswer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root mounts it, for the user, too")
	}
	runtime.LockOSThread() // for good: its mounts are its own
	must.Do(t, unix.Unshare(unix.CLONE_NEWNS))
	must.Do(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	dir := t.TempDir()
	must.Do(t, os.Chmod(filepath.Dir(dir), 0o755))
	must.Do(t, os.MkdirAll(dir+"/w/sub", 0o777))
	for _, uid := range []int{0, asuser.UID} {
		own := fmt.Sprintf("%s/%d", dir, uid)
		must.Do(t, os.Mkdir(own, 0o700))
		must.Do(t, os.WriteFile(own+"/cf", []byte(fmt.Sprintf("box_root = %s/b\nlock_root = %s/l\n", own, own)), 0o644))
		must.Do(t, os.Chown(own, uid, uid))
		isolate := func(args ...string) (string, error) {
			cmd := exec.Command(brigBinary(t), append([]string{"isolate", "-b", "7"}, args...)...)
			cmd.Env = append(os.Environ(), "BRIG_ISOLATE_CONFIG="+own+"/cf", "HOME="+own)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
			text, err := cmd.CombinedOutput()
			return string(text), err
		}
		if text, err := isolate("--init"); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		server, _ := mountFUSE(t, dir+"/w/sub", false)
		silent := words.Quote(dir+"/w/sub") + " (fuse.brigtest) does not answer; "
		for _, row := range [][3]string{
			{"--stdin", "", `open("/in/sub/x"): ` + words.Quote(dir+"/w/sub/x") + ": "}, {"--stdin", ":rw", "--dir: "},
			{"--stdout", ":rw", "--dir: "}, {"--stderr", ":rw", "--dir: "},
		} {
			text, err := isolate("--dir=/in="+dir+"/w"+row[1], row[0]+"=/in/sub/x", "--run", "--", "/bin/true")
			if want := row[2] + silent; err == nil || !strings.HasPrefix(text, want) {
				t.Errorf("uid %d, %s: %v, %q; want %q", uid, row[0], err, text, want)
			}
		}
		must.Do(t, server.Close())
		must.Do(t, unix.Unmount(dir+"/w/sub", unix.MNT_DETACH))
		if text, err := isolate("--cleanup"); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
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
	call := func(uid int, line string, env ...string) (*exec.Cmd, *bytes.Buffer) {
		cmd := exec.Command(bin, strings.Fields(line)...)
		cmd.Dir = dir
		cmd.Env = slices.Concat(os.Environ(), []string{"XDG_STATE_HOME=" + dir + "/state", "HOME=/none", "BRIG_CHANGES="}, env)
		if uid > 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		}
		var errs bytes.Buffer
		cmd.Stderr = &errs
		must.Do(t, cmd.Start())
		return cmd, &errs
	}
	start := func(uid int, args string) (*exec.Cmd, *bytes.Buffer) { return call(uid, "run "+args+" -- true") }
	silent, gone := "(fuse.brigtest) does not answer; ", "(fuse.brigtest) has lost its server ("
	for _, reads := range []bool{false, true} {
		server, asked := mountFUSE(t, dir+"/w/sub", reads)
		if reads { // a signal ends what waits
			cmd, errs := call(0, "run --env-file w/sub/x -- true")
			<-asked
			must.Do(t, cmd.Process.Signal(unix.SIGTERM))
			_ = cmd.Wait() // its state is looked at
			if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != unix.SIGTERM || errs.Len() > 0 {
				t.Errorf("after SIGTERM: %v, %q", cmd.ProcessState, errs)
			}
		}
		wait := startNamed(t, dir, call)
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
				add(args+" --timeout 50ms", words.Quote(dir+"/w/sub")+" ")
			}
			for _, r := range runs {
				if err := r.Wait(); r.ProcessState.ExitCode() != 125 || !strings.HasPrefix(r.errs.String(), r.want) {
					t.Errorf("uid %d, reads %v, %q: %v, %q; want %q", uid, reads, r.Args[2:], err, r.errs, r.want)
				}
			}
		}
		wait()
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
