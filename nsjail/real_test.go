package nsjail

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"brig/internal/test/must"
	"brig/nsjail/spec"
)

// needs skips a test whose program is not where a default jail would find it. A host may have another one of the
// same name elsewhere on its PATH, which the jail has not.
func needs(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		found := false
		for _, dir := range strings.Split(spec.DefaultPath, ":") {
			if strings.HasPrefix(name, "/") {
				dir = ""
			}
			p := filepath.Join(dir, name)
			real, err := filepath.EvalSymlinks(p)
			if _, lerr := exec.LookPath(p); err == nil && lerr == nil && strings.HasPrefix(real, "/usr/") {
				found = true
				break
			}
		}
		if !found {
			t.Skipf("%s is not installed below /usr", name)
		}
	}
}

// realPrograms are what people run in a jail. Each script ends with a line that shows that the program did its work.
var realPrograms = []struct {
	name, needs, script, want string
}{
	{"python threads", "python3", `python3 -c '
import threading
n=[]
ts=[threading.Thread(target=lambda:n.append(1)) for _ in range(50)]
[t.start() for t in ts]; [t.join() for t in ts]
print(len(n))'`, "50"},
	{"python multiprocessing", "python3", `python3 -c '
import multiprocessing as m
def f(x): return x*x
if __name__=="__main__":
    with m.Pool(4) as p: print(sum(p.map(f,range(100))))
    q=m.Queue(); r=m.Process(target=q.put,args=(7,)); r.start(); print(q.get()); r.join()'`, "328350\n7"},
	{"python shared memory", "python3", `python3 -c '
from multiprocessing import shared_memory, Lock
s=shared_memory.SharedMemory(create=True,size=4096); s.buf[0]=9; Lock().acquire()
o=shared_memory.SharedMemory(s.name); print(o.buf[0]); s.unlink()'`, "9"},
	{"python subprocess", "python3", `python3 -c '
import subprocess
print(subprocess.run("echo a|tr a b",shell=True,capture_output=True,text=True).stdout.strip())'`, "b"},
	{"python sqlite", "python3", `python3 -c '
import sqlite3
c=sqlite3.connect("/work/x.db"); c.execute("pragma journal_mode=wal"); c.execute("create table t(a)")
c.executemany("insert into t values(?)",[(i,) for i in range(1000)]); c.commit()
print(c.execute("select sum(a) from t").fetchone()[0])'`, "499500"},
	{"python tempfile", "python3", `python3 -c '
import tempfile,os
with tempfile.NamedTemporaryFile() as f, tempfile.TemporaryDirectory() as d, tempfile.TemporaryFile() as g:
    print(f.name.startswith("/tmp/"), os.path.isdir(d))'`, "True True"},
	{"python asyncio", "python3", `python3 -c '
import asyncio
async def main():
    async def echo(r,w): w.write(await r.readline()); await w.drain(); w.close()
    s=await asyncio.start_server(echo,"127.0.0.1",0)
    r,w=await asyncio.open_connection(*s.sockets[0].getsockname()); w.write(b"hello\n")
    print((await r.readline()).decode().strip())
    p=await asyncio.create_subprocess_exec("echo","sub",stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0].decode().strip())
asyncio.run(main())'`, "hello\nsub"},
	{"python venv", "python3", `python3 -m venv --without-pip /tmp/v && /tmp/v/bin/python -c 'import sys; print(sys.prefix)'`, "/tmp/v"},
	{"python inotify", "python3", `python3 -c '
import ctypes,os
l=ctypes.CDLL(None); fd=l.inotify_init1(0); assert l.inotify_add_watch(fd,b"/tmp",0x100)>=0
open("/tmp/new","w"); print(os.read(fd,4096)[16:19].decode())'`, "new"},
	{"python sockets", "python3", `python3 -c '
import socket
for fam,addr in (socket.AF_INET,("127.0.0.1",0)),(socket.AF_UNIX,"/tmp/s"),(socket.AF_UNIX,"\0abstract"),(socket.AF_INET6,("::1",0)):
    s=socket.socket(fam); s.bind(addr); s.listen(); c=socket.socket(fam); c.connect(s.getsockname())
    p,_=s.accept(); c.send(b"x"); assert p.recv(1)==b"x"
u=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); u.bind(("127.0.0.1",0)); u.sendto(b"y",u.getsockname()); print(u.recv(1).decode())
print(socket.gethostbyname("localhost"), socket.gethostbyname(socket.gethostname()))'`, "y\n127.0.0.1 127.0.0.1"},
	{"python accounts", "python3", `python3 -c '
import pwd,grp,os,getpass,locale,time
print(getpass.getuser(),pwd.getpwuid(os.getuid()).pw_dir,grp.getgrgid(os.getgid()).gr_name,os.path.expanduser("~"))'`, "brig /home/brig brig /home/brig"},
	{"node", "node", `cat >a.js <<'X'
const {Worker,isMainThread,parentPort}=require("worker_threads"),http=require("http"),fs=require("fs");
if(!isMainThread){parentPort.postMessage(6*7)}else{
new Worker(__filename).on("message",n=>{console.log(n);
const s=http.createServer((q,r)=>r.end("served")).listen(0,"127.0.0.1",()=>http.get({port:s.address().port,host:"127.0.0.1"},r=>{
let b="";r.on("data",d=>b+=d);r.on("end",()=>{console.log(b);s.close();
console.log(require("child_process").execSync("echo child").toString().trim())})}))})}
X
node a.js`, "42\nserved\nchild"},
	{"perl", "perl", `perl -MSocket -MIO::Select -e 'my $p=fork; if(!$p){exit 3} waitpid $p,0; print $?>>8, "\n"; open F,"-|","echo piped"; print <F>'`, "3\npiped"},
	{"git", "git", `git init -q . && git config user.email a@b && git config user.name n && echo x>f && git add f && git commit -qm one && git log --format=%s && git status --short`, "one"},
	{"bash", "bash", `bash -c 'cat <(echo sub) <<<here; a=(1 2 3); echo ${#a[@]}; coproc cat; echo co >&${COPROC[1]}; read -u ${COPROC[0]} l; echo $l'`, "sub\n3\nco"},
	{"sort", "sort rev", `seq 1000000 | rev | sort -u | wc -l`, "1000000"},
	{"tar and gzip", "gzip", `mkdir d && seq 10000 >d/a && ln -s a d/b && tar czf x.tgz d && rm -r d && tar xzf x.tgz && tail -1 d/b`, "10000"},
	{"openssl", "openssl", `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout k -out c 2>/dev/null && openssl x509 -in c -noout -subject`, "subject=CN = x"},
	{"curl", "curl python3", `(python3 -m http.server 8080 --bind 127.0.0.1 >/dev/null 2>&1 &); echo body >index.html
for i in $(seq 100); do curl -sf http://localhost:8080/ && exit 0; sleep 0.05; done; exit 1`, "body"},
	{"dd", "dd", `dd if=/dev/zero of=/tmp/z bs=1M count=300 2>&1 | grep -o 'No space left'; expr $(stat -c %s /tmp/z) / 1048576`, "No space left\n255"}, // 256 MiB less what the root takes
	{"java", "java javac", `cat >A.java <<'X'
public class A{public static void main(String[] a)throws Exception{int n=java.util.stream.IntStream.range(0,1000).parallel().sum();System.out.println(n);}}
X
java A.java`, "499500"},
	{"go", "/usr/local/go/bin/go", `export PATH=$PATH:/usr/local/go/bin HOME=/tmp GOCACHE=/tmp/c GOFLAGS=-mod=mod GOTOOLCHAIN=local
cat >a.go <<'X'
package main
func main(){c:=make(chan int);for i:=0;i<100;i++{go func(){c<-1}()};n:=0;for i:=0;i<100;i++{n+=<-c};println(n)}
X
go run a.go`, "100"},
	{"job control without a terminal", "bash", `bash -ic 'sleep 1000 & kill %1; wait %1; echo $?' 2>/dev/null`, "143"},
	{"time zone and locale", "date", `TZ=Asia/Tokyo date -d @0 +%H; locale -a >/dev/null && echo ok`, "09\nok"},
	{"scripts with env", "env", `printf '#!/usr/bin/env sh\necho env\n' >s; chmod +x s; ./s; cp s /output/; /output/s`, "env\nenv"},
}

