package workspace

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail"
)

// spec is a jail that has a volume as a sandbox has it.
func spec(v Volume, args ...string) nsjail.Spec {
	return nsjail.Spec{Args: args, Mounts: Mounts(v)}
}

func runIn(t *testing.T, v Volume, script string) string {
	t.Helper()
	r, err := runner()
	must.Do(t, err)
	out, _, err := r.CommandSpec(context.Background(), spec(v, "/bin/sh", "-c", script)).CombinedOutput()
	must.Do(t, err)
	return string(out)
}

// What the host puts a payload reads, and the other way round, from run to run.
func TestJailSharesTheFiles(t *testing.T) {
	v := newReal(t, 1<<20, 200)
	tree := newTree(v)
	put(t, tree, "/input/in", "given")
	_, err := tree.Put("run.sh", strings.NewReader(
		"#!/bin/sh\ncat /input/in >/output/out; rm /work/run.sh; mkdir /work/own; chmod 0 /work/own /output/out\n"), 0o755, 0)
	must.Do(t, err)
	if out := runIn(t, v, "echo x >/input/in; ./run.sh"); !strings.Contains(out, "Read-only") {
		t.Errorf("%s", out)
	}
	if _, err := tree.Put("own/f", strings.NewReader(""), 0o644, 0); err == nil && os.Getuid() != 0 {
		t.Error("an ordinary user has written below a directory of mode 000")
	}
	out := runIn(t, v, "chmod 644 /output/out; cat /output/out; ls -d /work/* /.put* /.rm* 2>/dev/null; head -c 2000000 /dev/zero >/work/big; wc -c </work/big")
	if !strings.HasPrefix(out, "given/work/own\n") || !strings.HasSuffix(out, "\n1040384\n") &&
		!strings.Contains(out, "No space") {
		t.Errorf("%q", out)
	}
	if got := read(t, tree, "/output/out"); got != "given" {
		t.Errorf("%q", got)
	}
	_, err = tree.Put("more", strings.NewReader(strings.Repeat("x", 1<<17)), 0o644, 0)
	wantCode(t, "after the payload has filled it", err, CodeDiskFull)
	must.Do(t, tree.Remove("big"))
	put(t, tree, "more", "x")
}

