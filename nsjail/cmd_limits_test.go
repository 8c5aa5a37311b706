package nsjail

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// limitLines are the lines of /proc/self/limits (proc(5)) by the name of the limit.
var limitLines = map[string]string{"core": "Max core file size", "cpu": "Max cpu time", "data": "Max data size", "fsize": "Max file size",
	"locks": "Max file locks", "memlock": "Max locked memory", "msgqueue": "Max msgqueue size", "nice": "Max nice priority",
	"nofile": "Max open files", "nproc": "Max processes", "rss": "Max resident set", "rtprio": "Max realtime priority",
	"rttime": "Max realtime timeout", "sigpending": "Max pending signals", "stack": "Max stack size", "as": "Max address space"}

func TestUlimits(t *testing.T) {
	names := spec.RlimitNames()
	if len(names) != 16 || len(limitLines) != 16 {
		t.Fatalf("%d limits, want 16: %v", len(names), names)
	}
	c := Command("cat", "/proc/self/limits")
	c.Spec.Limits.Rlimits = map[string]spec.Rlimit{}
	small := map[string]bool{"nice": true, "rtprio": true, "sigpending": true, "msgqueue": true, "memlock": true}
	for i, name := range names {
		l := spec.Rlimit{Soft: int64(1000 + i), Hard: int64(2000 + i)}
		switch {
		case name == "stack" || name == "as" || name == "data" || name == "fsize" || name == "rss":
			l = spec.Rlimit{Soft: 1<<30 + int64(i)<<20, Hard: 1<<31 + int64(i)<<20}
		case small[name]: // the hosts that build this allow little of these
			l = spec.Rlimit{Soft: 0, Hard: 0}
		case name == "core": // 0 becomes 1, at which a crash starts no helper on the host
			l = spec.Rlimit{Soft: 1, Hard: 1}
		}
		c.Spec.Limits.Rlimits[name] = l
	}
	out, r := mustRun(t, c)
	if r.Status != StatusOK {
		t.Fatalf("%+v %s", r, out)
	}
	for name, l := range c.Spec.Limits.Rlimits {
		soft, hard := readLimit(out, limitLines[name])
		if soft != fmt.Sprint(l.Soft) || hard != fmt.Sprint(l.Hard) {
			t.Errorf("%s: %s %s inside, want %d %d", name, soft, hard, l.Soft, l.Hard)
		}
	}
}

// readLimit finds a line of /proc/self/limits.
func readLimit(text, label string) (soft, hard string) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, label); ok {
			f := strings.Fields(rest)
			return f[0], f[1]
		}
	}
	return "", ""
}

func TestUlimitAboveTheCallers(t *testing.T) {
	var l unix.Rlimit
	must.Do(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &l))
	c := shell("true")
	c.Spec.Limits.Rlimits = map[string]spec.Rlimit{"nofile": {Soft: 1024, Hard: int64(l.Max) + 1}}
	if e := startError(t, c); e.Fault != spec.FaultCaller || !strings.Contains(e.Op, "nofile") {
		t.Errorf("%v", e)
	}
}

func TestDefaultLimits(t *testing.T) {
	out, _ := mustRun(t, Command("cat", "/proc/self/limits"))
	files := "768"
	if os.Geteuid() == 0 { // the payload has a uid of its own
		files = "1024"
	}
	for name, want := range map[string]string{"core": "1", "nofile": files, "msgqueue": "172032", "nproc": "1025", "as": "unlimited", "fsize": "unlimited"} {
		if soft, _ := readLimit(out, limitLines[name]); soft != want {
			t.Errorf("%s is %s by default, want %s", name, soft, want)
		}
	}
}

func TestProcessLimit(t *testing.T) {
	for _, noInit := range []bool{false, true} {
		c := shell(`python3 -c '
import os,time
n=1
try:
    for i in range(50):
        if os.fork()==0: time.sleep(100)
        n+=1
except BlockingIOError: pass
print(n)'`)
		needs(t, "python3")
		c.Spec.Limits.Processes = 10
		c.Spec.NoInit = noInit
		out, _ := mustRun(t, c)
		if strings.TrimSpace(out) != "9" { // the shell is the tenth
			t.Errorf("no init %v: %q processes beside the shell, want 9", noInit, out)
		}
	}
}

func TestTmpfsLimits(t *testing.T) {
	c := shell(`head -c 2000000 /dev/zero >/t/big 2>&1; stat -c %s /t/big
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do : >/i/$i; done 2>&1 | head -1; ls /i | wc -l; stat -c %a /t /i /tmp /dev/shm; touch /x 2>&1`)
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountTmpfs, Target: "/t", Size: 1 << 20}, {Type: spec.MountTmpfs, Target: "/i", Inodes: 9, Mode: "700"}}
	out, _ := mustRun(t, c)
	for _, want := range []string{"No space left on device", "1048576\n", "cannot create /i/", "\n8\n", "1777\n700\n1777\n1777\n", "Read-only file system"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %q", want, out)
		}
	}
}

