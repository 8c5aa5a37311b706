package nsjail

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// A process of a box is the earlier tenant of the next one. Each attack is made by one command, and the next one tells
// whether it has met anything of it. What is "" starts as the first one did.
func TestBoxAttacks(t *testing.T) {
	const python = "python3 -c "
	for name, a := range map[string]struct{ attack, next, want string }{
		"limits of init":      {"prlimit --pid 1 --nofile=3:3 2>&1; prlimit --pid 1 --nproc=1:1 2>&1", "ulimit -Hn; prlimit --nproc -o HARD --noheadings", ""},
		"priority of init":    {"renice 19 1 2>&1; renice -n 19 -u 1000; renice -n 19 -g 1 2>&1; ionice -c 3 -p 1", "nice; ionice", ""},
		"scheduler of init":   {"chrt -i -p 0 1 2>&1; taskset -p 1 1", "chrt -p $$ | head -1 | cut -d: -f2", "SCHED_OTHER"},
		"processors of init":  {"taskset -p 1 1", "nproc", ""},
		"signals to init":     {"for s in KILL STOP TERM INT CHLD CONT HUP USR1 SEGV; do kill -$s 1; done", "echo ok", "ok"},
		"queued signals":      {python + "'import signal,os\nfor i in range(5000):\n for s in (17, 34, 40): os.kill(1, s)' 2>&1", "echo ok", "ok"},
		"memory of init":      {"cat /proc/1/mem /proc/1/maps /proc/1/environ; ls /proc/1/fd /proc/1/ns; echo 0 >/proc/1/oom_score_adj", "echo ok", "ok"},
		"streams":             {"rm -f /dev/null /dev/stdin; ln -s /work/log /dev/null", "cat; ls /work", ""},
		"the shell":           {"mkdir -p /work/bin; cp /bin/false /work/bin/sh; rm /bin/sh; mv /bin /bin2; mount --bind /work/bin /bin", "echo ok", "ok"},
		"libraries":           {"echo /work/x.so >/etc/ld.so.preload; echo /work >/etc/ld.so.conf", "echo ok", "ok"},
		"the directory":       {"rm -rf /work; mv /work /work2; ln -s /tmp /work", "pwd", "/work"},
		"descriptors":         {python + "'import os\ntry:\n while 1: os.dup(0)\nexcept OSError: os.kill(os.getpid(), 19)' & sleep .2", "echo ok", "ok"},
		"a stopped child":     {"sh -c 'kill -STOP $$' & sleep 1000 & kill -STOP $!", "echo ok", "ok"},
		"the umask and nice":  {"umask 777; ulimit -c 0; ulimit -n 5; nice -n 10 true", "umask; ulimit -n; nice", ""},
		"namespaces":          {"unshare -Ur true; nsenter -t 1 -a true; unshare -n true", "echo ok", "ok"},
		"a foreign terminal":  {"setsid sh -c 'sleep 1000 </dev/ptmx >/dev/pts/ptmx' & sleep .1", "echo ok", "ok"},
		"descriptors of init": {python + "'import ctypes,os\nc=ctypes.CDLL(None)\np=c.syscall(434,1,0)\nfor i in range(300):\n  r=c.syscall(438,p,i,0)\n  if r>=0: print(\"got\",i)'", "echo ok", "ok"},
		"tracing of init":     {python + "'import ctypes\nc=ctypes.CDLL(None)\nfor r in (16, 0x4206):\n  if c.ptrace(r,1,0,0)==0: print(\"got\",r)'", "echo ok", "ok"},
		"a full disk":         {"head -c 2g /dev/zero >/tmp/x; head -c 2g /dev/zero >/dev/shm/x; i=0; while : >/tmp/f$i; do i=$((i+1)); done 2>&1", "echo ok", "ok"},
		"forged reports":      {python + "'import os\nfor fd in range(1024):\n for b in (bytes(1600), b\"\\3\"+bytes(1599), b\"\\0\"):\n  try: fd > 2 and os.write(fd,b)\n  except OSError: pass'", "echo ok", "ok"},
		"typed keys":          {python + "'import fcntl\nfor f in (0,1,2):\n try: fcntl.ioctl(f,0x5412,b\"x\"); print(\"got\",f)\n except OSError: pass'", "cat", ""},
		"other terminals":     {"ls /dev/pts; for t in /dev/pts/[0-9]* /dev/tty /dev/tty0 /dev/console; do echo x >$t && echo got $t; done 2>/dev/null", "tty; true", "not a tty"},
		"pidfds of all":       {python + "'import ctypes,os\nc=ctypes.CDLL(None)\nfor p in os.listdir(\"/proc\"):\n  if not p.isdigit() or int(p)==os.getpid(): continue\n  f=c.syscall(434,int(p),0)\n  for i in range(300):\n   if c.syscall(438,f,i,0)>=0: print(\"got\",p,i)'", "echo ok", "ok"},
		"memory of all":       {python + "'import ctypes,os\nc=ctypes.CDLL(None)\nb=ctypes.create_string_buffer(8)\nclass V(ctypes.Structure): _fields_=[(\"p\",ctypes.c_void_p),(\"n\",ctypes.c_size_t)]\nl=V(ctypes.addressof(b),8)\nfor p in os.listdir(\"/proc\"):\n  if not p.isdigit() or int(p)==os.getpid(): continue\n  for at in (0x400000,0x800000,0xa00000):\n   for n in (310,311):\n    if c.syscall(n,int(p),ctypes.byref(l),1,ctypes.byref(V(at,8)),1,0)>0: print(\"got\",p)'", "echo ok", "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestBox(t, spec.Spec{})
			first, _ := inBox(t, b, a.next)
			out, _ := inBox(t, b, "{ "+a.attack+"; } 2>&1")
			if strings.Contains(out, "got ") {
				t.Error(out)
			}
			next, r := inBox(t, b, a.next)
			if r.Status != StatusOK || a.want == "" && next != first || a.want != "" && next != a.want {
				t.Errorf("%q, first %q, want %q (%s); the attack: %s", next, first, a.want, r.Status, out)
			}
			if _, err := os.Stat("/proc/" + strconv.Itoa(b.Pid())); err != nil {
				t.Error(err)
			}
		})
	}
}