func TestRealPrograms(t *testing.T) {
	slow := map[string]bool{"go": true, "java": true, "sort": true}
	for _, p := range realPrograms {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			if testing.Short() && slow[p.name] {
				t.Skip("it is slow")
			}
			needs(t, strings.Fields(p.needs)...)
			t.Parallel()
			c := shell(p.script)
			if p.name == "go" {
				c.Spec.Mounts = []spec.Mount{{Type: spec.MountTmpfs, Target: "/tmp", Size: 1 << 30}}
			}
			wantOutput(t, c, p.want)
		})
	}
}

// cProgram uses what the C library does behind a program's back: threads, POSIX and System V shared memory,
// semaphores and queues, robust and process-shared mutexes, timers, event and signal descriptors.
const cProgram = `#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *work(void *x) { for (int i = 0; i < 1000; i++) { pthread_mutex_lock(&m); count++; pthread_mutex_unlock(&m); } return x; }
int main(void) {
	pthread_t t[32];
	for (int i = 0; i < 32; i++) assert(!pthread_create(&t[i], 0, work, 0));
	for (int i = 0; i < 32; i++) pthread_join(t[i], 0);
	assert(count == 32000);
	int fd = shm_open("/x", O_CREAT | O_RDWR, 0600);
	assert(fd >= 0 && !ftruncate(fd, 4096));
	int *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	sem_t *s = sem_open("/s", O_CREAT, 0600, 0);
	assert(p != MAP_FAILED && s != SEM_FAILED);
	if (!fork()) { *p = 5; sem_post(s); _exit(0); }
	sem_wait(s); assert(*p == 5); wait(0);
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600); assert(id >= 0 && shmat(id, 0, 0) != (void *)-1);
	int sem = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600); struct sembuf up = {0, 1, 0}; assert(sem >= 0 && !semop(sem, &up, 1));
	int q = msgget(IPC_PRIVATE, IPC_CREAT | 0600); struct { long t; char c; } msg = {1, 'x'}; assert(q >= 0 && !msgsnd(q, &msg, 1, 0));
	mqd_t mq = mq_open("/q", O_CREAT | O_RDWR, 0600, 0); assert(mq >= 0 && !mq_send(mq, "x", 1, 0));
	assert(epoll_create1(0) >= 0 && eventfd(0, 0) >= 0 && timerfd_create(CLOCK_MONOTONIC, 0) >= 0);
	timer_t tm; assert(!timer_create(CLOCK_REALTIME, 0, &tm));
	assert(memfd_create("x", 0) >= 0 && sysconf(_SC_NPROCESSORS_ONLN) > 0);
	char *big = mmap(0, 1ul << 36, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); assert(big != MAP_FAILED);
	puts("all"); return 0;
}
`

func TestCompileAndRun(t *testing.T) {
	needs(t, "gcc")
	t.Parallel()
	dir := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "a.c"), []byte(cProgram), 0o644))
	must.Do(t, os.Chmod(dir, 0o755))
	c := shell("gcc -O1 -pthread -o a /input/a.c -lrt && ./a")
	c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: dir, Target: "/input"}}
	wantOutput(t, c, "all")
}
