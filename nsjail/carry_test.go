package nsjail

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/warm"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// dirty leaves everything that a payload can leave behind; observe prints whatever could show it.
const dirty = `
import os, socket, ctypes, subprocess, mmap
libc = ctypes.CDLL(None, use_errno=True)
for d in ("/tmp", "/work", "/output", "/dev/shm"):
    open(d + "/left", "w").write("x" * 10000)
    os.symlink("/etc/passwd", d + "/link")
libc.shmget(4711, 4096, 0o1666)
libc.semget(4712, 3, 0o1666)
libc.msgget(4713, 0o1666)
libc.mq_open(b"/left", 0o102, 0o666, None)
s = socket.socket(socket.AF_UNIX); s.bind("\0left"); s.listen()
os.set_inheritable(s.fileno(), True)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.sendto(b"x", ("127.0.0.1", 9))
t = socket.create_server(("127.0.0.1", 8080)); c = socket.create_connection(("127.0.0.1", 8080)); c.send(b"x")
try: socket.create_connection(("192.0.2.1", 80), timeout=0.1)
except OSError: pass
libc.inotify_add_watch(libc.inotify_init(), b"/usr/bin", 0xfff)
libc.syscall(248, b"user", b"left", b"x", 1, -3)
try: socket.sethostname("left")
except OSError: pass
for i in range(50): subprocess.run(["/bin/true"])
if os.fork() == 0:
    os.setsid()
    import time; time.sleep(1000)
print("done")
`

const observe = `
import os, subprocess
for d in ("/tmp", "/work", "/output", "/dev/shm", "/", "/etc", "/dev", "/run", "/home"):
    print(d, sorted(os.listdir(d)))
    if d in ("/tmp", "/work", "/output", "/dev/shm"): print("room", d, os.statvfs(d).f_bfree, os.statvfs(d).f_ffree)
for f in sorted(os.listdir("/proc/net")):
    p = "/proc/net/" + f
    if f in ("protocols", "ptype", "fib_trie", "psched", "softnet_stat"): continue  # of the whole kernel
    if f == "raw": continue  # init's socket, which a namespace of the pool has not
    if f == "netlink":  # the addresses and numbers of the kernel's own sockets are other ones each time
        print(p, [l.split()[1:9] for l in open(p)])
        continue
    try: print(p, repr(open(p).read()) if os.path.isfile(p) else "")
    except OSError as e: print(p, e.errno)
for f in ("sysvipc/shm", "sysvipc/sem", "sysvipc/msg", "keys", "self/mounts", "sys/kernel/hostname", "sys/kernel/domainname",
          "sys/fs/mqueue/queues_max", "sys/net/ipv4/ip_local_port_range", "sys/net/ipv4/ping_group_range",
          "self/oom_score_adj", "self/limits", "self/uid_map", "self/cgroup"):
    try: print(f, repr(open("/proc/" + f).read()))
    except OSError as e: print(f, e.errno)
print(sorted(p for p in os.listdir("/proc") if p.isdigit()))
for f in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp:", "Seccomp_filters", "Groups", "SigIgn", "SigBlk", "NSpid", "Umask"):
    print([l for l in open("/proc/self/status") if l.startswith(f)])
print([(k, os.readlink("/proc/self/fd/" + k).split(":")[0]) for k in os.listdir("/proc/self/fd") if int(k) < 3])
print(open("/proc/self/stat").read().split(")")[1].split()[1:5])
print(os.getcwd(), sorted(os.environ.items()))
`

// TestNothingCarriesOver lets a payload leave what it can, and compares what the next one sees with what the first jail
// of all saw: of one made from the host's tree, from the launcher's, with a namespace from the pool, and one that was
// parked while the other ran.
func TestNothingCarriesOver(t *testing.T) {
	needs(t, "python3")
	look := func(r *Runner) string {
		t.Helper()
		out, res := mustRun(t, r.Command("/usr/bin/python3", "-I", "-c", observe))
		if res.Status != StatusOK {
			t.Fatalf("%s %d: %s", res.Status, res.ExitCode, out)
		}
		return out
	}
	want, cold := look(runnerWith(t, RunnerOptions{})), look(runnerWith(t, RunnerOptions{Cold: true}))
	if d := differ(cold, want); strings.Count(d, "\n") > 8 || strings.Count(d, "- room") != 4 { // the copies of /etc lie elsewhere
		t.Errorf("a jail from the host's tree and one from the launcher's:\n%s", d)
	}
	r := runnerWith(t, RunnerOptions{Pool: 1, Reuse: true})
	for _, parked := range []int{0, 1} {
		must.Do(t, r.Prestart(spec.Spec{Args: []string{"true"}}, parked))
		for i := range 4 {
			if d := differ(want, look(r)); d != "" {
				t.Errorf("%d parked, round %d:\n%s", parked, i, d)
			}
			wantOutput(t, r.Command("/usr/bin/python3", "-I", "-c", dirty), "done")
		}
	}
}