// Allowed agrees with what a payload in the jail finds.
func TestAllowedIsTheJails(t *testing.T) {
	v := newReal(t, 1<<20, 200)
	tree := newTree(v)
	put(t, tree, "/input/in", "")
	put(t, tree, "d/f", "")
	runIn(t, v, `cd /work; ln -s /input/in in; ln -s ../input/none none; ln -s /usr/bin usr; ln -s d/new new; ln -s loop loop; mkdir -m 0 locked; mkdir -m 555 ro;
		: >ro/f 2>/dev/null; : >wo; chmod 200 wo; : >deny; chmod 0 deny; ln -s /work/../work/d abs; ln -s / root; ln -s /proc/self/cwd magic; ln d/f hard`)
	list := []string{"in", "none", "new", "loop", "locked/f", "ro/f", "wo", "deny", "abs/f", "abs/../d/f", "root/work/d/f",
		"root/input/in", "hard", "d/f/", "d/none/../f",
		"/input/in", "/input/../work/d/f", "/output/fresh", "/work/ro/../fresh", "locked/../fresh", "d//f", "./d/./f"}
	script := ""
	for _, p := range list {
		script += fmt.Sprintf("r=false w=false; { (: <'%s'); } 2>/dev/null && r=true; { (: >>'%s'); } 2>/dev/null && w=true; [ $r = true ] || rm -f '%s' 2>/dev/null; echo \"%s $r $w\"\n", p, p, p, p)
	}
	want := make([]string, 0, len(list))
	for _, p := range list { // before the script, which makes and removes files
		r, err := tree.Allowed(p, false)
		must.Do(t, err)
		w, err := tree.Allowed(p, true)
		must.Do(t, err)
		want = append(want, fmt.Sprintf("%s %v %v", p, r, w))
	}
	// rm removes a link, not what it leads to; each line is asked of a state that the lines before have left alone
	got := strings.Split(strings.TrimSpace(runIn(t, v, "cd /work\n"+script)), "\n")
	for i, line := range got {
		if i >= len(want) || line != want[i] {
			t.Errorf("the jail says %q, Allowed %q", line, want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d answers of %d", len(got), len(want))
	}
}

// swapper is a payload that exchanges a directory, links, and a FIFO as fast as it can.
const swapper = `
import os, ctypes
libc = ctypes.CDLL(None)
def swap(a, b): libc.renameat2(-100, a.encode(), -100, b.encode(), 2)
os.chdir("/work")
open("/output/ready", "w").close()
def write(path): # a FIFO has no reader, and is not waited for
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK)
    os.write(fd, b"inside")
    os.close(fd)
n = 0
while True:
    if n % 8 == 0:
        for make in (lambda: os.makedirs("d/a/b/c"), lambda: os.symlink("/etc", "l"), lambda: os.symlink("../../..", "m"), lambda: os.symlink("/etc/passwd", "d/l"),
                     lambda: os.mkfifo("d/x"), lambda: write("d/f"), lambda: write("d/a/b/f")):
            try: make()
            except OSError: pass
    n += 1
    for a, b in (("d", "l"), ("d", "m"), ("d/f", "d/l"), ("d/f", "d/x"), ("d/a/b", "b"), ("d/a", "d/a/b/c")): swap(a, b)
    for mode in (0, 0o755):
        try: os.chmod("d/a", mode)
        except OSError: pass
`

// A payload changes everything it can while the host works there: the host's answers are refusals, or true.
func TestJailRaces(t *testing.T) {
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("no python3, whose payload this is:", err)
	}
	v := newReal(t, 4<<20, 2000)
	tree := newTree(v)
	r, err := runner()
	must.Do(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := r.CommandSpec(ctx, spec(v, "/usr/bin/python3", "-c", swapper))
	must.Do(t, c.Start())
	for { // the payload says when it begins
		if _, err := stat(tree, "/output/ready"); err == nil {
			break
		}
		if ctx.Err() != nil {
			_, err := c.Wait()
			t.Fatal("the payload has not begun", err)
		}
	}
	done := map[string]int{}
	search := newSearch(tree)
	watched := make(chan int)
	go func() {
		told := 0
		_ = newWatches(tree).Watch(ctx, "/work", true, func(list []Notice) error { // it ends with the sandbox's payload
			for _, n := range list {
				if told++; n.Path != "" && !strings.HasPrefix(n.Path, "/work") {
					t.Errorf("%+v", n)
				}
			}
			return nil
		})
		watched <- told
	}()
	begun := time.Now()
	for i := range 1000 {
		if time.Since(begun) > 30*time.Second { // an emulated machine does less
			break
		}
		put(t, tree, "g", "put")
		_, err := tools(tree).Move("g", "d/a/b/g", i%2 == 0)
		count(t, done, "move", err)
		if i%10 == 0 {
			_, _, err = search.Glob(ctx, "**", "", 0)
			count(t, done, "glob", err)
			found, err := search.Grep(ctx, &Grep{Pattern: "."})
			if count(t, done, "grep", err); err == nil && strings.Contains(fmt.Sprint(found.Lines), "root") {
				t.Errorf("grep has found %v", found.Lines)
			}
		}
		got, err := tryRead(tree, "d/f")
		if count(t, done, "read", err); strings.Trim(got, "insdeput") != "" { // the payload writes while it is read
			t.Errorf("read %q", got)
		}
		if got, err = tryRead(tree, "d/passwd"); got != "" {
			t.Errorf("read %q, %v", got, err)
		}
		_, err = tree.Put("d/f", strings.NewReader("put"), 0o644, 0)
		count(t, done, "put", err)
		_, _, err = edit(tree, tools(tree), "d/f", Edit{Old: "put", New: "inside"})
		count(t, done, "edit", err)
		_, err = tools(tree).Chmod("d/f", 0o644)
		count(t, done, "chmod", err)
		_, _, err = tree.List("/work", true, "", 0)
		count(t, done, "list", err)
		count(t, done, "remove", tree.Remove("d/a/b"))
		if i%50 == 0 {
			count(t, done, "remove", tree.Remove("d"))
		}
		_, err = tree.Allowed("d/f", true)
		count(t, done, "allowed", err)
	}
	cancel()
	if res, err := c.Wait(); err != nil || res.Status != nsjail.StatusCancelled {
		t.Errorf("the payload: %+v, %v", res, err)
	}
	if told := <-watched; told < 100 {
		t.Errorf("only %d notices", told)
	}
	t.Log(done)
	for _, what := range []string{"edit", "move", "chmod"} {
		if done[what] == 0 || done[what+" refused"] == 0 {
			t.Errorf("%s: the race did not go both ways", what)
		}
	}
	for _, area := range []string{"/work", "/output"} {
		list, _, err := tree.List(area, false, "", 0)
		must.Do(t, err)
		for _, e := range list {
			must.Do(t, tree.Remove(e.Path))
		}
	}
	if bytes, inodes, err := tree.Usage(); err != nil || inodes != 4 || bytes != 0 {
		t.Errorf("%d inodes and %d bytes are left, %v", inodes, bytes, err)
	}
}

// A Store of a Runner's volumes: what runs in a sandbox that is deleted ends, and its memory with it.
func TestStoreOfVolumes(t *testing.T) {
	r, err := runner()
	must.Do(t, err)
	s := NewStore(StoreOptions{Make: func(size, inodes int64) (Volume, error) {
		return r.NewVolume(nsjail.VolumeOptions{Size: nsjail.Bytes(size), Inodes: inodes, Dirs: areas})
	}})
	warm := newReal(t, 1<<20, 100) // the Runner has what it keeps
	runIn(t, warm, "true")
	must.Do(t, warm.Close())
	before := openFiles(t)
	b, err := s.Create("ann", CreateOptions{Size: 1 << 20, Inodes: 100})
	must.Do(t, err)
	other, err := s.Create("bob", CreateOptions{})
	must.Do(t, err)
	put(t, b.Tree, "f", "ann's")
	slow, _, err := b.Tree.Open("f") // and nobody closes it
	must.Do(t, err)
	if out := runIn(t, other.Volume, "ls -A /work; cat /work/f"); strings.Contains(out, "ann") {
		t.Errorf("bob finds %q", out)
	}
	ctx, release, err := b.Acquire(context.Background())
	must.Do(t, err)
	c := r.CommandSpec(ctx, spec(b.Volume, "/bin/sh", "-c", "cat f; exec sleep 1000"))
	ended := make(chan nsjail.Status, 1)
	must.Do(t, c.Start())
	go func() {
		res, err := c.Wait()
		release()
		if err != nil {
			t.Error(err)
			res = &nsjail.Result{}
		}
		ended <- res.Status
	}()
	must.Do(t, s.Delete("ann", b.ID))
	if status := <-ended; status != nsjail.StatusCancelled {
		t.Errorf("the run ended as %s", status)
	}
	if _, err := slow.Read(make([]byte, 1)); err == nil {
		t.Error("a file of a deleted sandbox is read")
	}
	must.Do(t, s.Close())
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors, were %d", after, before)
	}
}