// A process that stops all others can stop a new one before it has executed its command. Init kills it then, and the
// next one starts.
func TestBoxStopsTheNext(t *testing.T) {
	b := newTestBox(t, spec.Spec{})
	c := b.Command("python3", "-c", "import os,signal\nwhile 1:\n try: os.kill(-1, signal.SIGSTOP)\n except OSError: pass")
	must.Do(t, c.Start())
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := b.CommandContext(ctx, "true").Run()
		if cancel(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
	must.Do(t, c.Signal(os.Kill))
	must.Get(c.Wait())(t)
	wantInBox(t, b, "echo ok", "ok")
}

// With all processes of the box in use, the next one is refused with words that name the limit.
func TestBoxIsFull(t *testing.T) {
	b := newTestBox(t, spec.Spec{Limits: spec.Limits{Processes: 20}})
	c := b.Command("python3", "-c", "import os,time\ntry:\n while 1:\n  if not os.fork(): time.sleep(1000)\nexcept OSError: pass\nprint('full', flush=True); time.sleep(1000)")
	out, w := pipeOf(t)
	c.Stdout = w
	must.Do(t, c.Start())
	must.Get(out.Read(make([]byte, 5)))(t)
	if _, err := b.Command("true").Run(); b.run().group == nil {
		if out, _ := inBox(t, b, "true & wait; echo ok"); out == "ok" { // RLIMIT_NPROC holds what a process starts
			t.Error("it could fork")
		}
	} else if err == nil || !strings.Contains(err.Error(), "limits.processes") {
		t.Error(err)
	}
	must.Do(t, c.Signal(os.Kill))
	must.Get(c.Wait())(t)
	wantInBox(t, b, "echo ok", "ok")
}

// What connects to a server of the box learns nothing of the host, and one that does not answer holds up nothing else.
func TestBoxServersThatLie(t *testing.T) {
	b := newTestBox(t, spec.Spec{})
	c := b.Command("python3", "-u", "-c", `
import os, socket, struct, time
os.mkfifo("/tmp/fifo"); open("/tmp/file", "w"); os.symlink("/proc/1/root/run", "/tmp/root")
full = socket.socket(socket.AF_UNIX); full.bind("/tmp/full"); full.listen(0)
half = socket.create_server(("127.0.0.1", 8000), backlog=0)
u = socket.socket(socket.AF_UNIX); u.bind("/tmp/s"); u.listen()
s = socket.create_server(("127.0.0.1", 8001))
print("up")
p, _ = u.accept(); print(struct.unpack("3i", p.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)), repr(p.getpeername()))
p, a = s.accept(); print(a[0])
time.sleep(1000)`)
	out, w := pipeOf(t)
	c.Stdout = w
	must.Do(t, c.Start())
	lines := bufio.NewScanner(out)
	lines.Scan()
	failed := 0
	for range 8 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		for _, to := range [][2]string{{"unix", "/tmp/full"}, {"tcp", "127.0.0.1:8000"}} {
			if conn, err := b.Dial(ctx, to[0], to[1]); err != nil {
				failed++
			} else {
				defer conn.Close()
			}
		}
		cancel()
	}
	if failed == 0 {
		t.Error("servers that accept no connection have 16")
	}
	for _, path := range []string{"/tmp/fifo", "/tmp/file", "/tmp/root/none", "/proc/1/root/tmp/s2", "/tmp"} {
		if _, err := b.Dial(t.Context(), "unix", path); err == nil {
			t.Error(path)
		}
	}
	for _, to := range [][3]string{{"unix", "/tmp/s", "(1, 1000, 1000) ''"}, {"tcp", ":8001", "127.0.0.1"}} {
		conn := must.Get(b.Dial(t.Context(), to[0], to[1]))(t)
		if lines.Scan(); lines.Text() != to[2] {
			t.Errorf("a server learns %s", lines.Text())
		}
		defer conn.Close()
	}
	wantInBox(t, b, "echo ok", "ok")
}