// sockstat is the machine's /proc/net/sockstat.
var sockstat = regexp.MustCompile(` (orphan|alloc|mem) [0-9]+|(RAW: inuse|sockets: used) [01]`)

// differ returns the lines in which two texts differ.
func differ(a, b string) (d string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(x), len(y)) {
		var l, m string
		if i < len(x) {
			l = x[i]
		}
		if i < len(y) {
			m = y[i]
		}
		l, m = string(sockstat.ReplaceAll([]byte(l), nil)), string(sockstat.ReplaceAll([]byte(m), nil))
		if l != m && !(strings.HasPrefix(l, "sockets: used") || strings.Contains(l, "lowerdir=")) {
			d += fmt.Sprintf("- %s\n+ %s\n", l, m)
		}
	}
	return d
}

// A network namespace comes back to the pool only if it does not differ from a new one.
func TestReuse(t *testing.T) {
	needs(t, "python3")
	r := runnerWith(t, RunnerOptions{Pool: 1, Reuse: true})
	r.tree.most = 0 // no parked jail holds it
	number := func() (ino uint64) {
		r.tree.nets.Mu.Lock()
		defer r.tree.nets.Mu.Unlock()
		var st unix.Stat_t
		if len(r.tree.nets.Ready) == 1 && unix.Fstat(r.tree.nets.Ready[0].Fd, &st) == nil {
			ino = st.Ino
		}
		return ino
	}
	r.tree.nets.Mu.Lock()
	r.tree.nets.Filling = true // as far as it knows: what is taken is not made again, so that there is room for it to come back
	r.tree.nets.Mu.Unlock()
	first := number()
	for range 3 {
		wantOutput(t, r.Command("readlink", "/proc/self/ns/net"), fmt.Sprintf("net:[%d]", first))
		until(t, "the namespace stands ready again", func() bool { return number() == first })
	}
}

// What a payload does with its network shows, so that the namespace is not used again.
func TestNetStateNoticesEverything(t *testing.T) {
	needs(t, "python3")
	r := runnerWith(t, RunnerOptions{Pool: 1, Reuse: true})
	r.tree.most = 0 // the next jail has the namespace that stands first
	for name, script := range map[string]string{
		"nothing":       "pass",
		"udp":           "s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b'x',('127.0.0.1',9))",
		"udp6":          "s=socket.socket(socket.AF_INET6,socket.SOCK_DGRAM); s.sendto(b'x',('::1',9))",
		"unreachable":   "s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b'x',('192.0.2.1',9))",
		"unreachable 6": "s=socket.socket(socket.AF_INET6,socket.SOCK_DGRAM); s.sendto(b'x',('2001:db8::1',9))",
		"refused":       "socket.socket().connect_ex(('127.0.0.1',1)); raise OSError",
		"flow label":    "s=socket.socket(socket.AF_INET6,socket.SOCK_DGRAM); s.setsockopt(41,32,b'\\0'*15+b'\\1'+b'\\0\\0\\0\\7'+b'\\0\\xff\\1\\0'+b'\\0\\0\\x3c\\0'+b'\\0'*4)",
		"mptcp":         "socket.socket(socket.AF_INET,socket.SOCK_STREAM,262).connect_ex(('127.255.255.255',1))", // a broadcast address: TCP sends and counts nothing
		"connection":    "l=socket.create_server(('127.0.0.1',0)); c=socket.create_connection(l.getsockname()); a=l.accept(); c.close()",
	} {
		if _, err := os.Stat("/proc/sys/net/mptcp"); name == "mptcp" && err != nil {
			continue // the kernel has none
		}
		e := r.tree.nets.Take()
		for e == nil {
			e = r.tree.nets.Take()
		}
		if !e.View.Unchanged() {
			t.Errorf("%s: it has changed before anybody was there", name)
		}
		r.tree.nets.Mu.Lock()
		r.tree.nets.Ready = append([]*warm.Namespace{}, e)
		r.tree.nets.Mu.Unlock()
		c := r.Command("/usr/bin/python3", "-I", "-c", "import socket\ntry:\n  "+script+"\nexcept OSError: pass")
		c.Spec.Seccomp = "unconfined" // the default filter refuses MPTCP
		must.Do(t, c.Start())
		got := c.running.Load().net
		c.running.Load().net = nil // ours to look at
		must.Get(c.Wait())(t)
		if same := got.View.Unchanged(); same != (name == "nothing") {
			t.Errorf("%s: unchanged is %t", name, same)
		}
		got.Drop()
	}
}

