package seccomp

import (
	"os/exec"
	"strings"
	"testing"
)

const pythonScript = `
import threading, sqlite3, asyncio, tempfile, socket, subprocess, multiprocessing, os, mmap, select, ctypes
def work(q): q.put(6 * 7)
if __name__ == "__main__":
    ts = [threading.Thread(target=sum, args=([1],)) for _ in range(8)]
    [t.start() for t in ts]; [t.join() for t in ts]
    c = multiprocessing.get_context("fork"); q = c.Queue(); p = c.Process(target=work, args=(q,)); p.start(); assert q.get() == 42; p.join()
    d = tempfile.mkdtemp(); db = sqlite3.connect(d + "/x.db"); db.execute("pragma journal_mode=wal"); db.execute("create table t(a)"); db.commit()
    assert subprocess.check_output(["echo", "hi"]) == b"hi\n"
    async def a():
        s = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
        r, w = await asyncio.open_connection(*s.sockets[0].getsockname()); w.close()
        pr = await asyncio.create_subprocess_exec("true"); assert await pr.wait() == 0
    asyncio.run(a())
    a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"
    socket.if_nameindex(); os.mkfifo(d + "/f"); os.memfd_create("m"); select.epoll()
    print("fine")
`

const computeScript = `
import sys, threading, math, json, hashlib
t = threading.Thread(target=lambda: None); t.start(); t.join()
def refused(f):
    try: f()
    except PermissionError: return
    sys.exit("not refused: %r" % f)
import os, socket
refused(lambda: open("new", "w")); refused(os.fork); refused(lambda: socket.socket()); refused(lambda: os.mkdir("d")); refused(lambda: os.unlink("x"))
assert os.listdir("/")
print("fine" if math.isqrt(49) == 7 and json.loads("[1]") == [1] else "wrong")
`

// TestPrograms runs real programs under the presets, as root and as an ordinary user. A program that the machine has
// not is skipped, by name.
func TestPrograms(t *testing.T) {
	needNative(t)
	const c = `printf '#include <pthread.h>\n#include <stdio.h>\nstatic void *f(void *p){return p;}\nint main(void){pthread_t t;` +
		`return pthread_create(&t,0,f,0)||pthread_join(t,0)||puts("fine")<0;}\n' >p.c && gcc -pthread p.c -o p && ./p`
	tests := []struct {
		preset, program string
		args            []string
		want            string
		slow            bool
	}{
		{"default", "sh", []string{"-c", "echo fine | cat"}, "fine", false},
		{"default", "bash", []string{"-c", "set -m; sleep 0.01 & wait %1; echo fine <(true)"}, "fine", false},
		{"default", "python3", []string{"-c", pythonScript}, "fine", false},
		{"default", "python3", []string{"-c", `import venv; venv.create("v", with_pip=False); print("fine")`}, "fine", true},
		{"default", "node", []string{"-e", `require("fs").readFile("/etc/passwd", () => require("child_process").exec("echo fine", (e, o) => console.log(o)))`}, "fine", false},
		{"default", "perl", []string{"-e", `my $p = fork; if (!$p) { exit 3 } waitpid($p, 0); print "fine" if $? >> 8 == 3`}, "fine", false},
		{"default", "gcc", []string{c}, "fine", false},
		{"default", "git", []string{"init", "."}, "nitialized", false},
		{"default", "go", []string{"version"}, "go version", false},
		{"default", "java", []string{"-version"}, "version", true},
		{"default", "gdb", []string{"-batch", "-nx", "-ex", "run", "--args", "echo", "fine"}, "fine", true},
		{"strict", "sh", []string{"-c", "echo fine | cat"}, "fine", false},
		{"strict", "python3", []string{"-c", "import threading, multiprocessing, subprocess; print(subprocess.check_output(['echo', 'fine']))"}, "fine", false},
		{"build", "gcc", []string{c}, "fine", false},
		{"build", "setarch", []string{"-R", "echo", "fine"}, "fine", false},
		{"debug", "gdb", []string{"-batch", "-nx", "-ex", "run", "--args", "echo", "fine"}, "fine", true},
		{"compute", "cat", []string{"/etc/passwd"}, "root:", false},
		{"compute", "python3", []string{"-c", computeScript}, "fine", false},
	}
	for _, tt := range tests {
		t.Run(tt.preset+"/"+tt.program, func(t *testing.T) {
			if tt.slow && testing.Short() {
				t.Skip("slow")
			}
			t.Parallel()
			path := ordinaryPath(t, tt.program)
			argv := append([]string{path}, tt.args...)
			if tt.program == "gcc" {
				argv = []string{"/bin/sh", "-c", tt.args[0]}
			}
			for _, uid := range uids() {
				out, _, err := order{Preset: tt.preset, UID: uid, Do: "exec", Argv: argv}.run(t)
				if err != nil || !strings.Contains(string(out), tt.want) {
					t.Errorf("uid %d: %v\n%s", uid, err, out)
				}
			}
		})
	}
}

// ordinaryPath prefers the system's program: one in a home directory is out of an ordinary user's reach.
func ordinaryPath(t *testing.T, program string) string {
	t.Helper()
	for _, dir := range []string{"/usr/bin/", "/bin/", "/usr/local/bin/", "/usr/local/go/bin/"} {
		if path, err := exec.LookPath(dir + program); err == nil {
			return path
		}
	}
	t.Skip(program, "is not installed")
	return ""
}
