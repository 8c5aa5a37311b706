package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary is its own worker, as the benchmark is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Subcommand {
		if err := Serve(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func start(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := Self(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestProbes(t *testing.T) {
	dir := t.TempDir()
	c := start(t, Config{})
	for _, r := range []Request{
		{Op: "getppid", N: 100}, {Op: "read", Arg: "/dev/zero", N: 100}, {Op: "stat", Arg: "/proc", N: 10}, {Op: "open", Arg: "/proc/self/stat", N: 10},
		{Op: "socket", N: 10}, {Op: "files", Arg: dir, N: 3}, {Op: "spin", N: 2}, {Op: "child", Arg: "/bin/true", N: 1},
	} {
		if reply, err := c.Ask(r); err != nil || len(reply.Nanos) != 1 || reply.Nanos[0] <= 0 {
			t.Errorf("%+v: %+v, %v", r, reply, err)
		}
	}
	for _, r := range []Request{
		{Op: "stat", Arg: "/no/such", N: 1}, {Op: "open", Arg: "/no/such", N: 1}, {Op: "read", Arg: "/dev/null", N: 1}, {Op: "files", Arg: "/no/such", N: 1},
		{Op: "child", Arg: "/bin/false", N: 1}, {Op: "run", Arg: "no such tool", N: 1}, {Op: "grown", N: 1}, {Op: "no such"},
	} {
		if _, err := c.Ask(r); err == nil || !strings.HasPrefix(err.Error(), r.Op+": ") {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Ask(Request{Op: "getppid", N: 1}); err == nil {
		t.Error("a worker that has ended answers")
	}
}

func TestRunsToolsUnderAHeap(t *testing.T) {
	dir := t.TempDir()
	c := start(t, Config{Heap: 8 << 20, Brig: "/no/brig", Scratch: dir})
	for _, name := range []string{"no jail", "brig Runner", Namespaces} {
		if r, err := c.Ask(Request{Op: "run", Arg: name, N: 2}); err != nil || len(r.Nanos) != 2 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if _, err := c.Ask(Request{Op: "run", Arg: "brig run", N: 1}); err == nil || !strings.Contains(err.Error(), "/no/brig") {
		t.Errorf("a brig that is not there: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestFillIsLive(t *testing.T) {
	total := 0
	for _, c := range fill(3<<20 + 1) {
		total += len(c)
	}
	if total != 4<<20 {
		t.Errorf("%d bytes", total)
	}
}

func TestGrow(t *testing.T) {
	c := start(t, Config{})
	one, err := c.Ask(Request{Op: "grow", N: 1})
	if err != nil {
		t.Fatal(err)
	}
	four, err := c.Ask(Request{Op: "grow", N: 4})
	if err != nil || len(one.Nanos) != 1 || len(four.Nanos) != 3 {
		t.Fatalf("%+v, %+v, %v", one, four, err)
	}
	a, b := one.Usage, four.Usage
	if a.Jails != 1 || b.Jails != 4 || b.FDs-a.FDs < 3 || b.Goroutines-a.Goroutines < 3 || a.RSS <= a.Heap || b.Threads < 1 {
		t.Errorf("%+v, then %+v", a, b)
	}
	if r, err := c.Ask(Request{Op: "grown", N: 2}); err != nil || len(r.Nanos) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestMountsStayInTheWorker(t *testing.T) {
	dir := t.TempDir()
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Apart(t.Context(), Config{Mounts: 20, Dir: dir, Scratch: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(Request{Op: "stat", Arg: filepath.Join(dir, "18"), N: 1}); err != nil {
		t.Errorf("the last mount: %v", err)
	}
	if _, err := c.Ask(Request{Op: "run", Arg: "brig Runner", N: 1}); err != nil {
		t.Error(err)
	}
	if _, err := c.Ask(Request{Op: "stat", Arg: filepath.Join(dir, "19"), N: 1}); err == nil {
		t.Error("there are more than 20 mounts")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile("/proc/self/mountinfo"); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the caller's mounts have changed: %v", err)
	}
}

func TestRefusesToMountInTheCallersNamespace(t *testing.T) {
	ours, err := os.Readlink(mountNamespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, outside := range []string{"", ours} {
		cmd, err := SelfCommand(t.Context(), Config{Mounts: 1, Dir: t.TempDir(), Outside: outside})
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = nil
		if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("refusing to mount")) {
			t.Errorf("%q: %v, %s", outside, err, out)
		}
	}
}

func TestBlast(t *testing.T) {
	for _, n := range []int64{0, 1, 64 << 10, 200_000} {
		var b bytes.Buffer
		if err := blast(&b, n); err != nil || int64(b.Len()) != n {
			t.Errorf("%d bytes for %d, %v", b.Len(), n, err)
		}
	}
	r, w := io.Pipe()
	r.Close()
	if blast(w, 1) == nil {
		t.Error("nobody reads, and that is no error")
	}
}