// Many at once through everything that a Runner can have ready; each has its own directory and prints its own number.
func TestPoolsUnderLoad(t *testing.T) {
	r := runnerWith(t, RunnerOptions{Pool: 4, Reuse: true, Jails: 12})
	for _, s := range []spec.Spec{{Args: []string{"true"}}, {Args: []string{"true"}, Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/work"}}}} {
		must.Do(t, r.Prestart(s, 3))
	}
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	var wg sync.WaitGroup
	for client := range 16 {
		dir := shared(t, 1000)
		wg.Go(func() {
			for i := range rounds {
				id := fmt.Sprintf("%d-%d", client, i)
				c := r.shell("echo " + id + " >>/work/log; cat /work/log | wc -l; echo " + id)
				want := "1\n" + id
				if i%2 == 1 {
					c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/work", Writable: true}}
					want = fmt.Sprintf("%d\n%s", i/2+1, id)
				}
				out, _, err := c.Output()
				if err != nil || strings.TrimSpace(string(out)) != want {
					t.Errorf("%s: %q, %v, want %q", id, out, err, want)
				}
			}
		})
	}
	wg.Wait()
}

// Close while jails start, run and are parked: no start succeeds afterwards, and nothing is left.
func TestCloseUnderLoad(t *testing.T) {
	before := len(childrenOf(os.Getpid()))
	for range 5 {
		r := must.Get(NewRunnerWith(RunnerOptions{Pool: 2}))(t)
		must.Do(t, r.Prestart(spec.Spec{Args: []string{"true"}}, 4))
		var wg sync.WaitGroup
		begun := make(chan bool, 100)
		for range 6 {
			wg.Go(func() {
				for {
					begun <- true
					if _, err := r.Command("sleep", "0.01").Run(); err != nil {
						return
					}
				}
			})
		}
		for range 20 {
			<-begun
		}
		go func() {
			for range begun {
			}
		}()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		close(begun)
	}
	until(t, "all children are collected", func() bool { return len(childrenOf(os.Getpid())) == before })
}

// A payload without brig's filter makes a user namespace, and in it a procfs: the kernel allows that only to who sees a
// whole one, and neither the jail's own nor the one beneath its root is.
func TestNoWholeProcfsIsInSight(t *testing.T) {
	needs(t, "python3")
	script := `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x10000000 | 0x20000 | 0x20000000) == 0, os.strerror(ctypes.get_errno())
if os.fork() == 0:
    r = libc.mount(b"p", b"/tmp", b"proc", 0, None)
    os._exit(0 if r else 1)
print("contained" if os.wait()[1] == 0 else "mounted")
`
	dir := shared(t, 1000)
	r := runnerWith(t, RunnerOptions{Pool: 1})
	for _, mounts := range [][]spec.Mount{nil, {{Type: spec.MountBind, Source: dir, Target: "/input"}}} {
		c := r.Command("/usr/bin/python3", "-I", "-c", script)
		c.Spec.Seccomp, c.Spec.Mounts = "unconfined", mounts
		wantOutput(t, c, "contained")
	}
}

// A file that a mount copies into a jail with an image has its current content.
func TestCopiedFileChanges(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	dir := shared(t, 1000)
	for _, d := range []string{"bin", "dev", "proc", "tmp", "work"} {
		must.Do(t, os.MkdirAll(dir+"/image/"+d, 0o755))
	}
	busybox(t, dir+"/image/bin/busybox")
	s := spec.Spec{Args: []string{"/bin/busybox", "cat", "/copy"}, Rootfs: spec.Rootfs{Path: dir + "/image"},
		Mounts: []spec.Mount{{Type: spec.MountFile, Source: dir + "/file", Target: "/copy"}}}
	for _, text := range []string{"one", "two", "three"} {
		must.Do(t, os.WriteFile(dir+"/file", []byte(text), 0o644))
		wantOutput(t, r.CommandSpec(t.Context(), s), text)
	}
}

// What a caller puts below /etc finds its place, though a jail's /etc is usually one overlay.
func TestOwnEtc(t *testing.T) {
	r := runnerWith(t, RunnerOptions{})
	dir := shared(t, 1000)
	must.Do(t, os.WriteFile(dir+"/conf", []byte("conf"), 0o644))
	for range 2 {
		wantOutput(t, r.shell("cat /etc/app/conf 2>/dev/null; echo none"), "none")
		c := r.shell("cat /etc/app/conf; ls /etc/new; grep -c brig /etc/passwd")
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountFile, Source: dir + "/conf", Target: "/etc/app/conf"}, {Type: spec.MountDir, Target: "/etc/new"}}
		wantOutput(t, c, "conf1")
	}
}

