package nsjail

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/nsjail/spec"
)

// takers are programs that take memory of one kind, in MiB, until they have WANT or are refused, and print how much
// they got.
var takers = []struct {
	name, script string
	most         int // MiB that it gets at most without a limit on memory; 0 is all that it wants
	beyond       int // MiB beyond a limit on memory, on version 1
}{
	{"anonymous memory", `kept = []
while len(kept) < WANT: kept.append(b"x" * MIB)
print(len(kept))`, 0, 0},
	{"memfd", `f = os.memfd_create("m")
for taken in range(WANT): os.write(f, b"x" * MIB)
print(WANT)`, 0, 0},
	{"System V shared memory", `libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(libc.shmget(0, WANT * MIB, 0o1600), None, 0)
ctypes.memset(at, 1, WANT * MIB)
print(WANT)`, 0, 0},
	{"TCP", `l = socket.create_server(("127.0.0.1", 0), backlog=4096)
def pair():
    s = socket.create_connection(l.getsockname())
    return s, l.accept()[0]
fill(pair)`, 0, 350 / 16}, // the first 64 KiB of each pair are never refused
	{"UDP", `got, all = 0, []
for i in range(9 * WANT):
    r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    r.bind(("127.0.0.1", 0)); r.setblocking(False); all.append(r)
    if i == 0: s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for k in range(6): s.sendto(b"x" * 32768, r.getsockname())
    if len(all) == 700: break
for r in all:
    try:
        while True: got += len(r.recv(65536))
    except BlockingIOError: pass
print(got // MIB)`, 0, 0},
	{"Unix sockets", `fill(lambda: [s for s in socket.socketpair() if not s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MIB)])`, 0, 0},
	{"pipes", `total = 0
for i in range(380):
    r, w = os.pipe()
    os.set_blocking(w, False)
    try: fcntl.fcntl(w, 1031, MIB) # F_SETPIPE_SZ
    except PermissionError: pass
    try:
        while total < WANT * MIB: total += os.write(w, b"x" * 4096)
    except BlockingIOError: pass
print(total // MIB)`, 68, 0},
	{"netlink", `got, all = 0, []
while got < WANT * MIB and len(all) < 700:
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE); all.append(s)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MIB)
    asks = struct.pack("IHHII", 16384, 9999, 5, 1, 0) + bytes(16368) # NLM_F_REQUEST|NLM_F_ACK: the answer quotes it
    try:
        for k in range(9): s.send(asks); got += 16384
    except OSError: pass
print(got // MIB, flush=True)
if LIMITED: signal.pause() # the keeper counts from time to time`, 0, 0},
}

const takerPrelude = `import ctypes, fcntl, os, signal, socket, struct
MIB = 1 << 20
def fill(pair):
    total, kept = 0, []
    while total < WANT * MIB and len(kept) < 350:
        kept.append(pair())
        s = kept[-1][0]
        s.setblocking(False)
        try:
            while total < WANT * MIB: total += s.send(b"x" * 65536)
        except (BlockingIOError, OSError): pass
    print(total // MIB)
`

// TestLimitTaken is the table of docs/reference/host-memory.md: with --memory what a jail takes of the host's memory
// stays within the limit, or ends the jail, and a default jail has what it asks for. A jail of a Runner's is held as any
// other.
func TestLimitTaken(t *testing.T) {
	const want, limit = 80, 24
	warm := warmRunner(t)
	for _, taker := range takers {
		t.Run(taker.name, func(t *testing.T) {
			take := func(c *Cmd) (int, *Result) {
				out, r := mustRun(t, c)
				n, err := strconv.Atoi(strings.TrimSpace(out))
				hit := slices.Contains(r.LimitsHit, "memory")
				if (err != nil || hit) && (r.Status != StatusMemory || !hit) {
					t.Errorf("%s %v: %q", r.Status, r.LimitsHit, out)
				}
				return n, r
			}
			script := "WANT = " + strconv.Itoa(want) + "\n" + takerPrelude + taker.script
			n, r := take(python(t, "LIMITED = False\n"+script))
			t.Logf("%d MiB without a limit: %s", n, r.Status)
			if n < want && taker.most == 0 || taker.most > 0 && n > taker.most {
				t.Errorf("without a limit it takes %d MiB, want %d, at most %d: %s", n, want, taker.most, r.Status)
			}
			for _, runner := range []*Runner{nil, warm} {
				c := python(t, "LIMITED = True\n"+script)
				c.Spec.Limits.Memory, c.runner = limit<<20, runner
				c.Spec.Limits.Wall = spec.Duration(time.Minute)
				n, r = take(needsLimits(t, c))
				t.Logf("%d MiB with a limit of %d: %s, peak %d", n, limit, r.Status, r.Usage.MemoryPeak>>20)
				most := limit + 2
				if strings.HasPrefix(r.Enforced["memory"].String(), "cgroup1 ") {
					most += taker.beyond
				}
				if r.Status != StatusMemory && n > most {
					t.Errorf("%d MiB with a limit of %d: %s", n, limit, r.Status)
				}
			}
		})
	}
}

// TestLimitObjects: a jail can have a bounded number of each kind of kernel object, or fewer if its user has fewer.
func TestLimitObjects(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		most         int
	}{
		{"inotify watches", `libc, n = ctypes.CDLL(None), 0
fd = libc.inotify_init1(0)
while n < 20000:
    open(f"/tmp/{n}", "w").close()
    if libc.inotify_add_watch(fd, f"/tmp/{n}".encode(), 2) < 0: break
    n += 1
print(n)`, spec.DefaultWatches},
		{"instructions of filters, in one process", `libc, n = ctypes.CDLL(None), 0
code = struct.pack("HBBI", 0, 0, 0, 0) * 4095 + struct.pack("HBBI", 6, 0, 0, 0x7fff0000) # BPF_LD|BPF_IMM; BPF_RET, allow
text = ctypes.create_string_buffer(code)
prog = struct.pack("HxxxxxxQ", 4096, ctypes.addressof(text))
while n < 50000 and libc.syscall(317, 1, 0, prog) == 0: n += 4096
print(n)`, 32768},
	} {
		out, r := mustRun(t, python(t, takerPrelude+tt.script))
		if n, err := strconv.Atoi(strings.TrimSpace(out)); err != nil || n > tt.most || n < tt.most/4 {
			t.Errorf("%s: %q, want at most %d: %s", tt.name, out, tt.most, r.Status)
		}
	}
}