func TestIdentity(t *testing.T) {
	for _, c := range []struct{ user, want string }{{"", "1000 1000 brig"}, {"0", "0 0 root"}, {"1000", "1000 1000 brig"}, {"65534", "65534 65534 brig"},
		{"5:7", "5 7 brig"}, {"0:9", "0 9 root"}, {"4294967294", "4294967294 4294967294 brig"}} {
		cmd := shell("echo $(id -u) $(id -g) $(id -un); touch /work/f /tmp/f /output/f && stat -c %u:%g /work/f | uniq >&2")
		cmd.Spec.User = c.user
		var out strings.Builder
		cmd.Stdout = &out
		r, err := cmd.Run()
		if err != nil || r.Status != StatusOK || strings.TrimSpace(out.String()) != c.want {
			t.Errorf("user %q: %q, want %q; %+v %v", c.user, out.String(), c.want, r, err)
		}
	}
}

func TestHostnameAndWorkdir(t *testing.T) {
	c := shell("hostname; pwd; cat /etc/hostname; ping -c1 x 2>/dev/null; grep -c jail.example /etc/hosts; umask; cat /proc/sys/kernel/domainname")
	c.Spec.Hostname, c.Spec.Workdir = "jail.example", "/usr/share"
	wantOutput(t, c, "jail.example\n/usr/share\njail.example\n1\n0022\n(none)")
	c = shell("pwd")
	wantOutput(t, c, "/work")
	c.Spec.Workdir = "/not/there"
	c = shell("pwd")
	c.Spec.Workdir = "/not/there"
	if e := startError(t, c); e.Fault != spec.FaultCaller || e.Op != "workdir" {
		t.Errorf("%v", e)
	}
}

func TestEnvironment(t *testing.T) {
	for k, v := range map[string]string{"BT_ONE": "1", "BT_TWO": "2 2", "BT_TOKEN": "t", "BT_PROXY": "http://u:p@h/", "LD_BTX": "x", "BT_MULTI": "a\nb", "TZ": "Asia/Tokyo"} {
		t.Setenv(k, v)
	}
	c := shell("env | sort")
	wantOutput(t, c, "HOME=/home/brig\nLANG=C.UTF-8\nPATH="+spec.DefaultPath+"\nPWD=/work\nTERM=dumb\nTZ=Asia/Tokyo")
	c = shell("env -u PATH env | grep -e BT -e SET | sort")
	c.Spec.PassEnv = []string{"BT_*", "LD_*"}
	c.Spec.Env = []string{"SET=it", "EMPTYSET=", "BT_ONE=mine"}
	wantOutput(t, c, "BT_MULTI=a\nBT_ONE=mine\nBT_TWO=2 2\nEMPTYSET=\nSET=it")
	c = shell("echo $BT_TOKEN $BT_PROXY")
	c.Spec.PassEnv = []string{"BT_TOKEN", "BT_PROXY"}
	wantOutput(t, c, "t http://u:p@h/")
	c = shell("tr '\\0' '\\n' </proc/1/environ | wc -c; tr '\\0' ' ' </proc/1/cmdline")
	if out, _ := mustRun(t, c); strings.Contains(out, "BT_") || strings.Contains(out, "go-build") {
		t.Errorf("process 1 shows the caller: %q", out)
	}
}

func TestNet(t *testing.T) {
	needs(t, "python3")
	const script = `python3 -c '
import socket,os
s=socket.socket(); s.bind(("127.0.0.1",0)); s.listen(); c=socket.socket(); c.settimeout(2)
try: c.connect(s.getsockname()); print("connected")
except OSError as e: print(e.errno)
print(len(socket.if_nameindex()))'`
	for _, c := range []struct {
		net  spec.Net
		want string
	}{{"", "connected\n1"}, {spec.NetLoopback, "connected\n1"}} {
		cmd := shell(script)
		cmd.Spec.Net = c.net
		wantOutput(t, cmd, c.want)
	}
	c := shell(script)
	c.Spec.Net = spec.NetNone
	if out, _ := mustRun(t, c); strings.Contains(out, "connected") {
		t.Errorf("net none: %q", out)
	}
	c = shell("readlink /proc/self/ns/net")
	c.Spec.Net = spec.NetHost
	var st unix.Stat_t
	must.Do(t, unix.Stat("/proc/self/ns/net", &st))
	wantOutput(t, c, fmt.Sprintf("net:[%d]", st.Ino))
}

func TestWallLimitIsReported(t *testing.T) {
	c := Command("sleep", "1000")
	c.Spec.Limits.Wall = spec.Duration(100 * time.Millisecond)
	_, r := mustRun(t, c)
	if wall := time.Duration(r.Usage.Wall); r.Status != StatusTimeout || wall <= 0 {
		t.Errorf("%+v", r)
	}
}

// What the wall-clock limit ends has its processor time counted: the kernel counts nothing of a pid namespace whose
// init is killed.
func TestWallLimitKeepsTheUsage(t *testing.T) {
	c := shell("count() { i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; }; (count; sleep 1000) & count; sleep 1000")
	c.Spec.Limits.Wall = spec.Duration(2 * time.Second) // on a busy machine they get little of it
	_, r := mustRun(t, c)
	if used := time.Duration(r.Usage.User + r.Usage.System); r.Status != StatusTimeout || !r.TimedOut || used < 50*time.Millisecond {
		t.Errorf("%s of processor time: %+v", used, r)
	}
}