// After the launcher's death the next start returns an error, even if jails are parked.
func TestLauncherDies(t *testing.T) {
	for name, s := range map[string]spec.Spec{"filtered": {}, "mounts": {Mounts: []spec.Mount{{Type: spec.MountTmpfs, Target: "/x"}}}, "unconfined": {Seccomp: "unconfined"}} {
		r := runnerWith(t, RunnerOptions{})
		s.Args = []string{"true"}
		must.Do(t, r.Prestart(s, 2))
		until(t, "two are parked", func() bool { return len(r.tree.pools[0].pids()) == 2 })
		must.Do(t, unix.Kill(r.own.launcher.Pid(), unix.SIGKILL))
		c := r.Command("true")
		c.Spec.Hostname = "another"
		if _, err := c.Run(); err == nil || !strings.Contains(err.Error(), "launcher") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The mount helper is replaced after it was killed.
func TestMountHelperDies(t *testing.T) {
	r := runnerWith(t, RunnerOptions{Pool: 1})
	dir := shared(t, 1000)
	for range 3 {
		c := r.shell("echo there")
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/input"}}
		wantOutput(t, c, "there")
		r.own.helper.Mu.Lock()
		pid := r.own.helper.Launcher.Pid()
		r.own.helper.Mu.Unlock()
		must.Do(t, unix.Kill(pid, unix.SIGKILL))
		r.tree.nets.Take().Drop()
		until(t, "the pool refills", func() bool {
			r.tree.nets.Mu.Lock()
			defer r.tree.nets.Mu.Unlock()
			return len(r.tree.nets.Ready) > 0
		})
	}
}

// Failed starts leave nothing open.
func TestFailedStartsLeaveNothing(t *testing.T) {
	r := runnerWith(t, RunnerOptions{Pool: 2, Reuse: true})
	count := func() int {
		list := must.Get(os.ReadDir("/proc/self/fd"))(t)
		return len(list)
	}
	fail := func() {
		if _, err := r.Command("/missing").Run(); err == nil {
			t.Error("a command that is not there")
		}
	}
	for range 5 {
		fail()
	}
	before := count()
	for range 200 {
		fail()
	}
	until(t, "descriptors come down", func() bool { return count() <= before+60 }) // by now jails are parked
}

// Every jail shows the same public configuration and nothing private, whether it takes it from the host's /etc or from
// a Runner's copies, whole or piece by piece.
func TestPublicEtc(t *testing.T) {
	h := must.Get(host.Look(&spec.Spec{Args: []string{"true"}}))(t)
	defer h.Close()
	names := slices.Clone(h.Files)
	for _, d := range h.System {
		if strings.HasPrefix(d.Name, "etc/") {
			names = append(names, d.Name)
		}
	}
	script := "cd /; for n in " + strings.Join(names, " ") + "; do test -e $n || test -L $n || echo no $n; done; cd /etc; ls -d " + strings.Join(spec.PrivateEtc, " ") + " 2>/dev/null"
	r := runnerWith(t, RunnerOptions{})
	for name, c := range map[string]*Cmd{"cold": shell(script), "copies": r.shell(script), "piece by piece": r.shell(script), "one more": r.shell(script)} {
		switch name {
		case "piece by piece":
			c.Spec.Mounts = []spec.Mount{{Type: spec.MountData, Target: "/etc/app.conf", Content: "x"}}
		case "one more":
			if len(h.Files) == 0 {
				continue
			}
			c.Spec.Etc = []string{strings.TrimPrefix(h.Files[0], "etc/")}
		}
		if out, _, err := c.Output(); err != nil || len(out) > 0 {
			t.Errorf("%s: %s (%v)", name, out, err)
		}
	}
}
